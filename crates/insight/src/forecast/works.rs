//! The works of one add-on on one cluster, as they would be in the end, and what they are made from.
//!
//! Decides which works are shown, and what of them only a hub says. How they are made, and where each value comes from, is decided by
//! `plan`. Writes nothing, and never shows what a Secret holds.

use std::collections::{BTreeMap, BTreeSet};

use api::output::OutputDocument;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::course::course;
use super::world::World;
use crate::layout::instead;
use crate::offline::Hub;
use api::hash::{ConfigKey, parse_config_spec_hash};
use api::names::annotations::CONFIG_SPEC_HASH;
use api::names::labels;
use plan::{ConfigOrigin, Origins, ValueOrigin};
use store::{Kind, ObjectKey, Settings, Store};

/// What was asked about does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unknown {
    /// No such add-on.
    #[error("no ClusterManagementAddOn has the name {name:?}; {instead}")]
    Addon {
        /// The name.
        name: String,
        /// What was probably meant, or what there is.
        instead: String,
    },
    /// No such cluster.
    #[error("no ManagedCluster has the name {name:?}; {instead}")]
    Cluster {
        /// The name.
        name: String,
        /// What was probably meant, or what there is.
        instead: String,
    },
}

/// What is rendered for a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RenderedCluster {
    /// The add-on.
    pub addon: String,
    /// The cluster.
    pub cluster: String,
    /// What it is rendered with; nothing where the cluster does not get the add-on.
    pub origins: Option<Origins>,
    /// The works, by name.
    pub works: Vec<Value>,
    /// Why the works are not made, or are not what they should be.
    pub held: Vec<String>,
}

/// Returns the works of an add-on on a cluster when nothing is left to do.
pub fn works(
    hub: &Hub,
    settings: Settings,
    (addon, cluster): (&str, &str),
    now: Timestamp,
) -> Result<RenderedCluster, Unknown> {
    let mut world = World::new(hub, settings, now);
    known(&world.store, addon, cluster)?;
    let forecast = course(&mut world, addon, now);
    let view = world.store.view(addon);
    let is_meant = |work: &&Value| {
        let label = |name: &str| {
            let labels = work.pointer("/metadata/labels")?;
            labels.get(name)?.as_str()
        };
        label(labels::ADDON_NAME) == Some(addon)
    };
    let own = world
        .objects
        .iter()
        .filter(|(key, _)| key.kind == Kind::Work && *key.namespace == *cluster);
    let own: Vec<&Value> = own.map(|(_, work)| work.as_ref()).filter(is_meant).collect();
    let instance = world.object(&ObjectKey::new(Kind::Instance, cluster, addon));
    let outdated = own.iter().filter_map(|work| outdated(work, instance));
    let outdated: Vec<String> = outdated.collect();
    let works = own.into_iter().map(shown).collect();
    let held = forecast.held.into_iter();
    let held = held.filter(|held| held.cluster.as_deref().is_none_or(|name| name == cluster));
    let held: BTreeSet<String> = held.map(|held| held.why).chain(outdated).collect();
    Ok(RenderedCluster {
        addon: addon.to_owned(),
        cluster: cluster.to_owned(),
        origins: view.and_then(|view| plan::origins(&view, cluster)),
        works,
        held: held.into_iter().collect(),
    })
}

/// Returns a note if the ManifestWork does not contain the values above it, because it is not updated yet.
fn outdated(work: &Value, instance: Option<&Value>) -> Option<String> {
    let annotations = work.pointer("/metadata/annotations")?;
    let made_of = annotations.get(CONFIG_SPEC_HASH)?.as_str()?;
    let made_of = parse_config_spec_hash(made_of).ok()?;
    let text = |value: &Value, pointer: &str| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let references = instance.and_then(|instance| instance.pointer("/status/configReferences"));
    let each = references.and_then(Value::as_array).into_iter().flatten();
    let assigned = each.map(|one| {
        let key = ConfigKey {
            resource: text(one, "/resource"),
            group: text(one, "/group"),
            namespace: text(one, "/desiredConfig/namespace"),
            name: text(one, "/desiredConfig/name"),
        };
        (key, text(one, "/desiredConfig/specHash"))
    });
    let assigned: BTreeMap<ConfigKey, String> = assigned.collect();
    if made_of == assigned {
        return None;
    }
    let each = made_of.iter().map(|(key, hash)| {
        let slash = if key.namespace.is_empty() { "" } else { "/" };
        let short: String = hash.chars().take(8).collect();
        format!("{} {}{slash}{} ({short})", key.resource, key.namespace, key.name)
    });
    let made_of = each.collect::<Vec<_>>().join(", ");
    let name = text(work, "/metadata/name");
    Some(format!(
        "ManifestWork {name} is not updated: it was rendered from {made_of}, and does not contain the values above"
    ))
}

