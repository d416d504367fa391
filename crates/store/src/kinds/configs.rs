//! Configurations of the kinds that are known by name, filed by reference.
//!
//! Decides which add-ons a change of one touches. Knows what no instance holds any more only by `mourn`.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::decode::read;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::parts::slot::replace;
use crate::record::{Config, ConfigRef, Content, Meta};
use crate::store::Store;
use crate::versions::offered;
use api::hash::SpecHash;
use model::AddonVersion;

/// Returns what is kept of a configuration with this content.
pub(super) fn record(
    store: &mut Store,
    object: &Value,
    metadata: &ObjectMeta,
    content: Content,
    version: Option<&str>,
) -> Result<Config, String> {
    let names = &mut store.names;
    Ok(Config {
        meta: read::meta(metadata)?,
        hash: names.share(&SpecHash::of(object).to_string()),
        version: version
            .filter(|version| !version.is_empty())
            .map(|version| names.share(version)),
        is_version: version.is_some_and(|version| AddonVersion::parse(version).is_ok()),
        addon: names.share(""),
        content: Arc::new(content),
        text: SpecHash::text(object).into(),
    })
}

pub(super) fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
    store
        .objects
        .configs
        .get(&ConfigRef::of(key))
        .map(|found| &found.meta)
}

pub(super) fn keys(store: &Store, kind: Kind) -> Vec<ObjectKey> {
    let resource = kind.address().resource;
    let all = store.objects.configs.keys();
    let all = all.filter(|config| &*config.of.resource == resource);
    all.map(|config| ObjectKey::new(kind, config.namespace.clone(), config.name.clone()))
        .collect()
}

pub(super) fn file(store: &mut Store, key: &ObjectKey, record: Config, touched: &mut Touched) {
    let config = ConfigRef::of(key);
    let mut slot = store.objects.configs.remove(&config);
    if let Some(old) = slot.as_ref().filter(|old| old.hash != record.hash) {
        store.retire(&config, old);
    }
    let offer = offered(slot.as_ref());
    let before = slot.as_ref().map(|old| old.hash.clone());
    store.sights.replaced(&config, before.as_ref(), &record.hash);
    if replace(&mut slot, record, |record| &mut record.meta) {
        store.published.config_changed(&config);
        touched.extend(store.indexes.by_config.of(&config).cloned());
    }
    store.objects.configs.extend(slot.map(|record| (config, record)));
    store.refile_template(key, offer.as_ref(), touched);
}

pub(super) fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
    let config = ConfigRef::of(key);
    let old = store.objects.configs.remove(&config);
    if let Some(old) = &old {
        store.retire(&config, old);
    }
    store.refile_template(key, offered(old.as_ref()).as_ref(), touched);
    store.sights.gone(&config);
    store.published.config_changed(&config);
    touched.extend(store.indexes.by_config.of(&config).cloned());
}
