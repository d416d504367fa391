//! What an API server stores of an object of a file: the fields that the definition of its kind has, with their defaults.
//!
//! Uses the definition of the hub where it is known, and otherwise the one that this program has for hubs of its own. Never
//! validates: the webhook's rules do.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use schema::Schema;
use serde_json::{Map, Value, json};

use api::names::OWN_GROUP;
use api::{Converter, serve_v1beta1};
use store::ADDON_GROUP;

/// Keywords of a schema that neither prune nor default: rules, which are slow to compile, and words.
const LEFT_OUT: [&str; 2] = ["x-kubernetes-validations", "description"];

/// The definition of a kind, as far as it decides what is stored.
#[derive(Clone, Debug)]
pub struct Definition {
    group: String,
    kind: String,
    plural: String,
    /// Schemas of the versions.
    versions: BTreeMap<String, Value>,
    compiled: BTreeMap<String, Arc<Schema>>,
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.written() == other.written()
    }
}

impl Eq for Definition {}

impl Definition {
    /// Reads a CustomResourceDefinition; nothing where it lacks a group, names or versions.
    pub fn of(crd: &Value) -> Option<Self> {
        let text = |pointer: &str| Some(crd.pointer(pointer)?.as_str()?.to_owned());
        let versions = crd.pointer("/spec/versions")?.as_array()?.iter();
        let versions =
            versions.filter(|version| version.get("served").and_then(Value::as_bool) != Some(false));
        let versions = versions.filter_map(|version| {
            let name = version.get("name")?.as_str()?.to_owned();
            Some((name, plain(version.pointer("/schema/openAPIV3Schema")?)))
        });
        Some(Self::new(
            text("/spec/group")?,
            text("/spec/names/kind")?,
            text("/spec/names/plural")?,
            versions.collect(),
        ))
    }

    fn new(group: String, kind: String, plural: String, versions: BTreeMap<String, Value>) -> Self {
        let compiled = versions.iter().filter_map(|(name, schema)| {
            // A schema that this program cannot read fills in nothing.
            Some((name.clone(), Arc::new(Schema::parse(schema).ok()?)))
        });
        let compiled = compiled.collect();
        Self {
            group,
            kind,
            plural,
            versions,
            compiled,
        }
    }

    /// Returns the definition as a dump holds it.
    pub(super) fn written(&self) -> Value {
        json!({"group": self.group, "kind": self.kind, "plural": self.plural, "versions": self.versions})
    }

    /// Reads a definition of a dump.
    pub(super) fn read(written: &Value) -> Option<Self> {
        let text = |field: &str| Some(written.get(field)?.as_str()?.to_owned());
        let versions = written.get("versions")?.as_object()?.clone();
        Some(Self::new(
            text("group")?,
            text("kind")?,
            text("plural")?,
            versions.into_iter().collect(),
        ))
    }
}

/// Returns what of a schema decides which fields are stored. What is stored as status is decided by controllers.
fn plain(schema: &Value) -> Value {
    let mut schema = thinned(schema);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut)
        && properties.contains_key("status")
    {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        properties.insert("status".to_owned(), any);
    }
    schema
}

/// Keywords are left out where schemas are, and not where a field or a default has the same name.
fn thinned(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in fields.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(all)) => {
                let each = all.iter().map(|(name, schema)| (name.clone(), thinned(schema)));
                Value::Object(each.collect())
            }
            ("items" | "additionalProperties" | "not", _) => thinned(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => all.iter().map(thinned).collect(),
            (_, _) => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    Value::Object(out)
}

/// The definitions of this program.
static OWN: LazyLock<Definitions> = LazyLock::new(|| {
    let converter = Converter {
        url: "https://localhost/convert",
        ca_pem: "",
    };
    let mut all = Definitions::default();
    for mut crd in api::crds() {
        serve_v1beta1(&mut crd, &converter);
        let crd = serde_json::to_value(&crd).unwrap_or_default();
        if let Some(definition) = Definition::of(&crd) {
            all.insert(definition);
        }
    }
    all
});

/// Definitions by group and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Definitions(BTreeMap<(String, String), Definition>);

