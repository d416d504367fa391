//! `ManagedClusterAddOn`: an add-on on one cluster.
//!
//! Decides which cluster of which add-on a change concerns.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::claims::claims;
use crate::decode::read::{annotation, config_type, configs, meta, owners, parse, shared, travelling};
use crate::decode::status::{conditions, references};
use crate::kind::Owner;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::names::Names;
use crate::parts::mentions::Mentioned;
use crate::parts::objects::replace;
use crate::record::{self, Claims, Meta};
use crate::registration;
use crate::removal::Farewell;
use crate::store::Store;
use crate::terms;
use api::names::DEFAULT_INSTALL_NAMESPACE;
use api::v1alpha1::ManagedClusterAddOn;
use std::collections::BTreeMap;

/// The row of the kind.
pub(crate) struct Instance;

impl Stored for Instance {
    type Record = record::Instance;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let claims = claims(object, &mut store.names);
        decode(&parse(object)?, claims, &mut store.names)
    }

    fn file(store: &mut Store, _key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let (addon, cluster) = (record.addon.clone(), record.cluster.clone());
        let mut slot = store
            .objects
            .instances
            .get_mut(&addon)
            .and_then(|all| all.remove(&cluster))
            .map(|old| *old);
        if let Some(old) = &slot {
            index(store, old, Mentioned::NoMore);
        }
        index(store, &record, Mentioned::Now);
        store.published.instance_changed(slot.as_ref(), Some(&record));
        store.standings.note(&addon, slot.as_ref(), Some(&record));
        if replace(&mut slot, record, |record| &mut record.meta) {
            let owner = Owner::addon(&addon);
            store.changes.of_cluster(&owner, &cluster);
            touched.insert(owner);
        }
        store
            .objects
            .instances
            .entry(addon)
            .or_default()
            .extend(slot.map(|record| (cluster, Box::new(record))));
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        let found = store.objects.instances.get(&key.name)?.get(&key.namespace)?;
        Some(&found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let all = store.objects.instances.values().flat_map(BTreeMap::values);
        all.map(|found| ObjectKey::new(Kind::Instance, found.cluster.clone(), found.addon.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let Some(all) = store.objects.instances.get_mut(&key.name) else {
            return;
        };
        let Some(old) = all.remove(&key.namespace) else {
            return;
        };
        if all.is_empty() {
            store.objects.instances.remove(&key.name);
            store.forget_unused();
        }
        store.published.instance_changed(Some(&old), None);
        store.standings.note(&key.name, Some(&old), None);
        index(store, &old, Mentioned::NoMore);
        let owner = Owner::addon(&key.name);
        store.changes.of_cluster(&owner, &key.namespace);
        touched.insert(owner);
    }
}

fn index(store: &mut Store, instance: &record::Instance, mentioned: Mentioned) {
    let owner = Owner::addon(&instance.addon);
    mentioned.note(&mut store.indexes.by_cluster, &instance.cluster, &instance.addon);
    for config in &instance.configs {
        mentioned.note(&mut store.indexes.by_config, config, &owner);
    }
    store.sights.mention_all(instance.configs.iter(), mentioned);
}

fn decode(
    object: &ManagedClusterAddOn,
    claims: Claims,
    names: &mut Names,
) -> Result<record::Instance, String> {
    let metadata = &object.metadata;
    let status = object.status.as_ref();
    let types = status.into_iter().flat_map(|status| &status.supported_configs);
    let types = types
        .map(|of| config_type(&of.group, &of.resource, names))
        .collect();
    let meta = meta(metadata)?;
    let owners = owners(metadata.owner_references.as_ref(), names);
    let stated = status.map(|status| status.config_references.as_slice());
    let cluster = metadata.namespace.as_deref().unwrap_or_default();
    let addon = metadata.name.as_deref().unwrap_or_default();
    Ok(record::Instance {
        // Its works name the uid again, as that of their owner.
        meta: Meta {
            uid: names.share(&meta.uid),
            ..meta
        },
        addon: shared(metadata.name.as_ref(), names),
        cluster: shared(metadata.namespace.as_ref(), names),
        owners: names.share_owners(owners),
        claims: names.share_claims(claims),
        farewell: Farewell::of(metadata, names),
        installed_by: shared(annotation(metadata, terms::INSTALLED_BY), names),
        // A time that cannot be read counts as none: it is written again.
        deselected_at: annotation(metadata, terms::DESELECTED_AT).and_then(|text| text.parse().ok()),
        annotations: travelling(metadata, names),
        copied: shared(annotation(metadata, terms::COPIED_ANNOTATIONS), names),
        hosting_cluster: shared(annotation(metadata, terms::HOSTING_CLUSTER), names),
        install_namespace: names.share(
            object
                .spec
                .install_namespace
                .as_deref()
                .unwrap_or(DEFAULT_INSTALL_NAMESPACE),
        ),
        configs: configs(&object.spec.configs, names).into(),
        desired_version: names.share(&object.spec.desired_version),
        given_version: shared(annotation(metadata, terms::GIVEN_VERSION), names),
        current_version: shared(status.map(|status| &status.current_version), names),
        last_version: shared(status.map(|status| &status.last_version), names),
        observed: status.and_then(|status| status.observed_generation),
        supported: names.share_types(types),
        references: references(stated.unwrap_or_default(), names),
        health_mode: shared(
            status
                .and_then(|status| status.health_check.as_ref())
                .map(|check| &check.mode),
            names,
        ),
        conditions: status
            .map(|status| conditions(&status.conditions, names).into())
            .unwrap_or_default(),
        registrations: status
            .map(|status| registration::registered(&status.registrations, cluster, addon, names).into())
            .unwrap_or_default(),
        driver: shared(status.map(|status| &status.kube_client_driver), names),
        namespace: shared(status.map(|status| &status.namespace), names),
    })
}
