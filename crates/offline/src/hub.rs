//! A hub as a heap of objects.
//!
//! Decides how an object of a file takes the place of one that was there, and who answers for configurations of foreign
//! kinds. Never decides what follows from the objects: the store does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use api::names::OWN_GROUP;
use conversion::{Extensions, Version, convert};
use snapshot::{
    ADDON_GROUP, Absence, Completeness, ConfigLookup, ConfigRef, Event, Facts, Identity, Kind, ObjectKey,
    ObservedConfig, Settings, Store,
};

/// Two pictures of one hub; what differs between them is unknown.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// What is known.
    pub known: Facts,
    /// The same, with everything else taken for absent.
    pub bare: Facts,
}

/// A hub as a heap of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hub {
    objects: BTreeMap<ObjectKey, Value>,
    /// Objects of kinds that the store does not know by name: other objects may refer to them.
    others: BTreeMap<Identity, Value>,
    answers: BTreeMap<ConfigRef, ConfigLookup>,
    complete: BTreeSet<Kind>,
}

impl Hub {
    /// Puts an object in, in place of the one of its name; returns its key if its kind is one that the store knows.
    ///
    /// What a file does not say and a hub does stays as it was: identity, revision and status. It is kept in the version that hubs
    /// store.
    pub fn put(&mut self, object: Value) -> Option<ObjectKey> {
        let mut object = convert(object, Version::V1alpha1, Extensions::Served);
        let Some(kind) = kind_of(&object) else {
            self.others.insert(Identity::of(&object), object);
            return None;
        };
        let key = key(kind, &object);
        dress(&key, &mut object, self.objects.get(&key));
        self.objects.insert(key.clone(), object);
        Some(key)
    }

    /// Puts an object in as a client applies it: a status that is brought along declares nothing, and annotations and labels that
    /// the object says nothing of stay, unless they were applied with it before.
    ///
    /// That of clusters, placements and decisions is believed, so that a folder can stand for a fleet.
    pub fn apply(&mut self, mut object: Value) -> Option<ObjectKey> {
        let ours = [ADDON_GROUP, OWN_GROUP].contains(&Identity::of(&object).group.as_str());
        if let Some(fields) = object.as_object_mut().filter(|_| ours) {
            fields.remove("status");
        }
        let known = kind_of(&object).and_then(|kind| self.objects.get(&key(kind, &object)));
        if let Some(known) = known {
            carry_marks(known, &mut object);
        }
        self.put(object)
    }