impl Definitions {
    pub(super) fn insert(&mut self, definition: Definition) {
        let of = (definition.group.clone(), definition.kind.clone());
        self.0.insert(of, definition);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Definition> {
        self.0.values()
    }

    /// Returns whether a resource is that of a kind; nothing where the definition is not known.
    pub(super) fn is_plural(&self, group: &str, kind: &str, plural: &str) -> Option<bool> {
        let found = self.0.get(&(group.to_owned(), kind.to_owned()))?;
        Some(found.plural == plural)
    }

    /// Removes from an object of a file what an API server would not store, and fills in its defaults.
    pub(super) fn settle(&self, object: &mut Value) {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
        if text("kind") == "AddOnPolicy" {
            // The policy engine reads policies as they are written, and names what it does not know.
            return;
        }
        let of = (group.to_owned(), text("kind").to_owned());
        let hubs = self.0.get(&of);
        let Some(definition) = hubs.or_else(|| OWN.0.get(&of)) else {
            if (text("apiVersion"), text("kind")) == ("v1", "ConfigMap") {
                settle_config_map(object);
            }
            return;
        };
        let Some(schema) = definition.compiled.get(version) else {
            return;
        };
        // Of the kinds of other projects this program defines only what it reads; a hub may have more.
        let is_whole = hubs.is_some() || [ADDON_GROUP, OWN_GROUP].contains(&group);
        if is_whole {
            schema.prune(object);
        }
        schema.apply_defaults(object);
    }
}

/// Every API server has ConfigMaps, and no definition of them.
fn settle_config_map(object: &mut Value) {
    let known = [
        "apiVersion",
        "kind",
        "metadata",
        "data",
        "binaryData",
        "immutable",
    ];
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, value| known.contains(&name.as_str()) && !value.is_null());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_of_this_program_compiles_in_every_version() {
        for crd in api::crds() {
            let kind = crd.spec.names.kind;
            let of = (crd.spec.group, kind.clone());
            let definition = OWN.0.get(&of).expect("it is listed");
            assert_eq!(definition.versions.len(), definition.compiled.len(), "{kind}");
            let again = Definition::read(&definition.written()).expect("it is read as it was written");
            assert_eq!(*definition, again);
        }
        let of = |kind: &str| (ADDON_GROUP.to_owned(), kind.to_owned());
        for kind in [
            "AddOnDeploymentConfig",
            "AddOnTemplate",
            "ClusterManagementAddOn",
            "ManagedClusterAddOn",
        ] {
            let versions: Vec<&String> = OWN.0[&of(kind)].versions.keys().collect();
            assert_eq!(versions, ["v1alpha1", "v1beta1"], "{kind}");
        }
    }

    #[test]
    fn the_definition_of_the_hub_counts_before_our_own() {
        let file = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "a"}, "spec": {"newer": {}, "proxyConfig": {"unknown": 1}}});
        let mut own = file.clone();
        Definitions::default().settle(&mut own);
        let namespace = "open-cluster-management-agent-addon";
        assert_eq!(
            own["spec"],
            json!({"agentInstallNamespace": namespace, "proxyConfig": {}})
        );
        let newer = json!({"type": "object", "properties": {"mode": {"type": "string", "default": "x", "description": "y"}}});
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"newer": newer, "description": {"type": "string", "default": "kept"}}},
            "status": {"type": "object", "default": {"observedGeneration": -1}}}});
        let crd = json!({"spec": {"group": ADDON_GROUP,
            "names": {"kind": "AddOnDeploymentConfig", "plural": "addondeploymentconfigs"},
            "versions": [{"name": "v1alpha1", "served": true, "schema": {"openAPIV3Schema": schema}}]}});
        let mut definitions = Definitions::default();
        definitions.insert(Definition::of(&crd).expect("a definition"));
        let mut hubs = file;
        definitions.settle(&mut hubs);
        assert_eq!(
            hubs["spec"],
            json!({"newer": {"mode": "x"}, "description": "kept"})
        );
        assert_eq!(hubs.get("status"), None);
    }

    #[test]
    fn of_a_config_map_its_own_fields_are_stored() {
        let mut file = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"},
            "binaryData": null, "spec": {}});
        Definitions::default().settle(&mut file);
        let stored =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}});
        assert_eq!(file, stored);
    }
}
