//! Checks that our CRDs are a superset of Open Cluster Management's (`tests/data/ocm-crds/`, without descriptions).
//!
//! Ours may add kinds, properties, enum values, columns and short names. Everything else must be the same: an additional rule
//! would reject what upstream accepts, an additional default would change the meaning of an object.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use api::{self, Converter, serve_v1beta1};
use serde_json::Value;

use crate::kit::manifests::{documents, repository};

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
        compared += 1;
        match ours.get(&name) {
            Some(ours) => faults.extend(differences(&theirs, ours)),
            None => faults.push(format!("{name}: we have no such kind")),
        }
    }
    assert_eq!(compared, 11, "every kind of upstream is compared");
    assert!(
        faults.is_empty(),
        "{} differences:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Damages to our definition of `ClusterManagementAddOn`, and a part of what has to be said about each.
/// `SPEC`, `STRATEGY`, `ITEM`, `ALL` stand for pointers into its schema.
const DAMAGES: &str = r#"
remove SPEC/addOnMeta/properties/description => addOnMeta.description: is missing
set SPEC/addOnMeta/type "string" => addOnMeta: type is "string", not "object"
remove STRATEGY/type/default => installStrategy.type: default is absent, not "Manual"
set ITEM/name/default "x" => placements[].name: default is "x", not absent
set ITEM/rolloutStrategy/properties/type/enum ["All"] => enum lacks "Progressive", "ProgressivePerGroup"
set ITEM/name/enum ["a"] => placements[].name: enum is new
set ALL/progressDeadline/pattern "^x$" => progressDeadline: pattern is "^x$"
remove ALL/maxFailures/x-kubernetes-int-or-string => maxFailures: x-kubernetes-int-or-string is absent
remove ALL/maxFailures/anyOf => maxFailures: anyOf is absent
set STRATEGY/placements/x-kubernetes-list-map-keys ["name"] => x-kubernetes-list-map-keys is ["name"]
remove STRATEGY/placements/x-kubernetes-list-type => x-kubernetes-list-type is absent
remove STRATEGY/placements/items => placements[]: is missing
set STRATEGY/placements/items/required ["name", "namespace", "configs"] => required is
remove ITEM/name/minLength => name: minLength is absent
set SPEC/addOnConfiguration/properties/lastObservedGeneration/format "int32" => format is "int32"
set SPEC/addOnMeta/x-kubernetes-preserve-unknown-fields true => preserve-unknown-fields is true
set SPEC/addOnMeta/additionalProperties {"type": "string"} => addOnMeta{}: is new
set ITEM/rolloutStrategy/nullable true => rolloutStrategy: nullable is true
set ITEM/name/x-kubernetes-validations [{"rule": "true"}] => x-kubernetes-validations is
set /spec/versions/0/additionalPrinterColumns [] => columns begin with []
remove /spec/versions/0/subresources/status => subresource status is missing
set /spec/names/shortNames ["cma"] => short name cmas is missing
remove /spec/names/listKind => listKind is absent
set /spec/scope "Namespaced" => scope is "Namespaced"
set /spec/versions/0/storage false => v1alpha1: storage is false
set /spec/versions/0/served false => v1alpha1: served is false
set /spec/versions/0/name "v1" => version v1alpha1 is missing
"#;

#[test]
fn every_damage_is_found() {
    let theirs = upstream()
        .remove("clustermanagementaddons")
        .expect("the data has this kind");
    let ours = ours()
        .remove("clustermanagementaddons")
        .expect("we have this kind");
    assert_eq!(differences(&theirs, &ours), Vec::<String>::new());
    for row in DAMAGES.lines().filter(|row| !row.is_empty()) {
        let (damage, expected) = row
            .split_once(" => ")
            .expect("a damage and what is said about it");
        let found = differences(&theirs, &damaged(&ours, damage));
        assert!(
            found.iter().any(|line| line.contains(expected)),
            "{damage}: found {found:?}"
        );
    }
}

/// Returns a copy of a definition with one damage: `remove <pointer>` or `set <pointer> <JSON>`.
fn damaged(crd: &Value, damage: &str) -> Value {
    let mut words = damage.splitn(3, ' ');
    let (act, pointer, value) = (words.next(), words.next().expect("a pointer"), words.next());
    let pointer = pointer
        .replace("ALL", "ITEM/rolloutStrategy/properties/all/properties")
        .replace("ITEM", "STRATEGY/placements/items/properties")
        .replace("STRATEGY", "SPEC/installStrategy/properties")
        .replace(
            "SPEC",
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties",
        );
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a last part");
    let mut copy = crd.clone();
    let target = copy
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("the damaged place is there");
    if act == Some("remove") {
        target.remove(key).expect("the damaged key is there");
    } else {
        let value = serde_json::from_str(value.expect("a value")).expect("the value is JSON");
        target.insert(key.to_owned(), value);
    }
    copy
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

/// The only default that is ours: the reason of a status that was not written yet. It is equivalent to upstream's missing status.
fn is_unseen(key: &str, theirs: &Value, ours: &Value) -> bool {
    let unseen = serde_json::json!({"observedGeneration": -1});
    key == "default" && theirs.get(key).is_none() && ours[key] == unseen
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
        .filter(|key| !is_unseen(key, theirs, ours))
    {
        equal(found, path, key, theirs.get(key), ours.get(key));
    }
    match (theirs.get("enum"), ours.get("enum")) {
        (None, Some(_)) => found.push(format!("{path}: enum is new")),
        (Some(_) | None, None) => {}
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

/// On a hub with upstream's definitions server-side apply refuses a field that only ours have, and client-side apply drops it.
#[test]
fn the_examples_have_only_fields_that_upstream_has() {
    let upstream = upstream();
    let definition = |object: &Value| {
        let mut all = upstream.values();
        all.find(|crd| crd["spec"]["names"]["kind"] == object["kind"])
    };
    let mut checked = 0;
    let gitops = ["clusters", "content", "addon", "cluster1"]
        .map(|file| format!("manifests/gitops/example/{file}.yaml"));
    let examples = fs::read_dir(repository("manifests/examples")).expect("the examples");
    let examples = examples.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    let examples = examples
        .filter(|name| {
            std::path::Path::new(name)
                .extension()
                .is_some_and(|end| end == "yaml")
        })
        .map(|name| format!("manifests/examples/{name}"));
    for file in gitops.into_iter().chain(examples) {
        for mut object in documents(&file) {
            let Some(crd) = definition(&object) else { continue };
            let (_, version) = object["apiVersion"]
                .as_str()
                .expect("a version")
                .split_once('/')
                .expect("a group");
            let served = list(&crd["spec"]["versions"])
                .iter()
                .find(|one| one["name"] == version);
            let schema = &served.expect("the version is served")["schema"]["openAPIV3Schema"];
            let schema = schema::Schema::parse(schema).expect("a schema");
            assert_eq!(schema.prune(&mut object), [""; 0], "{file}: {}", object["kind"]);
            checked += 1;
        }
    }
    assert_eq!(checked, 11, "every object of the kinds of upstream is checked");
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
    let folder = repository("tests/data/ocm-crds");
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
        .map(|mut crd| {
            let converter = Converter {
                url: "https://127.0.0.1/convert-served",
                ca_pem: "",
            };
            serve_v1beta1(&mut crd, &converter);
            (
                crd.spec.names.plural.clone(),
                serde_json::to_value(crd).expect("plain data"),
            )
        })
        .collect()
}
