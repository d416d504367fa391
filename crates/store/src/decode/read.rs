//! What every reader of objects needs: identity, texts that are shared, references and owners.
//!
//! Decides when an object has no identity. Knows no kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as metav1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::names::LabelMap;
use crate::names::Names;
use crate::record::{ConfigRef, ConfigType, Meta, OwnerReference};
use crate::terms;
use model::Name;

pub(crate) fn parse<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    T::deserialize(object).map_err(|error| error.to_string())
}

/// Reads identity and revision; an object without them cannot be written to safely.
pub(crate) fn meta(metadata: &ObjectMeta) -> Result<Meta, String> {
    let text = |value: &Option<String>, field: &str| {
        value
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(Name::from)
            .ok_or_else(|| format!("metadata.{field} is absent"))
    };
    text(&metadata.name, "name")?;
    Ok(Meta {
        uid: text(&metadata.uid, "uid")?,
        version: text(&metadata.resource_version, "resourceVersion")?,
        generation: metadata.generation.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
    })
}

/// Shares an optional text, "" when it is absent.
pub(crate) fn shared(text: Option<&String>, names: &mut Names) -> Name {
    names.share(text.map(String::as_str).unwrap_or_default())
}

pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.annotations.as_ref()?.get(key)
}

pub(crate) fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.labels.as_ref()?.get(key)
}

pub(crate) fn config_type(group: &str, resource: &str, names: &mut Names) -> ConfigType {
    ConfigType {
        group: names.share(group),
        resource: names.share(resource),
    }
}

pub(crate) fn configs(configs: &[api::AddOnConfig], names: &mut Names) -> Vec<ConfigRef> {
    let each = configs.iter().map(|config| ConfigRef {
        of: config_type(&config.group, &config.resource, names),
        namespace: names.share(&config.namespace),
        name: names.share(&config.name),
    });
    each.collect()
}

pub(crate) fn owners(owners: Option<&Vec<metav1::OwnerReference>>, names: &mut Names) -> Vec<OwnerReference> {
    let each = owners.into_iter().flatten().map(|owner| OwnerReference {
        api_version: names.share(&owner.api_version),
        kind: names.share(&owner.kind),
        name: names.share(&owner.name),
        uid: names.share(&owner.uid),
        controller: owner.controller,
        block: owner.block_owner_deletion,
    });
    each.collect()
}

/// The annotations that are copied from a cluster to its add-ons, wherever they stand.
pub(crate) fn travelling(metadata: &ObjectMeta, names: &mut Names) -> LabelMap {
    let all = metadata.annotations.iter().flatten();
    LabelMap::share(
        all.filter(|(key, _)| key.starts_with(terms::COPIED_PREFIX)),
        names,
    )
}
