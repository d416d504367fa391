//! Checks every manifest that we show (`manifests/examples/`) or were given (`tests/seeds/`) against CRDs and types:
//! it matches its schema, has no unknown field, and loses nothing when the Rust types decode and encode it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use api::{self, cluster, names, v1alpha1};
use serde_json::{Value, json};

/// How many manifests each seed contains, corrected or not; a missing one is a failure.
const PRINTED: [(&str, usize); 4] = [
    ("addon-configuration", 21),
    ("addon-install-strategy", 3),
    ("addon-lifecycle", 37),
    ("addon-management", 10),
];
/// Kinds of add-ons in the seeds, and kinds of Kubernetes in the examples; we have no type for them.
const FOREIGN: [(&str, &str); 3] = [
    (
        "proxy.open-cluster-management.io/v1alpha1",
        "ManagedProxyConfiguration",
    ),
    (
        "submarineraddon.open-cluster-management.io/v1alpha1",
        "SubmarinerConfig",
    ),
    ("v1", "Namespace"),
];

#[test]
fn index_and_folder_of_the_seeds_agree() {
    let index = table("tests/seeds/index.tsv");
    let faulty = table("tests/seeds/cannot-hold.tsv");
    let mut named = BTreeSet::new();
    for row in index.iter().chain(&faulty) {
        assert!(named.insert(row["file"].clone()), "{} stands twice", row["file"]);
        if let Some(status) = row.get("status").filter(|status| *status != "-") {
            named.insert(status.clone());
        }
    }
    assert_eq!(files("tests/seeds", "yaml"), named);
    for row in &index {
        assert!(
            ["accept", "warn", "refuse"].contains(&row["verdict"].as_str()),
            "{row:?}"
        );
        assert_eq!(
            row["file"].split('/').next(),
            Some(row["seed"].as_str()),
            "{row:?}"
        );
        for given in row["given"].split(',').filter(|given| *given != "-") {
            assert!(named.contains(given), "{}: {given} is not there", row["file"]);
        }
    }
}

#[test]
fn no_manifest_of_a_seed_is_lost() {
    let index = table("tests/seeds/index.tsv");
    for (seed, printed) in PRINTED {
        let rows = index
            .iter()
            .filter(|row| row["seed"] == seed && !row["note"].starts_with("derived"));
        assert_eq!(rows.count(), printed, "{seed}");
    }
}

