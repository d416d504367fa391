//! The works against the manifests of the proposal: everything that it shows is there, in its order, and what it lacks stands beside it.
//!
//! Says nothing about when a work is written.

use std::time::Duration;

use serde_json::{Value, json};

use super::{APPROVER, Platform, WorkMark, action, operators, platform};
use model::upgrade::{Operators, Target};
use store::upgrade::Mode;
use store::upgrade::marks::{self, Stage};

const MARK: WorkMark<'static> = WorkMark {
    namespace: "default",
    name: "mcu-upgrades",
    uid: "1a-2b",
    run: "r-1",
};
const ID: &str = "94e170c1-7a3c-4ae1-a85d-8bd904ad783f";

/// Returns what `whole` lacks of `part`: the items of a list must be there in the same order.
fn lacking(part: &Value, whole: &Value, path: &str) -> Vec<String> {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            let each = part.iter().flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                whole.get(key).map_or_else(
                    || vec![format!("{path} is missing")],
                    |found| lacking(value, found, &path),
                )
            });
            each.collect()
        }
        (Value::Array(part), Value::Array(whole)) => {
            let mut rest = whole.iter();
            let mut faults = Vec::new();
            for (at, item) in part.iter().enumerate() {
                let path = format!("{path}[{at}]");
                if !rest.any(|found| lacking(item, found, &path).is_empty()) {
                    faults.push(format!("{path} is missing: {item}"));
                }
            }
            faults
        }
        _ if part == whole => Vec::new(),
        _ => vec![format!("{path}: {whole} instead of {part}")],
    }
}

fn target(raw: Value) -> Target {
    let raw = serde_json::from_value(raw).expect("a version");
    Target::parse(&raw, &kubernetes::field::Path::root()).expect("a target")
}

fn example() -> Target {
    target(json!({"channel": "stable-4.12", "version": "4.12.0", "upstream": "", "image": ""}))
}

fn of(target: &Target) -> Platform<'_> {
    Platform {
        id: ID,
        target,
        pools: &[],
    }
}

fn approving(raw: Value) -> Value {
    let raw = serde_json::from_value(raw).expect("operators");
    let wanted = Operators::parse(&raw, &kubernetes::field::Path::root())
        .expect("operators")
        .expect("some");
    operators(&MARK, "spoke1", &wanted, Duration::from_mins(10))
}

fn example_operators() -> Value {
    approving(json!({"include": [{"name": "openshift-gitops-operator", "namespace": "openshift-operators"}]}))
}

fn seed(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("YAML")
}

