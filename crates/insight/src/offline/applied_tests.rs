//! A manifest that is applied again changes nothing, whichever of its defaults it leaves to the API server.

use api::conversion::{Extensions, Version, convert};
use proptest::prelude::*;
use schema::Schema;
use serde_json::{Map, Value, json};

use super::{Definition, Hub};
use api::{Converter, serve_v1beta1};
use store::{ConfigLookup, ConfigRef, ConfigType, Kind, ObjectKey, ObservedConfig};

/// One version of a kind, as an API server has it.
struct Served {
    group: String,
    version: String,
    kind: String,
    namespaced: bool,
    definition: Value,
    schema: Schema,
}

fn served() -> Vec<Served> {
    let mut all = Vec::new();
    for mut crd in api::crds() {
        let converter = Converter {
            url: "https://localhost/convert",
            ca_pem: "",
        };
        serve_v1beta1(&mut crd, &converter);
        for version in &crd.spec.versions {
            let definition = version
                .schema
                .as_ref()
                .and_then(|schema| schema.open_api_v3_schema.as_ref());
            let definition = serde_json::to_value(definition.expect("a schema")).expect("plain data");
            all.push(Served {
                group: crd.spec.group.clone(),
                version: version.name.clone(),
                kind: crd.spec.names.kind.clone(),
                namespaced: crd.spec.scope == "Namespaced",
                schema: Schema::parse(&definition).expect("a structural schema"),
                definition,
            });
        }
    }
    all
}

/// A small generator: the same seed gives the same object.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return words[self.roll(words.len())].clone();
        }
        if schema.get("x-kubernetes-int-or-string").is_some() {
            return json!(self.roll(9));
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                let count = if depth > 9 { 0 } else { self.roll(3) };
                (0..count)
                    .map(|_| self.value(&schema["items"], depth + 1))
                    .collect()
            }
            Some("string") => json!(format!("v{}", self.roll(1000))),
            Some("boolean") => json!(self.roll(2) == 0),
            Some("integer" | "number") => json!(self.roll(9)),
            _ => json!({"x": 1}),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut fields = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let wanted = required.contains(&json!(name)) || property.get("default").is_some();
            if wanted || depth < 10 && self.roll(2) == 0 {
                fields.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        if let Some(values) = schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            for number in 0..self.roll(3) {
                fields.insert(format!("k{number}"), self.value(values, depth + 1));
            }
        }
        Value::Object(fields)
    }
}

