//! Facts about the fleet as values for policies.
//!
//! Every value has all of its members, so that an expression does not need `has()`; `found` is whether the object exists. An unknown fact
//! has no value.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::policy::{Fact, KnownFacts};
use crate::subject::{Addon, ClusterAddon, Kind as Subject};
use model::{ConfigReference, ConfigType, RawReference};
use store::{AddonFacts, ClusterFacts, ConfigPresence, Facts, Kind, LabelMap, PlacementFacts};

/// The maximum number of decision groups of all placements that one object refers to.
const MOST_GROUPS: usize = 50_000;

/// The facts about one object and the objects that it refers to.
pub(super) struct FleetFacts<'a> {
    pub(super) facts: &'a Facts,
    /// Plural name of the resource.
    pub(super) resource: &'a str,
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) object: &'a Value,
    pub(super) now: Option<Timestamp>,
}

impl KnownFacts for FleetFacts<'_> {
    fn fact(&self, fact: Fact) -> Option<Value> {
        match fact {
            Fact::Addon => self.addon(),
            Fact::Cluster => self.cluster(),
            Fact::Configs => Some(self.configs()),
            Fact::Placements => self.placements(),
            Fact::Peers => self.peers(),
            Fact::Now => self.now.map(|now| Value::String(now.to_string())),
        }
    }
}

impl FleetFacts<'_> {
    /// Returns the add-on that the object belongs to.
    fn addon_name(&self) -> Option<&str> {
        match self.resource {
            Addon::RESOURCE | ClusterAddon::RESOURCE => Some(self.name),
            _ => self.object.pointer("/spec/addonName")?.as_str(),
        }
    }

    fn addon(&self) -> Option<Value> {
        let Some(name) = self.addon_name() else {
            return Some(addon_value("", None, &Versions::default()));
        };
        let found = self.facts.addon(name);
        if found.is_none() && !self.facts.knows(Kind::AddOn) {
            return None;
        }
        let versions = self.facts.versions(name);
        let versions = Versions {
            supported: versions.map(|known| known.supported.iter().map(|text| json!(&**text)).collect()),
            default: versions.and_then(|known| known.default.as_deref()),
        };
        Some(addon_value(name, found, &versions))
    }

    fn cluster(&self) -> Option<Value> {
        if self.resource != ClusterAddon::RESOURCE {
            return Some(cluster_value("", None));
        }
        let found = self.facts.cluster(self.namespace);
        if found.is_none() && !self.facts.knows(Kind::Cluster) {
            return None;
        }
        Some(cluster_value(self.namespace, found))
    }

    fn peers(&self) -> Option<Value> {
        let found = self.addon_name().and_then(|name| self.facts.peers(name));
        if found.is_none() && !self.facts.knows(Kind::Instance) {
            return None;
        }
        let counted = found.into_iter().flat_map(|peers| &peers.by_version);
        let by_version: Map<String, Value> = counted
            .map(|(version, count)| (version.to_string(), json!(count)))
            .collect();
        Some(json!({
            "clusters": found.map_or(0, |peers| peers.clusters),
            "byVersion": by_version,
            "progressing": found.map_or(0, |peers| peers.progressing),
            "failed": found.map_or(0, |peers| peers.failed),
        }))
    }

    fn configs(&self) -> Value {
        let (found, listed) = (references(self.object), self.listed());
        found
            .iter()
            .map(|(path, reference)| self.config_value(path, reference, &listed))
            .collect()
    }

    /// Returns the types that the object itself lists: group and resource.
    fn listed(&self) -> BTreeSet<(&str, &str)> {
        let listed = self
            .object
            .pointer("/spec/supportedConfigs")
            .and_then(Value::as_array);
        let pair = |meta| {
            let text = |name: &str| Value::get(meta, name).and_then(Value::as_str).unwrap_or_default();
            (text("group"), text("resource"))
        };
        listed.into_iter().flatten().map(pair).collect()
    }

    fn config_value(
        &self,
        path: &str,
        reference: &ConfigReference,
        listed: &BTreeSet<(&str, &str)>,
    ) -> Value {
        let of = reference.config();
        let (exists, hash) = match self.facts.config(reference) {
            ConfigPresence::Exists(config) => (json!(true), json!(&*config.hash)),
            ConfigPresence::Absent(_) => (json!(false), json!("")),
            ConfigPresence::Unknown => (Value::Null, Value::Null),
        };
        let namespace = reference.namespace().unwrap_or_default();
        let point = if of.group().is_empty() { "" } else { "." };
        let slash = if namespace.is_empty() { "" } else { "/" };
        json!({
            "path": path,
            "group": of.group(),
            "resource": of.resource(),
            "namespace": namespace,
            "name": reference.name(),
            "key": format!("{}{point}{} {namespace}{slash}{}", of.resource(), of.group(), reference.name()),
            "supported": self.supports(of, listed),
            "exists": exists,
            "specHash": hash,
        })
    }

    /// For a ClusterManagementAddOn these are the types in the object itself; for a ManagedClusterAddOn those of the add-on on the hub.
    fn supports(&self, of: &ConfigType, listed: &BTreeSet<(&str, &str)>) -> Value {
        if self.resource == Addon::RESOURCE {
            return json!(listed.contains(&(of.group(), of.resource())));
        }
        let Some(name) = self.addon_name() else {
            return json!(false);
        };
        let declared = self.facts.declared_types(name);
        let declared = declared.is_some_and(|types| types.contains(of));
        match self.facts.addon(name) {
            Some(addon) => json!(declared || addon.supported.contains(of)),
            None if declared => json!(true),
            None if self.facts.knows(Kind::AddOn) => json!(false),
            None => Value::Null,
        }
    }

    /// Returns the placements; `None` if they have too many decision groups.
    fn placements(&self) -> Option<Value> {
        let own = self.object.pointer("/spec/installStrategy/placements");
        let named: Vec<(String, String)> = match self.resource {
            Addon::RESOURCE => own
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|placement| {
                    let text = |name: &str| placement.get(name).and_then(Value::as_str).unwrap_or_default();
                    (text("namespace").to_owned(), text("name").to_owned())
                })
                .collect(),
            ClusterAddon::RESOURCE => self
                .facts
                .addon(self.name)
                .into_iter()
                .flat_map(|addon| &addon.placements)
                .filter(|place| self.facts.selects(&place.namespace, &place.name, self.namespace))
                .map(|place| (place.namespace.clone(), place.name.clone()))
                .collect(),
            _ => Vec::new(),
        };
        let mut remaining = MOST_GROUPS;
        let value = |(namespace, name): &(String, String)| {
            let groups = self
                .facts
                .placement(namespace, name)
                .map_or(0, |found| found.groups.len());
            remaining = remaining.checked_sub(groups)?;
            Some(self.placement_value(namespace, name))
        };
        named.iter().map(value).collect()
    }

    fn placement_value(&self, namespace: &str, name: &str) -> Value {
        let found = self.facts.placement(namespace, name);
        let exists = match found {
            Some(placement) => json!(placement.exists),
            None if self.facts.knows(Kind::Placement) => json!(false),
            None => Value::Null,
        };
        json!({
            "namespace": namespace,
            "name": name,
            "exists": exists,
            "decided": found.is_some_and(|placement| placement.decided),
            "clusters": found.map_or(0, |placement| placement.clusters.len()),
            "groups": groups(found),
        })
    }
}

