//! Proves that our definitions are a superset of Open Cluster Management's (`tests/data/ocm-crds/`, without prose).
//!
//! Ours may add kinds, properties, enum values, columns and short names. Everything else must be the same: a rule that
//! we add would refuse what upstream accepts, a default that we add would change what an object means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tidegate::api;

/// A kind of upstream that Tidegate neither reads nor writes.
const NOT_OURS: &[&str] = &["manifestworkreplicasets"];
/// A version of upstream that is not served yet: its objects need the conversion between both.
const NOT_SERVED: &str = "v1beta1";
/// The group whose kinds have that version.
const CONVERTED_GROUP: &str = "addon.open-cluster-management.io";

/// Keys of a schema that have a comparison of their own. Prose is free.
const OWN_COMPARISON: &[&str] = &[
    "description",
    "properties",
    "items",
    "additionalProperties",
    "enum",
];

#[test]
fn our_definitions_accept_and_mean_what_upstreams_do() {
    let ours = ours();
    let mut faults = Vec::new();
    let mut compared = 0;
    for (name, theirs) in upstream() {
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        compared += 1;
        match ours.get(&name) {
            Some(ours) => faults.extend(differences(&theirs, ours)),
            None => faults.push(format!("{name}: we have no such kind")),
        }
    }
    assert_eq!(compared, 10, "every kind of upstream that we use is compared");
    assert!(
        faults.is_empty(),
        "{} differences:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn every_damage_is_found() {
    let theirs = upstream()
        .remove("clustermanagementaddons")
        .expect("the data has this kind");
    let ours = ours()
        .remove("clustermanagementaddons")
        .expect("we have this kind");
    assert_eq!(differences(&theirs, &ours), Vec::<String>::new());

    let schema = "/spec/versions/0/schema/openAPIV3Schema";
    let spec = &format!("{schema}/properties/spec/properties");
    let install = &format!("{spec}/installStrategy/properties");
    let item = &format!("{install}/placements/items/properties");
    let rollout = &format!("{item}/rolloutStrategy/properties");
    let rows: &[(&str, &str, Damage, &str)] = &[
        (
            "property",
            &format!("{spec}/addOnMeta/properties"),
            Damage::Remove("description"),
            "addOnMeta.description: is missing",
        ),
        (
            "type",
            &format!("{spec}/addOnMeta"),
            Damage::Set("type", json!("string")),
            "addOnMeta: type is \"string\", not \"object\"",
        ),
        (
            "default",
            install,
            Damage::Nested("type", "default"),
            "installStrategy.type: default is absent",
        ),
        (
            "new default",
            &format!("{item}/name"),
            Damage::Set("default", json!("x")),
            "placements[].name: default is \"x\", not absent",
        ),
        (
            "enum",
            &format!("{rollout}/type"),
            Damage::Set("enum", json!(["All"])),
            "lacks \"Progressive\", \"ProgressivePerGroup\"",
        ),
        (
            "new enum",
            &format!("{item}/name"),
            Damage::Set("enum", json!(["a"])),
            "placements[].name: enum is new",
        ),
        (
            "pattern",
            &format!("{rollout}/all/properties/progressDeadline"),
            Damage::Set("pattern", json!("^x$")),
            "progressDeadline: pattern is",
        ),
        (
            "int-or-string",
            &format!("{rollout}/all/properties/maxFailures"),
            Damage::Remove("x-kubernetes-int-or-string"),
            "x-kubernetes-int-or-string is absent",
        ),
        (
            "list keys",
            &format!("{install}/placements"),
            Damage::Set("x-kubernetes-list-map-keys", json!(["name"])),
            "x-kubernetes-list-map-keys is",
        ),
        (
            "required",
            &format!("{install}/placements/items"),
            Damage::Set("required", json!(["name", "namespace", "configs"])),
            "required is",
        ),
        (
            "bound",
            &format!("{item}/name"),
            Damage::Remove("minLength"),
            "minLength is absent",
        ),
        (
            "preserve",
            &format!("{spec}/addOnMeta"),
            Damage::Set("x-kubernetes-preserve-unknown-fields", json!(true)),
            "preserve-unknown-fields is true",
        ),
        (
            "null",
            &format!("{item}/rolloutStrategy"),
            Damage::Set("nullable", json!(true)),
            "rolloutStrategy: nullable is true",
        ),
        (
            "column",
            "/spec/versions/0",
            Damage::Set("additionalPrinterColumns", json!([])),
            "columns begin with",
        ),
        (
            "subresource",
            "/spec/versions/0/subresources",
            Damage::Remove("status"),
            "subresource status is missing",
        ),
        (
            "short name",
            "/spec/names",
            Damage::Set("shortNames", json!(["cma"])),
            "short name cmas is missing",
        ),
        (
            "list kind",
            "/spec/names",
            Damage::Remove("listKind"),
            "listKind is absent",
        ),
        (
            "scope",
            "/spec",
            Damage::Set("scope", json!("Namespaced")),
            "scope is \"Namespaced\"",
        ),
        (
            "storage",
            "/spec/versions/0",
            Damage::Set("storage", json!(false)),
            "v1alpha1: storage is false",
        ),
        (
            "version",
            "/spec/versions/0",
            Damage::Set("name", json!("v1")),
            "version v1alpha1 is missing",
        ),
    ];
    for (what, place, damage, expected) in rows {
        let mut damaged = ours.clone();
        damage.apply(&mut damaged, place);
        let found = differences(&theirs, &damaged);
        assert!(
            found.iter().any(|line| line.contains(expected)),
            "{what}: wanted {expected:?}, found {found:?}"
        );
    }
}

enum Damage {
    Remove(&'static str),
    Nested(&'static str, &'static str),
    Set(&'static str, Value),
}

impl Damage {
    fn apply(&self, crd: &mut Value, place: &str) {
        let target = crd
            .pointer_mut(place)
            .and_then(Value::as_object_mut)
            .expect("the damaged place is there");
        match self {
            Self::Remove(key) => {
                target.remove(*key).expect("the damaged key is there");
            }
            Self::Nested(child, key) => {
                let child = target[*child]
                    .as_object_mut()
                    .expect("the damaged child is an object");
                child.remove(*key).expect("the damaged key is there");
            }
            Self::Set(key, value) => {
                target.insert((*key).to_owned(), value.clone());
            }
        }
    }
}

fn differences(theirs: &Value, ours: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let (t, o) = (&theirs["spec"], &ours["spec"]);
    let kind = t["names"]["kind"].as_str().unwrap_or("?");
    for key in ["group", "scope"] {
        equal(&mut found, kind, key, t.get(key), o.get(key));
    }
    for key in ["kind", "listKind", "plural", "singular"] {
        equal(&mut found, kind, key, t["names"].get(key), o["names"].get(key));
    }
    for name in missing(&t["names"]["shortNames"], &o["names"]["shortNames"]) {
        found.push(format!(
            "{kind}: short name {} is missing",
            name.as_str().unwrap_or("?")
        ));
    }
    for version in list(&t["versions"]) {
        let name = version["name"].as_str().unwrap_or("?");
        match list(&o["versions"])
            .iter()
            .find(|candidate| candidate["name"] == version["name"])
        {
            Some(ours) => version_differences(&mut found, &format!("{kind} {name}"), version, ours),
            None if name == NOT_SERVED && t["group"] == CONVERTED_GROUP => {}
            None => found.push(format!("{kind}: version {name} is missing")),
        }
    }
    found
}

fn version_differences(found: &mut Vec<String>, path: &str, theirs: &Value, ours: &Value) {
    for key in ["served", "storage"] {
        equal(found, path, key, theirs.get(key), ours.get(key));
    }
    for name in theirs["subresources"]
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::keys)
    {
        if ours["subresources"].get(name).is_none() {
            found.push(format!("{path}: subresource {name} is missing"));
        }
    }
    let (columns, candidates) = (
        list(&theirs["additionalPrinterColumns"]),
        list(&ours["additionalPrinterColumns"]),
    );
    if !candidates.starts_with(columns) {
        found.push(format!(
            "{path}: columns begin with {candidates:?}, not {columns:?}"
        ));
    }
    let root = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    schema_differences(found, path, &root(theirs), &root(ours));
}

fn schema_differences(found: &mut Vec<String>, path: &str, theirs: &Value, ours: &Value) {
    let keys: BTreeSet<&String> = [theirs, ours]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys)
        .collect();
    for key in keys
        .into_iter()
        .filter(|key| !OWN_COMPARISON.contains(&key.as_str()))
    {
        equal(found, path, key, theirs.get(key), ours.get(key));
    }
    match (theirs.get("enum"), ours.get("enum")) {
        (None, Some(_)) => found.push(format!("{path}: enum is new")),
        (Some(_), None) | (None, None) => {}
        (Some(theirs), Some(ours)) => {
            let lost: Vec<String> = missing(theirs, ours).into_iter().map(Value::to_string).collect();
            if !lost.is_empty() {
                found.push(format!("{path}: enum lacks {}", lost.join(", ")));
            }
        }
    }
    for (name, theirs) in theirs["properties"].as_object().into_iter().flatten() {
        let inner = format!("{path}.{name}");
        match ours["properties"].get(name) {
            Some(ours) => schema_differences(found, &inner, theirs, ours),
            None => found.push(format!("{inner}: is missing")),
        }
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        let inner = format!("{path}{mark}");
        match (theirs.get(key), ours.get(key)) {
            (Some(theirs), Some(ours)) => schema_differences(found, &inner, theirs, ours),
            (None, None) => {}
            (Some(_), None) => found.push(format!("{inner}: is missing")),
            (None, Some(_)) => found.push(format!("{inner}: is new")),
        }
    }
}

/// Compares two values of a key. Absent is `false` for flags, lists of names have no order, `0` is `0.0`.
fn equal(found: &mut Vec<String>, path: &str, key: &str, theirs: Option<&Value>, ours: Option<&Value>) {
    if canonical(key, theirs) != canonical(key, ours) {
        let show = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
        found.push(format!("{path}: {key} is {}, not {}", show(ours), show(theirs)));
    }
}

fn canonical(key: &str, value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Bool(false) if key != "default" => None,
        Value::Number(number) => Some(number.as_f64()?.to_string()),
        Value::Array(names) if key == "required" => {
            let sorted: BTreeSet<String> = names.iter().map(Value::to_string).collect();
            Some(format!("{sorted:?}"))
        }
        other => Some(other.to_string()),
    }
}

fn missing<'a>(theirs: &'a Value, ours: &Value) -> Vec<&'a Value> {
    list(theirs)
        .iter()
        .filter(|value| !list(ours).contains(value))
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn upstream() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ocm-crds");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the data is there") {
        let path = entry.expect("the entry is readable").path();
        let text = fs::read_to_string(&path).expect("the file is readable");
        let crd: Value = serde_saphyr::from_str(&text).expect("the file is YAML");
        let name = crd["spec"]["names"]["plural"]
            .as_str()
            .expect("a definition has a plural")
            .to_owned();
        found.insert(name, crd);
    }
    assert_eq!(found.len(), 11, "the data holds eleven kinds");
    found
}

fn ours() -> BTreeMap<String, Value> {
    api::crds()
        .into_iter()
        .map(|crd| {
            (
                crd.spec.names.plural.clone(),
                serde_json::to_value(crd).expect("plain data"),
            )
        })
        .collect()
}