/// Returns the places of fields with a default that stand in a value.
fn defaulted(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let Some(property) = schema["properties"].get(name) else {
                    continue;
                };
                let path = format!("{path}/{name}");
                if property.get("default").is_some() {
                    found.push(path.clone());
                }
                defaulted(property, field, &path, found);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                defaulted(&schema["items"], item, &format!("{path}/{number}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without(object: &Value, pointer: &str) -> Value {
    let mut object = object.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = object.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.expect("a field of an object").remove(name);
    object
}

/// What an API server stores of a manifest, and shows in the version that it stores.
fn stored(all: &[Served], served: &Served, manifest: &Value) -> Value {
    let settle = |served: &Served, object: &mut Value| {
        served.schema.prune(object);
        served.schema.apply_defaults(object);
    };
    let mut object = manifest.clone();
    settle(served, &mut object);
    let mut object = convert(object, Version::V1alpha1, Extensions::Served);
    let version = object["apiVersion"].clone();
    let shown = all
        .iter()
        .find(|one| one.kind == served.kind && json!(format!("{}/{}", one.group, one.version)) == version);
    settle(shown.expect("a version that is served"), &mut object);
    for (field, value) in [
        ("uid", json!("u")),
        ("resourceVersion", json!("7")),
        ("generation", json!(3)),
    ] {
        object["metadata"][field] = value;
    }
    object
}

fn specs(hub: &Hub) -> Vec<(String, Value, Value)> {
    let each = hub.objects().iter();
    each.map(|(key, object)| {
        (
            key.to_string(),
            object["spec"].clone(),
            object["metadata"]["generation"].clone(),
        )
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_manifest_that_was_applied_changes_nothing(seed in any::<u64>()) {
        let all = served();
        let mut dice = Dice(seed);
        let mut left_out = 0;
        for served in all.iter().filter(|one| one.definition["properties"].get("spec").is_some()) {
            let mut manifest = json!({"apiVersion": format!("{}/{}", served.group, served.version), "kind": served.kind,
                "metadata": {"name": "one"}, "spec": dice.value(&served.definition["properties"]["spec"], 0)});
            if served.namespaced {
                manifest["metadata"]["namespace"] = json!("here");
            }
            let mut places = Vec::new();
            defaulted(&served.definition["properties"]["spec"], &manifest["spec"], "/spec", &mut places);
            left_out += places.len();
            let mut variants = vec![manifest.clone()];
            variants.extend(places.iter().map(|place| without(&manifest, place)));
            if served.group.starts_with("addon.") {
                let mut unknown = manifest.clone();
                unknown["spec"]["noSuchField"] = json!({"a": 1});
                variants.push(unknown);
            }
            for variant in variants {
                let mut hub = Hub::default();
                hub.put(stored(&all, served, &variant));
                let before = specs(&hub);
                hub.apply(variant.clone());
                prop_assert_eq!(&specs(&hub), &before, "{}", variant);
            }
        }
        prop_assert!(left_out > 3, "{left_out} fields with a default");
    }
}

fn foreign(kind: &str, resource: &str, group: &str) -> (ConfigRef, Value) {
    let of = ConfigType {
        group: group.into(),
        resource: resource.into(),
    };
    let config = ConfigRef {
        of,
        namespace: "ns".into(),
        name: "a".into(),
    };
    let version = if group.is_empty() {
        "v1".to_owned()
    } else {
        format!("{group}/v1")
    };
    let object = json!({"apiVersion": version, "kind": kind,
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "5", "generation": 2}});
    (config, object)
}

fn hash_of(hub: &Hub, config: &ConfigRef) -> ObservedConfig {
    match &hub.answers()[config] {
        ConfigLookup::Exists(seen) => seen.clone(),
        absent @ ConfigLookup::Absent(_) => panic!("{absent:?}"),
    }
}

#[test]
fn a_changed_configuration_of_any_kind_counts_and_an_unchanged_one_does_not() {
    for (kind, resource, group, field) in [
        ("ConfigMap", "configmaps", "", "data"),
        ("Proxy", "proxies", "example.com", "spec"),
    ] {
        let (config, mut live) = foreign(kind, resource, group);
        live[field] = json!({"a": "1"});
        let mut hub = Hub::default();
        let seen = ObservedConfig::of(&live);
        hub.answer(config.clone(), ConfigLookup::Exists(seen.clone()));
        let mut file = live.clone();
        file["metadata"] = json!({"name": "a", "namespace": "ns"});
        hub.apply(file.clone());
        assert_eq!(hash_of(&hub, &config), seen, "{kind}: nothing has changed");
        file[field] = json!({"a": "2"});
        hub.apply(file.clone());
        let now = hash_of(&hub, &config);
        assert_ne!(now.hash, seen.hash, "{kind}");
        assert_eq!((now.uid, now.generation), (seen.uid, 3), "{kind}");
        file["metadata"]["namespace"] = json!("other");
        file[field] = json!({"a": "3"});
        hub.apply(file);
        assert_eq!(hash_of(&hub, &config).hash, now.hash, "another object");
    }
}

#[test]
fn a_configuration_of_a_custom_kind_gets_the_defaults_of_the_hubs_definition() {
    let (config, mut live) = foreign("Datum", "data", "example.com");
    live["spec"] = json!({"size": 3, "mode": "fast"});
    let properties = json!({"size": {"type": "integer"}, "mode": {"type": "string", "default": "fast"}});
    let schema =
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
    let crd = json!({"spec": {"group": "example.com", "names": {"kind": "Datum", "plural": "data"},
        "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}]}});
    let mut hub = Hub::default();
    hub.define(Definition::of(&crd).expect("a definition"));
    let seen = ObservedConfig::of(&live);
    hub.answer(config.clone(), ConfigLookup::Exists(seen.clone()));
    let mut file = live.clone();
    file["spec"] = json!({"size": 3, "unknown": true});
    hub.apply(file.clone());
    assert_eq!(hash_of(&hub, &config), seen);
    file["spec"]["size"] = json!(4);
    hub.apply(file);
    assert_ne!(hash_of(&hub, &config).hash, seen.hash);
}

#[test]
fn an_add_on_keeps_the_namespace_that_the_file_leaves_out() {
    let manifest = |version: &str| {
        json!({"apiVersion": format!("addon.open-cluster-management.io/{version}"), "kind": "ManagedClusterAddOn",
            "metadata": {"name": "a", "namespace": "c1"}, "spec": {}})
    };
    for version in ["v1alpha1", "v1beta1"] {
        let mut live = manifest("v1alpha1");
        live["spec"]["installNamespace"] = json!("given");
        let mut hub = Hub::default();
        hub.put(live);
        let before = specs(&hub);
        hub.apply(manifest(version));
        assert_eq!(specs(&hub), before, "{version}");
        let key = ObjectKey::new(Kind::Instance, "c1", "new");
        let mut new = manifest(version);
        new["metadata"]["name"] = json!("new");
        hub.apply(new);
        let namespace = &hub.object(&key).expect("it is there")["spec"]["installNamespace"];
        assert_eq!(namespace, "open-cluster-management-agent-addon", "{version}");
    }
}