fn groups(placement: Option<&PlacementFacts>) -> Vec<Value> {
    let groups = placement.into_iter().flat_map(|placement| &placement.groups);
    groups
        .map(|group| json!({"index": group.index, "name": &*group.name, "clusters": group.clusters.len()}))
        .collect()
}

#[derive(Default)]
struct Versions<'a> {
    supported: Option<Vec<Value>>,
    default: Option<&'a str>,
}

fn addon_value(name: &str, found: Option<&AddonFacts>, versions: &Versions<'_>) -> Value {
    let supported = found.into_iter().flat_map(|addon| &addon.supported);
    let supported: Vec<Value> = supported
        .map(|of| json!({"group": of.group(), "resource": of.resource()}))
        .collect();
    let defaults = found.into_iter().flat_map(|addon| &addon.defaults);
    let defaults: Vec<Value> = defaults.map(reference_value).collect();
    let placements = found.into_iter().flat_map(|addon| &addon.placements);
    let placements: Vec<Value> = placements
        .map(|place| json!({"namespace": place.namespace, "name": place.name}))
        .collect();
    json!({
        "found": found.is_some(),
        "name": name,
        "supportedConfigs": supported,
        "defaultConfigs": defaults,
        "placements": placements,
        "versions": versions.supported.clone().unwrap_or_default(),
        "defaultVersion": versions.default.unwrap_or_default(),
    })
}

fn reference_value(reference: &ConfigReference) -> Value {
    json!({
        "group": reference.config().group(),
        "resource": reference.config().resource(),
        "namespace": reference.namespace().unwrap_or_default(),
        "name": reference.name(),
    })
}

fn cluster_value(name: &str, found: Option<&ClusterFacts>) -> Value {
    let pairs = |pairs: Option<&LabelMap>| -> Map<String, Value> {
        let all = pairs.into_iter().flat_map(LabelMap::iter);
        all.map(|(key, value)| (key.to_string(), json!(&**value)))
            .collect()
    };
    json!({
        "found": found.is_some(),
        "name": name,
        "labels": pairs(found.map(|cluster| &cluster.labels)),
        "claims": pairs(found.map(|cluster| &cluster.claims)),
        "kubernetesVersion": found.map_or("", |cluster| &*cluster.kubernetes_version),
        "accepted": found.is_some_and(|cluster| cluster.accepted),
        "available": found.and_then(|cluster| cluster.available),
        "deleting": found.is_some_and(|cluster| cluster.deleting),
    })
}

