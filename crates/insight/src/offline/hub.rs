//! A hub as a heap of objects.
//!
//! Decides how an object of a file takes the place of one that was there, and what answers for configurations of foreign
//! kinds. Never decides what follows from the objects: the store does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::definitions::{Definition, Definitions};
use super::hidden;
use api::conversion::{Extensions, Version, convert};
use api::names::OWN_GROUP;
use api::names::annotations::INSTALL_NAMESPACE;
use store::{
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
    /// A copy of the hub shares them: as trees they take ten times the memory of their text.
    objects: BTreeMap<ObjectKey, Arc<Value>>,
    /// Objects of kinds that the store does not know by name: other objects may refer to them.
    others: BTreeMap<Identity, Value>,
    answers: BTreeMap<ConfigRef, ConfigLookup>,
    complete: BTreeSet<Kind>,
    /// How the hub defines kinds; what it defines otherwise than this program is stored otherwise.
    definitions: Definitions,
    /// Whether the objects come from a dump, in which credentials are hidden.
    is_redacted: bool,
    /// How many values of files stand where the dump hides one.
    assumed: usize,
}

impl Hub {
    /// Puts an object of a hub in, in place of the one of its name; returns its key if its kind is one that the store knows.
    ///
    /// What it does not have and the one before had stays: identity, revision and status. It is kept in the version that hubs store.
    pub fn put(&mut self, object: Value) -> Option<ObjectKey> {
        let mut object = convert(object, Version::V1alpha1, Extensions::Served);
        let Some(kind) = kind_of(&object) else {
            self.put_other(object);
            return None;
        };
        let key = key(kind, &object);
        dress(&key, &mut object, self.object(&key));
        self.objects.insert(key.clone(), Arc::new(object));
        Some(key)
    }

    /// Puts an object of a file in as a client applies it: unknown fields are dropped and defaults are filled in as by the definition of
    /// its kind, a status is ignored, and annotations and labels that the file does not name stay, unless they were applied with it before.
    ///
    /// The status of clusters, placements and decisions is kept, so that a folder can represent a fleet.
    pub fn apply(&mut self, object: Value) -> Option<ObjectKey> {
        let mut object = self.stored_form(object);
        let ours = [ADDON_GROUP, OWN_GROUP].contains(&Identity::of(&object).group.as_str());
        if let Some(fields) = object.as_object_mut().filter(|_| ours) {
            fields.remove("status");
        }
        let known = kind_of(&object).and_then(|kind| self.objects.get(&key(kind, &object)));
        if let Some(known) = known {
            carry_marks(known, &mut object);
            let specs = known.get("spec").zip(object.get_mut("spec"));
            if let Some((known, spec)) = specs.filter(|_| self.is_redacted) {
                self.assumed = self.assumed.saturating_add(hidden::assume(known, spec));
            }
        }
        self.put(object)
    }

    /// Says that credentials are hidden in the objects of this hub.
    pub(super) fn mark_redacted(&mut self) {
        self.is_redacted = true;
    }

    /// Returns how many values of applied files could not be compared, because the dump hides what was there; they are taken for
    /// unchanged.
    pub fn assumed(&self) -> usize {
        self.assumed
    }

    /// Puts an object of a file in as if a hub had stored it whole, its status included: a file of facts describes a hub.
    pub fn put_file(&mut self, object: Value) -> Option<ObjectKey> {
        let object = self.stored_form(object);
        self.put(object)
    }

    /// Adds how the hub defines a kind.
    pub fn define(&mut self, definition: Definition) {
        self.definitions.insert(definition);
    }

