//! `AddOnTemplate`, `AddOnDeploymentConfig` and `AddOnHubConfig`: configurations, filed by reference.
//!
//! Decides how they are read, and which add-ons a change of one touches. Knows what no instance holds any more only by `mourn`.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::stored::Stored;
use crate::decode::content;
use crate::decode::edits::edit_of_spec;
use crate::decode::read::{self, label, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::objects::replace;
use crate::record::{Config, ConfigRef, Content, Meta};
use crate::store::Store;
use crate::terms;
use crate::versions::offered;
use api::hash::SpecHash;
use api::names::labels;
use api::v1alpha1::{AddOnDeploymentConfig, AddOnHubConfig, AddOnTemplate};
use model::{AddonVersion, Name};

macro_rules! configuration {
    ($kind:ident, $decode:ident) => {
        /// The row of the kind.
        pub(crate) struct $kind;

        impl Stored for $kind {
            type Record = Config;

            fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Config, String> {
                $decode(store, object)
            }

            fn file(store: &mut Store, key: &ObjectKey, record: Config, touched: &mut Touched) {
                file(store, key, record, touched);
            }

            fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
                let found = store.objects.configs.get(&ConfigRef::of(key));
                found.map(|found| &found.meta)
            }

            fn keys(store: &Store) -> Vec<ObjectKey> {
                keys(store, Kind::$kind)
            }

            fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
                unfile(store, key, touched);
            }
        }
    };
}

configuration!(Template, template);
configuration!(DeploymentConfig, deployment_config);
configuration!(HubConfig, hub_config);

fn template(store: &mut Store, object: &Value) -> Result<Config, String> {
    let parsed: AddOnTemplate = parse(object)?;
    let version = label(&parsed.metadata, labels::TEMPLATE_VERSION).map(String::as_str);
    let addon = store.names.share(&parsed.spec.addon_name);
    let reserved = &store.settings.reserved_signers;
    let content = content::template(object, parsed.spec, reserved, &mut store.names);
    let content = Content::Template(content);
    let config = record(store, object, &parsed.metadata, content, version)?;
    Ok(Config { addon, ..config })
}

fn deployment_config(store: &mut Store, object: &Value) -> Result<Config, String> {
    let parsed: AddOnDeploymentConfig = parse(object)?;
    let content = content::deployment_config(object, parsed.spec, &mut store.names);
    let content = Content::Deployment(content);
    record(store, object, &parsed.metadata, content, None)
}

fn hub_config(store: &mut Store, object: &Value) -> Result<Config, String> {
    let parsed: AddOnHubConfig = parse(object)?;
    let version = Some(&*parsed.spec.desired_version);
    record(store, object, &parsed.metadata, Content::Hub, version)
}

/// Returns what is kept of a configuration with this content.
fn record(
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
        edit: edit_of_spec(metadata, names),
        cause: read::annotation(metadata, terms::CHANGE_CAUSE).map(|cause| Name::from(cause.as_str())),
    })
}

fn keys(store: &Store, kind: Kind) -> Vec<ObjectKey> {
    let resource = kind.address().resource;
    let all = store.objects.configs.keys();
    let all = all.filter(|config| &*config.of.resource == resource);
    all.map(|config| ObjectKey::new(kind, config.namespace.clone(), config.name.clone()))
        .collect()
}

fn file(store: &mut Store, key: &ObjectKey, record: Config, touched: &mut Touched) {
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

fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
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