/// Returns every reference to a configuration with its path: those of the object and those of its placements.
pub fn references(object: &Value) -> Vec<(String, ConfigReference)> {
    let mut found = Vec::new();
    let mut add = |at: &Value, pointer: &str, path: &str| {
        for (place, item) in items(at, pointer, path) {
            found.extend(reference(item, item).map(|reference| (place, reference)));
        }
    };
    add(object, "/spec/configs", "spec.configs");
    add(
        object,
        "/spec/configuration/configs",
        "spec.configuration.configs",
    );
    let strategy = "spec.installStrategy.placements";
    for (place, placement) in items(object, "/spec/installStrategy/placements", strategy) {
        add(placement, "/configs", &format!("{place}.configs"));
        for template in ["addonSpec", "addonTemplate"] {
            let path = format!("{place}.{template}.configs");
            add(placement, &format!("/{template}/configs"), &path);
        }
    }
    for (place, meta) in items(object, "/spec/supportedConfigs", "spec.supportedConfigs") {
        let default = meta
            .get("defaultConfig")
            .and_then(|default| reference(meta, default));
        found.extend(default.map(|default| (format!("{place}.defaultConfig"), default)));
    }
    found
}

fn items<'v>(at: &'v Value, pointer: &str, path: &str) -> Vec<(String, &'v Value)> {
    let list = at
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    list.enumerate()
        .map(|(index, item)| (format!("{path}[{index}]"), item))
        .collect()
}

/// Parses a reference; its type and its name may be in two objects.
fn reference(of: &Value, place: &Value) -> Option<ConfigReference> {
    fn text<'v>(at: &'v Value, name: &str) -> Option<&'v str> {
        at.get(name).and_then(Value::as_str)
    }
    ConfigReference::read(RawReference {
        group: text(of, "group"),
        resource: text(of, "resource"),
        namespace: text(place, "namespace"),
        name: text(place, "name"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Completeness, Settings, Store};

    const PAGE: &str = include_str!("../../../../docs/policies.md");

    /// The members that the page lists for a fact, those of a group after those of its placement.
    fn documented(fact: &str) -> Vec<String> {
        let row = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| `facts.{fact}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/policies.md says nothing of facts.{fact}"));
        let (_, members) = row
            .trim_start_matches('|')
            .split_once('|')
            .expect("a second column");
        let listed = members
            .split(';')
            .next()
            .unwrap_or_default()
            .split('`')
            .skip(1)
            .step_by(2);
        listed
            .map(|name| name.trim_end_matches("[]").to_owned())
            .collect()
    }

    fn keys(value: &Value) -> Vec<String> {
        value
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect()
    }

    /// A group of decisions has its members, too.
    fn with_group(value: &Value) -> Vec<String> {
        let groups = value["groups"].as_array().into_iter().flatten();
        keys(value).into_iter().chain(groups.flat_map(keys)).collect()
    }

    #[test]
    fn the_page_lists_every_member_of_every_fact() {
        let mut store = Store::new(Settings::default());
        let placement = json!({"metadata": {"name": "p", "namespace": "n", "uid": "1", "resourceVersion": "1"}, "spec": {}});
        let labels = json!({"cluster.open-cluster-management.io/placement": "p"});
        let decision = json!({"metadata": {"name": "d", "namespace": "n", "uid": "2", "resourceVersion": "2", "labels": labels}, "status": {"decisions": [{"clusterName": "c", "reason": ""}]}});
        store.apply(store::Event::Applied {
            kind: Kind::Placement,
            object: placement,
        });
        store.apply(store::Event::Applied {
            kind: Kind::Decision,
            object: decision,
        });
        let facts = store.publish(Completeness::all()).expect("something to publish");
        let config = json!({"group": "g", "resource": "r", "name": "c"});
        let object = json!({"spec": {"configs": [config], "installStrategy": {"placements": [{"namespace": "n", "name": "p"}]}}});
        let fleet = FleetFacts {
            facts: &facts,
            resource: Addon::RESOURCE,
            name: "a",
            namespace: "",
            object: &object,
            now: None,
        };
        let value = |fact| fleet.fact(fact).expect("everything is known");
        let rows = [
            ("addon", keys(&value(Fact::Addon))),
            ("cluster", keys(&value(Fact::Cluster))),
            ("configs[]", keys(&value(Fact::Configs)[0])),
            ("placements[]", with_group(&value(Fact::Placements)[0])),
            ("peers", keys(&value(Fact::Peers))),
        ];
        for (fact, mut members) in rows {
            let mut listed = documented(fact);
            listed.sort();
            members.sort();
            assert_eq!(listed, members, "facts.{fact}");
        }
    }
}