    /// Takes an object out; returns it if it was there.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Value> {
        self.objects.remove(key)
    }

    /// Says what a hub has answered about a configuration of a foreign kind.
    pub fn answer(&mut self, config: ConfigRef, answer: ConfigLookup) {
        self.answers.insert(config, answer);
    }

    /// Says that every object of a kind is here.
    pub fn complete(&mut self, kind: Kind) {
        self.complete.insert(kind);
    }

    /// Returns the kinds of which every object is here.
    pub fn completed(&self) -> &BTreeSet<Kind> {
        &self.complete
    }

    /// Returns the objects of kinds that the store knows, sorted.
    pub fn objects(&self) -> &BTreeMap<ObjectKey, Value> {
        &self.objects
    }

    /// Returns an object.
    pub fn object(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Returns the policies that the hub has, sorted by name: they are in force for whatever is applied to it.
    pub fn policies(&self) -> impl Iterator<Item = &Value> {
        // The second one is the group that the kind had before.
        let groups = [OWN_GROUP, ADDON_GROUP];
        let is_policy = move |identity: &Identity| {
            groups.contains(&identity.group.as_str()) && identity.kind == "AddOnPolicy"
        };
        let policies = self
            .others
            .iter()
            .filter(move |(identity, _)| is_policy(identity));
        policies.map(|(_, object)| object)
    }

    /// Returns what was answered about configurations of foreign kinds.
    pub fn answers(&self) -> &BTreeMap<ConfigRef, ConfigLookup> {
        &self.answers
    }

    /// Returns a store that has seen all of this.
    pub fn store(&self, settings: Settings) -> Store {
        let mut store = self.listed(settings);
        self.answer_all(&mut store);
        store
    }

    fn listed(&self, settings: Settings) -> Store {
        let mut store = Store::new(settings);
        for kind in Kind::ALL {
            let here = self.objects.iter().filter(|(key, _)| key.kind == kind);
            let objects: Vec<Value> = here.map(|(_, object)| object.clone()).collect();
            // Which roles agents may have, and have, is not guessed: what was not listed is withheld, not absent.
            let is_for_agents = kind.is_hub_role() || kind.is_for_registration();
            let unknown = is_for_agents && objects.is_empty() && !self.complete.contains(&kind);
            store.apply(if unknown {
                Event::Withheld { kind }
            } else {
                Event::Listed { kind, objects }
            });
        }
        store
    }

    /// Answers what a store asks about configurations of foreign kinds; returns those of which nothing is known.
    pub fn answer_all(&self, store: &mut Store) -> Vec<ConfigRef> {
        let mut open = Vec::new();
        while let Some(lookout) = store.take_watch_list() {
            for config in lookout.begin {
                let known = self.answers.get(&config).cloned().or_else(|| self.found(&config));
                match known {
                    Some(answer) => {
                        store.apply(Event::Answered { config, answer });
                    }
                    None => open.push(config),
                }
            }
        }
        open
    }

    /// Returns what admission may ask about this hub: what is known, and what would hold if nothing else existed.
    pub fn knowledge(&self) -> Knowledge {
        let mut store = self.listed(Settings::default());
        let open = self.answer_all(&mut store);
        let complete = Completeness::of(self.complete.iter().copied());
        let known = store.publish(complete).unwrap_or_default();
        for config in open {
            let answer = ConfigLookup::Absent(Absence::Missing);
            store.apply(Event::Answered { config, answer });
        }
        let bare = store.publish(complete).unwrap_or_else(|| known.clone());
        // There is no live hub to ask whether something exists.
        Knowledge {
            known: known.without_doubt(),
            bare: bare.completed().without_doubt(),
        }
    }

    fn found(&self, config: &ConfigRef) -> Option<ConfigLookup> {
        let fits = |identity: &&Identity| {
            *identity.group == *config.of.group
                && *identity.namespace == *config.namespace
                && *identity.name == *config.name
                && plurals(&identity.kind)
                    .iter()
                    .any(|plural| **plural == *config.of.resource)
        };
        let (_, object) = self.others.iter().find(|(identity, _)| fits(identity))?;
        Some(ConfigLookup::Exists(ObservedConfig::of(object)))
    }
}

/// Returns the kind of an object, if the store knows it by name.
pub(super) fn kind_of(object: &Value) -> Option<Kind> {
    let api_version = object.get("apiVersion").and_then(Value::as_str)?;
    Kind::of_object(object).filter(|known| known.api_version() == api_version)
}

fn key(kind: Kind, object: &Value) -> ObjectKey {
    let Identity { namespace, name, .. } = Identity::of(object);
    let namespace = if kind.address().namespaced {
        namespace
    } else {
        String::new()
    };
    ObjectKey::new(kind, namespace, name)
}

/// Where kubectl notes what was applied last.
const LAST_APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// Keeps what others have written on an object, as an apply does: of what the file had said before and no longer says, nothing stays.
fn carry_marks(known: &Value, object: &mut Value) {
    let applied = known.pointer(LAST_APPLIED).and_then(Value::as_str);
    let applied: Value = applied
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let Some(metadata) = object.as_object_mut().and_then(metadata) else {
        return;
    };
    for field in ["annotations", "labels"] {
        let of = |object: &Value| object.pointer(&format!("/metadata/{field}")).cloned();
        let Some(Value::Object(marks)) = of(known) else {
            continue;
        };
        let before = of(&applied).unwrap_or_default();
        let kept = marks.into_iter().filter(|(key, _)| before.get(key).is_none());
        let slot = metadata.entry(field).or_insert_with(|| json!({}));
        let Some(slot) = slot.as_object_mut() else {
            continue;
        };
        for (key, value) in kept {
            slot.entry(key).or_insert(value);
        }
    }
}