    /// Returns the definitions of the hub that are known, sorted.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.all()
    }

    /// Returns an object of a file, in its own version, with the fields and defaults that its definition has.
    pub fn with_defaults(&self, mut object: Value) -> Value {
        let has_status = object.get("status").is_some();
        self.definitions.settle(&mut object);
        if let Some(fields) = object.as_object_mut().filter(|_| !has_status) {
            // A default of the status is what a new object shows until a controller writes one.
            fields.remove("status");
        }
        object
    }

    /// Returns an object of a file as this hub would store it.
    fn stored_form(&self, mut object: Value) -> Value {
        let leaves_namespace = object
            .pointer("/spec/installNamespace")
            .is_none_or(Value::is_null)
            && object
                .pointer("/metadata/annotations")
                .is_none_or(|annotations| annotations.get(INSTALL_NAMESPACE).is_none());
        // Each version has fields and defaults of its own; the stored one has its own as well.
        let is_other = kind_of(&object).is_none();
        if is_other {
            object = self.with_defaults(object);
        }
        let mut object = convert(object, Version::V1alpha1, Extensions::Served);
        let kind = kind_of(&object);
        if kind == Some(Kind::Instance) && leaves_namespace {
            let known = self.objects.get(&key(Kind::Instance, &object));
            let namespace = known
                .and_then(|known| known.pointer("/spec/installNamespace"))
                .cloned();
            let spec = object.get_mut("spec").and_then(Value::as_object_mut);
            if let Some((spec, namespace)) = spec.zip(namespace) {
                // The webhook and other clients give it; an apply without it takes nothing away.
                spec.insert("installNamespace".to_owned(), namespace);
            }
        }
        if kind.is_some() {
            object = self.with_defaults(object);
        }
        object
    }

    /// Puts an object in that other objects may refer to; what the hub has answered about it before counts no longer.
    fn put_other(&mut self, object: Value) {
        let identity = Identity::of(&object);
        let definitions = &self.definitions;
        let answers = self.answers.iter_mut();
        for (_, answer) in answers.filter(|(config, _)| is_meant(definitions, config, &identity)) {
            let mut seen = ObservedConfig::of(&object);
            if let ConfigLookup::Exists(before) = &*answer {
                let changed = i64::from(before.generation > 0 && before.hash != seen.hash);
                seen = ObservedConfig {
                    hash: seen.hash,
                    generation: before.generation.saturating_add(changed),
                    ..before.clone()
                };
            }
            *answer = ConfigLookup::Exists(seen);
        }
        self.others.insert(identity, object);
    }

    /// Returns this hub with other objects.
    pub(super) fn with_objects(&self, objects: BTreeMap<ObjectKey, Value>, others: Vec<Value>) -> Self {
        let others = others.into_iter().map(|object| (Identity::of(&object), object));
        let objects = objects.into_iter();
        Self {
            objects: objects.map(|(key, object)| (key, Arc::new(object))).collect(),
            others: others.collect(),
            answers: self.answers.clone(),
            complete: self.complete.clone(),
            definitions: self.definitions.clone(),
            is_redacted: true,
            assumed: 0,
        }
    }

    /// Gives an object another spec, as if the hub had always had it.
    pub fn set_spec(&mut self, key: &ObjectKey, spec: Value) {
        let object = self.objects.get_mut(key).map(Arc::make_mut);
        let object = object.and_then(Value::as_object_mut);
        if let Some(fields) = object {
            fields.insert("spec".to_owned(), spec);
        }
    }

    /// Gives an object another annotation, as if the hub had always had it.
    pub fn annotate(&mut self, key: &ObjectKey, name: &str, value: String) {
        let annotations = self.objects.get_mut(key).map(Arc::make_mut);
        let annotations = annotations.and_then(|object| object.pointer_mut("/metadata/annotations"));
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.insert(name.to_owned(), Value::String(value));
        }
    }

    /// Takes an object out; returns it if it was there.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Value>> {
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
    pub fn objects(&self) -> &BTreeMap<ObjectKey, Arc<Value>> {
        &self.objects
    }

    /// Returns an object.
    pub fn object(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key).map(Arc::as_ref)
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
            let here = || self.objects.iter().filter(|(key, _)| key.kind == kind);
            let keys: BTreeSet<ObjectKey> = here().map(|(key, _)| key.clone()).collect();
            // Which roles agents may have, and have, is not guessed: what was not listed is withheld, not absent.
            // Nor is it that no content is kept.
            let unknown = kind.is_never_guessed() && keys.is_empty() && !self.complete.contains(&kind);
            // One object after the other: the store keeps less than the tree that it is given.
            for (_, object) in here() {
                let object = Value::clone(object);
                store.apply(Event::Applied { kind, object });
            }
            store.apply(if unknown {
                Event::Withheld { kind }
            } else {
                Event::ListEnded { kind, keys }
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
        let mut others = self.others.iter();
        let (_, object) = others.find(|(identity, _)| is_meant(&self.definitions, config, identity))?;
        Some(ConfigLookup::Exists(ObservedConfig::of(object)))
    }
}

/// Tells whether a reference means an object.
fn is_meant(definitions: &Definitions, config: &ConfigRef, identity: &Identity) -> bool {
    let resource = &*config.of.resource;
    let is_of_kind = || {
        let defined = definitions.is_plural(&identity.group, &identity.kind, resource);
        defined.unwrap_or_else(|| plurals(&identity.kind).iter().any(|plural| *plural == resource))
    };
    *identity.group == *config.of.group
        && *identity.namespace == *config.namespace
        && *identity.name == *config.name
        && is_of_kind()
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
    use store::{ConfigState, ConfigType};

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
        let applied =
            json!({"metadata": {"annotations": {"tidegate.io/protected-configs": "a.b"}}}).to_string();
        live["metadata"]["annotations"] = json!({"tidegate.io/deletion-guard": "true", "tidegate.io/protected-configs": "a.b",
            "kubectl.kubernetes.io/last-applied-configuration": applied, "other": "old"});
        live["metadata"]["labels"] = json!({"team": "a"});
        hub.put(live);
        let mut file = addon(&json!([]));
        file["metadata"]["annotations"] = json!({"other": "new"});
        let key = hub.apply(file).expect("a known kind");
        let metadata = &hub.object(&key).expect("it is there")["metadata"];
        assert_eq!(metadata["annotations"]["tidegate.io/deletion-guard"], "true");
        assert_eq!(metadata["annotations"]["other"], "new");
        assert_eq!(metadata["annotations"].get("tidegate.io/protected-configs"), None);
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