#[test]
fn what_a_seed_shows_as_right_fits_definitions_and_types() {
    let mut faults = Vec::new();
    for row in table("tests/seeds/index.tsv")
        .iter()
        .filter(|row| row["verdict"] != "refuse")
    {
        let mut object = document(&row["file"]);
        if row["status"] != "-" {
            let part = document(&row["status"]);
            assert_eq!(
                part["metadata"]["name"], object["metadata"]["name"],
                "{}",
                row["status"]
            );
            object["status"] = part["status"].clone();
        }
        faults.extend(
            unfit(&object)
                .into_iter()
                .map(|fault| format!("{}: {fault}", row["file"])),
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_a_seed_calls_wrong_still_reads_as_an_object() {
    let rows: Vec<_> = table("tests/seeds/index.tsv")
        .into_iter()
        .filter(|row| row["verdict"] == "refuse")
        .collect();
    assert!(rows.len() >= 3, "the seeds call something wrong");
    for row in rows {
        api::through_type(&document(&row["file"])).unwrap_or_else(|fault| panic!("{}: {fault}", row["file"]));
    }
}

#[test]
fn impossible_manifests_fail_as_documented() {
    let index: BTreeSet<String> = table("tests/seeds/index.tsv")
        .into_iter()
        .map(|row| row["file"].clone())
        .collect();
    let rows = table("tests/seeds/cannot-hold.tsv");
    assert!(!rows.is_empty());
    for row in rows {
        let text = text(&format!("tests/seeds/{}", row["file"]));
        let parsed = serde_saphyr::from_str::<Value>(&text);
        match row["how"].as_str() {
            "yaml" => assert!(parsed.is_err(), "{}: this is YAML after all", row["file"]),
            "field" => {
                let found = unfit(&parsed.expect("YAML"));
                let wanted = format!("{}: unknown field", row["where"]);
                assert!(
                    found.contains(&wanted),
                    "{}: wanted {wanted:?}, found {found:?}",
                    row["file"]
                );
            }
            "type" => {
                let fault =
                    api::through_type(&parsed.expect("YAML")).expect_err("a wrong type does not decode");
                assert!(fault.contains("invalid type"), "{}: {fault}", row["file"]);
            }
            "kind" => {
                let wanted = format!("{} is not a kind that is known", row["where"]);
                assert_eq!(unfit(&parsed.expect("YAML")), [wanted], "{}", row["file"]);
            }
            other => panic!("{}: {other:?} is no way to fail", row["file"]),
        }
        for file in row["instead"].split(',') {
            assert!(
                index.contains(file),
                "{}: {file} is not in the index",
                row["file"]
            );
        }
    }
}

#[test]
fn the_hashes_on_the_works_of_the_seeds_can_be_read() {
    let mut read = 0;
    for row in table("tests/seeds/index.tsv") {
        let object = document(&row["file"]);
        for key in [
            names::annotations::CONFIG_SPEC_HASH_MIRROR,
            names::annotations::CONFIG_SPEC_HASH_ALTERNATIVE,
        ] {
            if let Some(text) = object["metadata"]["annotations"][key].as_str() {
                let hashes = api::hash::parse_config_spec_hash(text).expect("the annotation is readable");
                assert_eq!(hashes.len(), 2, "{}", row["file"]);
                assert!(
                    hashes
                        .values()
                        .all(|hash| hash.parse::<api::hash::SpecHash>().is_ok()),
                    "{}",
                    row["file"]
                );
                assert!(
                    hashes
                        .keys()
                        .any(|key| key.resource == "addonhubconfigs" && key.namespace.is_empty())
                );
                read += 1;
            }
        }
    }
    assert_eq!(read, 4);
}

#[test]
fn the_examples_fit_definitions_and_types() {
    let mut faults = Vec::new();
    let mut kinds = Vec::new();
    for file in files("manifests/examples", "yaml")
        .iter()
        .filter(|file| !file.starts_with("wrong/") && !file.starts_with("upgrade/"))
    {
        for object in documents(&format!("manifests/examples/{file}")) {
            kinds.push(object["kind"].as_str().unwrap_or("?").to_owned());
            faults.extend(unfit(&object).into_iter().map(|fault| format!("{file}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // kubectl applies the files of a folder in the order of their names.
    assert_eq!(
        kinds,
        [
            "Namespace",
            "ManagedClusterSet",
            "ManagedClusterSetBinding",
            "Placement",
            "AddOnTemplate",
            "AddOnDeploymentConfig",
            "ClusterManagementAddOn"
        ]
    );
}

#[test]
fn the_wrong_examples_are_wrong_in_meaning_not_in_shape() {
    let wrong = |file: &str| documents(&format!("manifests/examples/wrong/{file}")).remove(0);
    let place = "/spec/installStrategy/placements/0/rolloutStrategy/progressive/maxConcurrency";
    let faults = unfit(&wrong("01-rollout.yaml"));
    assert!(faults.len() == 1 && faults[0].starts_with(place), "{faults:?}");
    assert_eq!(unfit(&wrong("02-config-type.yaml")), Vec::<String>::new());
}

#[test]
fn unfit_objects_are_found() {
    let addon = |spec: Value| {
        json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
               "metadata": {"name": "a", "namespace": "c"}, "spec": spec})
    };
    let rows = [
        (addon(json!({"config": {}})), "spec.config: unknown field"),
        (
            addon(json!({"installNamespace": "Upper"})),
            "/spec/installNamespace",
        ),
        (addon(json!({"configs": [{"resource": "x"}]})), "/spec/configs/0"),
        (addon(json!({"desiredVersion": 1})), "invalid type"),
        (
            json!({"apiVersion": "x/v1", "kind": "ManagedClusterAddOn"}),
            "not a kind that is known",
        ),
        (
            json!({"apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "Placement"}),
            "not a kind that is known",
        ),
    ];
    for (object, expected) in rows {
        let found = unfit(&object);
        assert!(
            found.iter().any(|fault| fault.contains(expected)),
            "wanted {expected:?}, found {found:?}"
        );
    }
}

#[test]
fn a_full_object_of_every_kind_survives_the_types() {
    let mut faults = Vec::new();
    for (name, schema) in SCHEMAS.iter() {
        let (version, kind) = name.split_once(' ').expect("a version and a kind");
        let mut full = sample(schema);
        full["apiVersion"] = version.into();
        full["kind"] = kind.into();
        match api::through_type(&full) {
            Ok(again) => lost(&mut faults, kind, &full, &again),
            Err(fault) => faults.push(format!("{kind}: {fault}")),
        }
    }
    assert!(SCHEMAS.len() > 10, "the definitions are found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn null_and_absence_read_as_nothing() {
    let addon: v1alpha1::ManagedClusterAddOn = serde_json::from_value(json!({
        "metadata": {"name": "a"}, "spec": {"configs": null, "installNamespace": null, "desiredVersion": null}
    }))
    .expect("nulls decode");
    assert_eq!(addon.spec, v1alpha1::ManagedClusterAddOnSpec::default());
    assert_eq!(
        serde_json::to_value(&addon).expect("plain data")["spec"],
        json!({})
    );
    for object in [json!({"metadata": {}}), json!({"metadata": {}, "spec": null})] {
        let cluster: cluster::ManagedCluster =
            serde_json::from_value(object).expect("a missing spec decodes");
        assert_eq!(cluster.spec, cluster::ManagedClusterSpec::default());
    }
}

#[test]
fn numbers_that_a_user_may_get_wrong_are_kept_as_they_are() {
    for wrong in [
        json!(-1),
        json!("130%"),
        json!(99_999_999_999_i64),
        json!(1.5),
        json!(true),
        json!({"a": 1}),
    ] {
        let strategy: v1alpha1::RolloutProgressive =
            serde_json::from_value(json!({ "maxConcurrency": wrong })).expect("a wrong number decodes");
        assert_eq!(
            serde_json::to_value(&strategy).expect("plain data"),
            json!({ "maxConcurrency": wrong })
        );
    }
}

/// Our schemas by version and kind.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let mut schemas = BTreeMap::new();
    for crd in api::crds() {
        for version in &crd.spec.versions {
            let validation = version.schema.as_ref().expect("every version has a schema");
            let schema = serde_json::to_value(&validation.open_api_v3_schema).expect("plain data");
            schemas.insert(
                format!("{}/{} {}", crd.spec.group, version.name, crd.spec.names.kind),
                schema,
            );
        }
    }
    schemas
});

/// Returns what is wrong with an object; nothing for foreign kinds.
pub(crate) fn unfit(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap_or("?");
    let version = object["apiVersion"].as_str().unwrap_or("?");
    if FOREIGN.contains(&(version, kind)) {
        return Vec::new();
    }
    let Some(schema) = SCHEMAS.get(&format!("{version} {kind}")) else {
        return vec![format!("{version} {kind} is not a kind that is known")];
    };
    let validator = jsonschema::validator_for(schema).expect("our schemas compile");
    let mut faults: Vec<String> = validator
        .iter_errors(object)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    unknown_fields(&mut faults, "", object, schema);
    match api::through_type(object) {
        Ok(again) => lost(&mut faults, "", object, &again),
        Err(fault) => faults.push(fault),
    }
    faults.dedup();
    faults
}

fn unknown_fields(faults: &mut Vec<String>, path: &str, value: &Value, schema: &Value) {
    if schema["x-kubernetes-preserve-unknown-fields"] == true || path == "metadata" {
        return;
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        unknown_fields(faults, &format!("{path}[{index}]"), item, &schema["items"]);
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        match schema["properties"]
            .get(key)
            .or_else(|| schema.get("additionalProperties"))
        {
            Some(schema) => unknown_fields(faults, &path, inner, schema),
            None => faults.push(format!("{path}: unknown field")),
        }
    }
}

/// Adds what an object had and does not have after its way through the types.
fn lost(faults: &mut Vec<String>, path: &str, before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(_)) => {
            for (key, value) in before {
                match after.get(key) {
                    Some(again) => lost(faults, &format!("{path}.{key}"), value, again),
                    None => faults.push(format!("{path}.{key}: is lost")),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (value, again)) in before.iter().zip(after).enumerate() {
                lost(faults, &format!("{path}[{index}]"), value, again);
            }
        }
        _ if before == after => {}
        _ => faults.push(format!("{path}: {before} became {after}")),
    }
}

/// Returns a value with every property that a schema knows.
fn sample(schema: &Value) -> Value {
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("object"), _) => match schema.get("additionalProperties") {
            Some(inner) => json!({ "key": sample(inner) }),
            None => schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), sample(v)))
                .collect(),
        },
        (Some("array"), _) => json!([sample(&schema["items"])]),
        (Some("string"), Some("date-time")) => json!("2024-02-29T12:00:00Z"),
        (Some("string"), _) => json!("text"),
        (Some("boolean"), _) => json!(true),
        (Some("integer"), _) => json!(7),
        (other, _) => {
            assert_eq!(
                (other, schema["x-kubernetes-int-or-string"].as_bool()),
                (None, Some(true))
            );
            json!("25%")
        }
    }
}

fn document(file: &str) -> Value {
    let mut all = documents(&format!("tests/seeds/{file}"));
    assert_eq!(all.len(), 1, "{file}: one manifest per file");
    all.remove(0)
}

fn documents(file: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&text(file))
        .map_err(|fault| format!("{file}: {fault}"))
        .expect("YAML")
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file))
        .map_err(|fault| format!("{file}: {fault}"))
        .expect("readable")
}

fn table(file: &str) -> Vec<BTreeMap<String, String>> {
    let text = text(file);
    let mut lines = text
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().expect("a table has a header");
    lines
        .map(|cells| {
            assert_eq!(cells.len(), header.len(), "{file}: {cells:?}");
            header.iter().cloned().zip(cells).collect()
        })
        .collect()
}

/// Returns the files below a folder that end in an extension, relative to the folder.
fn files(folder: &str, extension: &str) -> BTreeSet<String> {
    fn walk(folder: &Path, prefix: &str, extension: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let entry = entry.expect("the entry is readable");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), extension, found);
            } else if name.ends_with(&format!(".{extension}")) {
                found.insert(name);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(&root().join(folder), "", extension, &mut found);
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
