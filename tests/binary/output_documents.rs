//! Documents for programs: the published JSON Schema describes what each command prints, and nothing is printed that it does not list.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::rig::{Dev, condition, repository, run};

/// Every object that the schema describes has the listed fields and no others.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && fields.get("type") == Some(&json!("object")) {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            fields.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn published() -> Value {
    let path = repository("docs/reference/output.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema is published");
    serde_json::from_str(&text).expect("JSON")
}

fn kinds(schema: &Value) -> BTreeSet<String> {
    let kinds = schema["properties"]["kind"]["enum"].as_array().expect("kinds");
    kinds
        .iter()
        .filter_map(|kind| Some(kind.as_str()?.to_owned()))
        .collect()
}

/// Returns the kind of the document that a command prints, which fits the schema.
fn printed(validator: &Validator, args: &[&str]) -> String {
    let ran = run(args);
    let document: Value = match serde_json::from_str(&ran.stdout) {
        Ok(document) => document,
        Err(error) => unreachable!("{args:?}: {error}: {}{}", ran.stdout, ran.stderr),
    };
    let faults: Vec<String> = validator
        .iter_errors(&document)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert_eq!(faults, Vec::<String>::new(), "{args:?}: {document:#}");
    document["kind"].as_str().expect("a kind").to_owned()
}

const UPGRADE: &str = "apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: to-4-12, namespace: default}
spec:
  clusterVersion: {channel: stable-4.12, version: 4.12.0}
  clusterSelector: {matchLabels: {no: cluster}}
";

#[test]
fn every_command_prints_what_the_schema_describes() {
    let mut schema = published();
    let all = kinds(&schema);
    strict(&mut schema["$defs"]);
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let dev = Dev::start(&["--clusters", "2"]);
    let kubeconfig = dev.kubeconfig.to_string_lossy().into_owned();
    let begun = Instant::now();
    while !run(&[
        "rollout",
        "history",
        "helloworld",
        "--revision",
        "1",
        "--kubeconfig",
        &kubeconfig,
    ])
    .ok
    {
        assert!(begun.elapsed() < Duration::from_mins(1), "a revision is kept");
        sleep(Duration::from_millis(100));
    }
    dev.succeed(&[
        "annotate",
        "managedcluster",
        "cluster2",
        "simulated-cluster/faults=offline",
    ]);
    dev.until("it is offline", &["managedcluster", "cluster2"], |cluster| {
        condition(cluster, "ManagedClusterConditionAvailable")
            .is_some_and(|available| available["status"] == "Unknown")
    });
    let applied = dev.apply(UPGRADE);
    assert!(applied.ok, "{}", applied.stderr);
    let on_hub: [&[&str]; 15] = [
        &["rollout", "status", "helloworld"],
        &["rollout", "status", "mcu/to-4-12"],
        &["rollout", "status", "helloworld", "mcu/to-4-12"],
        &["rollout", "list"],
        &["rollout", "history", "helloworld"],
        &["rollout", "history", "helloworld", "--revision", "1"],
        &["why", "helloworld"],
        &["why", "mcu/to-4-12"],
        &["why", "helloworld", "mcu/to-4-12"],
        &["why", "--cluster", "cluster2"],
        &["plan", "--live", "--diff"],
        &["plan", "--live", "--take-over"],
        &["render", "helloworld", "--live", "--cluster", "cluster1"],
        &["doctor"],
        &["definitions", "plan"],
    ];
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for args in on_hub {
        let flags = ["--kubeconfig", &kubeconfig, "-o", "json"];
        seen.insert(printed(&validator, &[args, &flags].concat()));
    }
    let policies = repository("policies").to_string_lossy().into_owned();
    let test = repository("policies/config-must-exist.test.yaml")
        .to_string_lossy()
        .into_owned();
    let wrong = repository("manifests/examples/wrong")
        .to_string_lossy()
        .into_owned();
    let elsewhere: [&[&str]; 5] = [
        &["check", &wrong, "-o", "json"],
        &["policy", "lint", &policies, "-o", "json"],
        &["policy", "test", &test, "-o", "json"],
        &["policy", "test", &test, "--mutate", "-o", "json"],
        &["version", "--client", "-o", "json"],
    ];
    for args in elsewhere {
        seen.insert(printed(&validator, args));
    }
    seen.insert(printed(
        &validator,
        &["version", "--kubeconfig", &kubeconfig, "-o", "json"],
    ));
    let flags = ["--kubeconfig", &kubeconfig, "-o"];
    let template = "jsonpath={range .items[*]}{.target.name}{\"\\t\"}{.counts.total}{\"\\n\"}{end}";
    let selected = run(&[&["rollout", "list", "helloworld"], &flags[..], &[template]].concat());
    assert_eq!(selected.stdout, "helloworld\t2\n", "{}", selected.stderr);
    let unknown = run(&[&["rollout", "list"], &flags[..], &["go-template"]].concat());
    let formats = "[possible values: text, wide, name, json, yaml, jsonpath=TEMPLATE]";
    assert!(unknown.stderr.contains(formats), "{}", unknown.stderr);
    let wrong = run(&[&["why", "helloworld"], &flags[..], &["jsonpath={.items"]].concat());
    assert!(wrong.stderr.contains("a brace is not closed"), "{}", wrong.stderr);
    assert_eq!(wrong.code, Some(2));
    assert_eq!(seen, all, "every kind is printed by a command of this test");
}

#[test]
fn the_page_about_documents_lists_every_kind() {
    let page = std::fs::read_to_string(repository("docs/reference/output.md")).expect("the page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = rows
        .filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
        .filter(|kind| kind != "kind")
        .collect();
    assert_eq!(listed, kinds(&published()));
}