fn known(store: &Store, addon: &str, cluster: &str) -> Result<(), Unknown> {
    let addons = || store.addons().map(|name| &**name);
    let view = store.view(addon).filter(|_| addons().any(|name| name == addon));
    let view = view.ok_or_else(|| Unknown::Addon {
        name: addon.to_owned(),
        instead: instead(addon, addons()),
    })?;
    let clusters = || view.clusters().map(|(name, _)| &**name);
    if clusters().any(|name| name == cluster) {
        return Ok(());
    }
    Err(Unknown::Cluster {
        name: cluster.to_owned(),
        instead: instead(cluster, clusters()),
    })
}

/// What of a work is asked for: what a hub or an agent says about it is not.
fn shown(work: &Value) -> Value {
    let mut work = work.clone();
    if let Some(fields) = work.as_object_mut() {
        fields.remove("status");
    }
    let metadata = work.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        for name in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "managedFields",
        ] {
            metadata.remove(name);
        }
    }
    let manifests = work.pointer_mut("/spec/workload/manifests");
    let manifests = manifests.and_then(Value::as_array_mut);
    manifests.into_iter().flatten().for_each(hide);
    work
}

/// What a Secret holds is not shown; which keys it has is.
fn hide(manifest: &mut Value) {
    if let Some(items) = manifest.get_mut("items").and_then(Value::as_array_mut) {
        items.iter_mut().for_each(hide);
    }
    if manifest.get("kind").and_then(Value::as_str) != Some("Secret") {
        return;
    }
    for name in ["data", "stringData"] {
        let fields = manifest.get_mut(name).and_then(Value::as_object_mut);
        for value in fields.into_iter().flat_map(serde_json::Map::values_mut) {
            *value = json!("(hidden)");
        }
    }
}

/// Returns what is said beside the works, a line each.
pub fn works_notes(rendered: &RenderedCluster) -> Vec<String> {
    let RenderedCluster {
        addon,
        cluster,
        origins,
        works,
        held,
    } = rendered;
    let Some(origins) = origins else {
        let mut lines = vec![format!("The add-on {addon} is not installed on {cluster}.")];
        lines.extend(held.iter().cloned());
        return lines;
    };
    let mut lines = vec![format!("{addon} on {cluster}")];
    if !origins.deployed {
        lines.push("No template is used: another program creates the works of this add-on.".to_owned());
    }
    section(
        &mut lines,
        "configurations",
        origins.configs.iter().map(config_line),
    );
    section(&mut lines, "variables", origins.variables.iter().map(value_line));
    section(&mut lines, "images", origins.mirrors.iter().map(value_line));
    section(&mut lines, "blocked", held.iter().cloned());
    if works.is_empty() {
        lines.push("There are no works.".to_owned());
    }
    lines
}

fn section(lines: &mut Vec<String>, title: &str, each: impl Iterator<Item = String>) {
    let mut each = each.peekable();
    if each.peek().is_some() {
        lines.push(format!("{title}:"));
        lines.extend(each.map(|line| format!("  {line}")));
    }
}

fn config_line(one: &ConfigOrigin) -> String {
    let (namespace, name) = (&one.config.namespace, &one.config.name);
    let slash = if namespace.is_empty() { "" } else { "/" };
    // The fault says the layer as well.
    let said = one.fault.as_ref().unwrap_or(&one.from);
    let until = one.until_then.as_ref().map_or_else(String::new, |before| {
        let (namespace, name) = (&before.config.namespace, &before.config.name);
        let slash = if namespace.is_empty() { "" } else { "/" };
        format!(
            "; until the rollout reaches the cluster: {namespace}{slash}{name} ({})",
            brief(&before.desired)
        )
    });
    format!(
        "{} {namespace}{slash}{name} ({}): {said}{until}",
        one.config.of,
        brief(&one.hash)
    )
}

fn brief(hash: &str) -> String {
    if hash.is_empty() {
        return "not known".to_owned();
    }
    hash.chars().take(8).collect()
}

fn value_line(one: &ValueOrigin) -> String {
    format!("{} = {:?}: {}", one.name, one.value, one.from)
}