/// Gives an object what a hub would give it: who it is and how often it has changed.
fn dress(key: &ObjectKey, object: &mut Value, old: Option<&Value>) {
    let was = |pointer: &str| old.and_then(|old| old.pointer(pointer)).cloned();
    let changed = old.is_some_and(|old| old.get("spec") != object.get("spec"));
    let generation = was("/metadata/generation")
        .and_then(|value| value.as_i64())
        .unwrap_or(1);
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    if let Some(status) = was("/status") {
        fields.entry("status").or_insert(status);
    }
    let Some(metadata) = metadata(fields) else {
        return;
    };
    let uid = was("/metadata/uid").unwrap_or_else(|| json!(format!("offline {key}")));
    let version = was("/metadata/resourceVersion").unwrap_or_else(|| json!("1"));
    for (field, value) in [
        ("uid", uid),
        ("resourceVersion", version),
        ("generation", json!(generation + i64::from(changed))),
    ] {
        metadata.entry(field).or_insert(value);
    }
    for field in ["creationTimestamp", "ownerReferences", "finalizers"] {
        if let Some(value) = was(&format!("/metadata/{field}")) {
            metadata.entry(field).or_insert(value);
        }
    }
}

fn metadata(fields: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    fields
        .entry("metadata")
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// The names that the resource of a kind has when its definition chooses no other one.
fn plurals(kind: &str) -> [String; 3] {
    let lower = kind.to_lowercase();
    let stem = lower.strip_suffix('y').unwrap_or(&lower);
    [format!("{lower}s"), format!("{lower}es"), format!("{stem}ies")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use snapshot::{ConfigState, ConfigType};

    fn addon(configs: &Value) -> Value {
        json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
            "metadata": {"name": "hello"}, "spec": {"configuration": {"configs": configs}}})
    }

    #[test]
    fn an_object_of_a_file_keeps_what_the_hub_knows_of_it() {
        let mut hub = Hub::default();
        let mut live = addon(&json!([]));
        live["metadata"]["uid"] = json!("u-1");
        live["metadata"]["generation"] = json!(4);
        live["status"] = json!({"conditions": []});
        hub.put(live);
        let key = hub
            .put(addon(&json!([{"resource": "things", "name": "a"}])))
            .expect("a known kind");
        let stored = hub.object(&key).expect("it is there");
        assert_eq!(stored["metadata"]["uid"], "u-1");
        assert_eq!(stored["metadata"]["generation"], 5);
        assert!(stored["status"].is_object());
    }

    #[test]
    fn an_apply_keeps_what_others_have_written_and_takes_away_what_it_had_said_before() {
        let mut hub = Hub::default();
        let mut live = addon(&json!([]));
        let applied = json!({"metadata": {"annotations": {"tidegate.io/on-failure": "undo"}}}).to_string();
        live["metadata"]["annotations"] = json!({"tidegate.io/paused": "*", "tidegate.io/on-failure": "undo",
            "kubectl.kubernetes.io/last-applied-configuration": applied, "other": "old"});
        live["metadata"]["labels"] = json!({"team": "a"});
        hub.put(live);
        let mut file = addon(&json!([]));
        file["metadata"]["annotations"] = json!({"other": "new"});
        let key = hub.apply(file).expect("a known kind");
        let metadata = &hub.object(&key).expect("it is there")["metadata"];
        assert_eq!(metadata["annotations"]["tidegate.io/paused"], "*");
        assert_eq!(metadata["annotations"]["other"], "new");
        assert_eq!(metadata["annotations"].get("tidegate.io/on-failure"), None);
        assert_eq!(metadata["labels"], json!({"team": "a"}));
    }

    #[test]
    fn a_folder_answers_for_the_foreign_kinds_that_it_has() {
        let mut hub = Hub::default();
        let config = |name: &str| json!({"group": "g", "resource": "proxies", "name": name});
        hub.put(addon(&json!([config("a"), config("b")])));
        hub.put(json!({"apiVersion": "g/v1", "kind": "Proxy", "metadata": {"name": "a"}, "spec": {"x": 1}}));
        let sight = |name: &str| {
            let of = ConfigType {
                group: "g".into(),
                resource: "proxies".into(),
            };
            let store = hub.store(Settings::default());
            let view = store.view("hello").expect("the add-on");
            let config = ConfigRef {
                of,
                namespace: "".into(),
                name: name.into(),
            };
            matches!(view.config_state(&config), ConfigState::Exists { .. })
        };
        assert!(sight("a") && !sight("b"));
    }

    #[test]
    fn facts_are_complete_kind_by_kind() {
        let mut hub = Hub::default();
        hub.put(addon(&json!([])));
        let Knowledge { known, bare } = hub.knowledge();
        assert!(!known.knows(Kind::AddOn) && bare.is_complete());
        hub.complete(Kind::AddOn);
        let known = hub.knowledge().known;
        assert!(known.knows(Kind::AddOn) && !known.knows(Kind::Cluster));
    }
}
