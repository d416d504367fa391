//! The JSON Schemas for editors: valid examples of the repository match them, and typical typos do not.

use std::path::Path;

use serde_json::{Value, json};

fn everything() -> Value {
    let all = api::json_schemas().into_iter();
    let mut all = all.filter(|(name, _)| name == api::EVERYTHING);
    all.next().expect("the last one").1
}

fn faults(schema: &jsonschema::Validator, document: &Value) -> Vec<String> {
    let each = schema.iter_errors(document);
    each.map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

fn documents(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        for part in text.split("\n---\n") {
            let document: Value = serde_saphyr::from_str(part).expect("YAML");
            all.push((path.display().to_string(), document));
        }
    }
    all
}

#[test]
fn examples_and_policies_fit() {
    let schema = jsonschema::draft7::new(&everything()).expect("a schema");
    let mut seen = 0;
    for (file, document) in documents("manifests/examples")
        .into_iter()
        .chain(documents("policies"))
    {
        assert_eq!(faults(&schema, &document), Vec::<String>::new(), "{file}");
        seen += 1;
    }
    assert!(seen > 10, "{seen} documents");
}

#[test]
fn a_typo_is_reported_at_its_position_and_other_kinds_are_accepted() {
    let schema = jsonschema::draft7::new(&everything()).expect("a schema");
    let addon = |spec: Value| {
        json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
            "metadata": {"name": "a", "labels": {"any": "thing"}}, "spec": spec})
    };
    let strategy = |strategy: Value| {
        let placement = json!({"name": "p", "namespace": "n", "rolloutStrategy": strategy});
        addon(json!({"installStrategy": {"type": "Placements", "placements": [placement]}}))
    };
    let rows = [
        (addon(json!({"instalStrategy": {}})), "/spec"),
        (
            addon(json!({"installStrategy": {"type": "Manually"}})),
            "/spec/installStrategy/type",
        ),
        (
            strategy(json!({"type": "Progressive", "progressive": {"maxConcurrency": true}})),
            "/spec/installStrategy/placements/0/rolloutStrategy/progressive/maxConcurrency",
        ),
        (
            addon(json!({"supportedConfigs": [{"group": "g"}]})),
            "/spec/supportedConfigs/0",
        ),
    ];
    for (document, place) in rows {
        let told = faults(&schema, &document);
        assert!(
            told.iter().any(|fault| fault.starts_with(&format!("{place}: "))),
            "{place}: {told:?}"
        );
    }
    let right = strategy(
        json!({"type": "Progressive", "progressive": {"maxConcurrency": "30%", "minSuccessTime": "5m"}}),
    );
    assert_eq!(faults(&schema, &right), Vec::<String>::new());
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": 7});
    assert_eq!(faults(&schema, &other), Vec::<String>::new());
}