/// The works of an add-on on a cluster, for programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderedAddOn<'a> {
    /// The add-on.
    pub addon: &'a str,
    /// The cluster.
    pub cluster: &'a str,
    /// Whether the cluster has the add-on.
    pub installed: bool,
    /// Whether its works are rendered from an AddOnTemplate.
    pub deployed_from_template: bool,
    /// The configurations; null if the cluster does not have the add-on.
    pub configurations: Option<Vec<ConfigSource<'a>>>,
    /// The variables of the template; null if the cluster does not have the add-on.
    pub variables: Option<Vec<ValueSource<'a>>>,
    /// The image registries that replace others, or null.
    pub image_mirrors: Option<ValueSource<'a>>,
    /// Why works are not rendered, or are not up to date.
    pub held: &'a [String],
    /// The ManifestWorks.
    #[schemars(schema_with = "api::output::objects")]
    pub works: &'a [Value],
}

impl OutputDocument for RenderedAddOn<'_> {
    const KIND: &'static str = "RenderedAddOn";
}

/// A value and its source.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ValueSource<'a> {
    /// Its name.
    pub name: &'a str,
    /// The value.
    pub value: &'a str,
    /// The source.
    pub from: &'a str,
}

/// A configuration and its source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSource<'a> {
    /// The configuration.
    pub config: ConfigReference<'a>,
    /// What refers to it.
    pub from: &'a str,
    /// What is wrong with it, or null.
    pub fault: Option<&'a str>,
    /// The configuration of the cluster until its update, or null.
    pub until_then: Option<ConfigReference<'a>>,
}

/// A configuration.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReference<'a> {
    /// Its API group.
    pub group: &'a str,
    /// Its resource.
    pub resource: &'a str,
    /// Its namespace, or "".
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Hash of its spec, "" if it is not known.
    pub spec_hash: &'a str,
}

impl<'a> ConfigReference<'a> {
    fn of(config: &'a store::ConfigRef, hash: &'a str) -> Self {
        Self {
            group: &config.of.group,
            resource: &config.of.resource,
            namespace: &config.namespace,
            name: &config.name,
            spec_hash: hash,
        }
    }
}

impl<'a> ValueSource<'a> {
    fn of(one: &'a ValueOrigin) -> Self {
        Self {
            name: &one.name,
            value: &one.value,
            from: &one.from,
        }
    }
}

impl<'a> ConfigSource<'a> {
    fn of(one: &'a ConfigOrigin) -> Self {
        let until_then = one.until_then.as_ref();
        Self {
            config: ConfigReference::of(&one.config, &one.hash),
            from: &one.from,
            fault: one.fault.as_deref(),
            until_then: until_then.map(|before| ConfigReference::of(&before.config, &before.desired)),
        }
    }
}

/// Returns all of it for programs.
pub fn rendered_addon(rendered: &RenderedCluster) -> RenderedAddOn<'_> {
    let origins = rendered.origins.as_ref();
    RenderedAddOn {
        addon: &rendered.addon,
        cluster: &rendered.cluster,
        installed: origins.is_some(),
        deployed_from_template: origins.is_some_and(|origins| origins.deployed),
        configurations: origins.map(|origins| origins.configs.iter().map(ConfigSource::of).collect()),
        variables: origins.map(|origins| origins.variables.iter().map(ValueSource::of).collect()),
        image_mirrors: origins
            .and_then(|origins| origins.mirrors.as_ref())
            .map(ValueSource::of),
        held: &rendered.held,
        works: &rendered.works,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "1111111111111111111111111111111111111111111111111111111111111111";

    #[test]
    fn an_outdated_work_is_reported_and_a_current_one_is_not() {
        let hashes = |hash: &str| json!({"addondeploymentconfigs.g/n/a": hash}).to_string();
        let work = |hash: &str| {
            let annotations = json!({CONFIG_SPEC_HASH: hashes(hash)});
            json!({"metadata": {"name": "w", "annotations": annotations}})
        };
        let reference = json!({"group": "g", "resource": "addondeploymentconfigs",
            "desiredConfig": {"namespace": "n", "name": "a", "specHash": HASH}});
        let instance = json!({"status": {"configReferences": [reference]}});
        assert_eq!(outdated(&work(HASH), Some(&instance)), None);
        let other = HASH.replace('1', "2");
        let told = outdated(&work(&other), Some(&instance)).expect("it is outdated");
        assert!(
            told.starts_with(
                "ManifestWork w is not updated: it was rendered from addondeploymentconfigs n/a (22222222)"
            ),
            "{told}"
        );
        assert_eq!(
            outdated(&json!({"metadata": {"name": "w"}}), Some(&instance)),
            None,
            "who says nothing"
        );
    }
}