#[test]
fn the_work_of_a_cluster_has_all_that_the_proposal_shows() {
    let work = platform(&MARK, "spoke1", &of(&example()), Mode::Apply);
    let faults = lacking(&seed(include_str!("seed_platform.yaml")), &work, "");
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_work_of_operators_has_all_that_the_proposal_shows() {
    let faults = lacking(
        &seed(include_str!("seed_operators.yaml")),
        &example_operators(),
        "",
    );
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn what_is_missing_or_out_of_order_is_found() {
    let whole = json!({"a": [1, 2], "b": {"c": "d", "e": "f"}});
    assert!(lacking(&json!({"a": [2], "b": {"e": "f"}}), &whole, "").is_empty());
    for part in [
        json!({"a": [2, 1]}),
        json!({"b": {"x": 1}}),
        json!({"b": {"c": "x"}}),
    ] {
        assert_eq!(lacking(&part, &whole, "").len(), 1, "{part}");
    }
}

#[test]
fn the_cluster_version_outlives_the_work_and_keeps_what_others_wrote() {
    let work = platform(&MARK, "spoke1", &of(&example()), Mode::Apply);
    let rules = &work["spec"]["deleteOption"]["selectivelyOrphans"]["orphaningRules"];
    let config = &work["spec"]["manifestConfigs"][0];
    let identifier = &config["resourceIdentifier"];
    let works = rules
        .as_array()
        .expect("rules")
        .iter()
        .any(|rule| rule == identifier);
    assert!(works, "one rule names the object as agents do: {rules}");
    assert_eq!(config["updateStrategy"]["type"], "ServerSideApply");
    let spec = &work["spec"]["workload"]["manifests"][0]["spec"];
    assert!(spec.get("upstream").is_none(), "an empty address is none: {spec}");
}

#[test]
fn an_address_and_an_image_are_written_where_they_are_given() {
    let image = format!("quay.io/release@sha256:{}", "0a".repeat(32));
    let wanted = target(json!({"image": image, "upstream": "https://updates.example.com/graph"}));
    let spec = &platform(&MARK, "c", &of(&wanted), Mode::Apply)["spec"]["workload"]["manifests"][0]["spec"];
    assert_eq!(spec["upstream"], "https://updates.example.com/graph");
    assert_eq!(
        spec["desiredUpdate"],
        json!({"force": false, "image": image, "version": ""})
    );
    assert!(spec.get("channel").is_none());
}

#[test]
fn works_say_whose_they_are() {
    for (work, stage) in [
        (
            platform(&MARK, "spoke1", &of(&example()), Mode::Apply),
            "platform",
        ),
        (example_operators(), "operators"),
    ] {
        let labels = &work["metadata"]["labels"];
        assert_eq!(
            (&labels[marks::UID], &labels[marks::STAGE]),
            (&json!("1a-2b"), &json!(stage))
        );
        let annotations = &work["metadata"]["annotations"];
        assert_eq!(annotations[marks::OWNER], "default/mcu-upgrades");
        assert_eq!(annotations[marks::RUN], "r-1");
    }
}

#[test]
fn the_approver_may_approve_and_runs_the_script_that_is_tested() {
    let work = approving(
        json!({"approveAllUpgrades": true, "approverImage": "registry.example.com/oc:v1",
        "exclude": [{"name": "a", "namespace": "x"}, {"name": "b", "namespace": "y"}]}),
    );
    let pod = &work["spec"]["workload"]["manifests"][4]["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "installplan-approver");
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "registry.example.com/oc:v1");
    assert_eq!(container["command"][2], APPROVER);
    assert_eq!(
        container["env"][0],
        json!({"name": "EXCLUDELIST", "value": "a,x b,y"})
    );
    assert_eq!(container["env"][1]["value"], "");
}

#[test]
fn actions_that_run_are_asked_how_they_ended_and_users_rules_stay() {
    let raw = json!({
        "workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}},
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "b", "namespace": "n"}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c", "namespace": "n"}},
        ]},
        "manifestConfigs": [{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "n", "name": "b"},
            "conditionRules": [{"type": "CEL", "condition": "Degraded", "celExpressions": ["false"]}],
        }],
    });
    let wanted = serde_json::from_value(raw.clone()).expect("a work");
    let work = action(&MARK, Stage::Pre, "spoke1", &wanted);
    assert_eq!(work["metadata"]["name"], "mcu-upgrades-pre-upgrade");
    assert!(lacking(&raw, &work["spec"], "").is_empty(), "{work}");
    let configs = work["spec"]["manifestConfigs"].as_array().expect("configs");
    assert_eq!(configs.len(), 2, "{configs:?}");
    for config in configs {
        let rules = config["conditionRules"].as_array().expect("rules");
        let mut names: Vec<&str> = rules
            .iter()
            .filter_map(|rule| rule["condition"].as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["Complete", "Degraded", "Progressing"]);
    }
}

#[test]
fn a_work_that_was_rendered_reads_back() {
    let mark = WorkMark {
        namespace: "n",
        name: "mcu",
        uid: "u",
        run: "r-1",
    };
    let raw = serde_json::from_value(json!({"version": "4.12.0"})).expect("a version");
    let target = Target::parse(&raw, &kubernetes::field::Path::root()).expect("a target");
    let found = store::upgrade::Work::of(
        &serde_json::from_value(platform(&mark, "c", &of(&target), Mode::Apply)).expect("a work"),
    );
    assert_eq!(
        (found.owner.as_str(), found.owned_by.as_str(), found.run.as_str()),
        ("u", "n/mcu", "r-1")
    );
    assert_eq!(found.stage, Some(Stage::Platform));
    assert_eq!(found.target, ("4.12.0".to_owned(), String::new()));
    assert_eq!((found.mode, found.count), (store::upgrade::Mode::Apply, 2));
}
