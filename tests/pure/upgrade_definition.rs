//! The CRD of ManagedClustersUpgrade against the proposal: every field of its example is kept, and the requirements for the kind are met.

use serde_json::{Value, json};

use crate::kit::manifests::repository;
use crate::pure::manifests_fit::unfit;

fn example() -> Value {
    let text = std::fs::read_to_string(repository("tests/data/upgrades/example.yaml")).expect("the example");
    serde_saphyr::from_str(&text).expect("YAML")
}

fn definition() -> Value {
    let mut all = api::crds().into_iter();
    let ours = all.find(|crd| crd.spec.names.plural == "managedclustersupgrades");
    serde_json::to_value(ours.expect("it is made")).expect("plain data")
}

#[test]
fn every_field_of_the_proposals_example_walks_through() {
    assert_eq!(unfit(&example()), Vec::<String>::new());
    for place in ["/spec/clusterVersion/channle", "/status/canaryClustersSummary"] {
        let mut wrong = example();
        let (parent, name) = place.rsplit_once('/').expect("a place");
        wrong.pointer_mut(parent).expect("it is there")[name] = json!({});
        let found = unfit(&wrong);
        assert!(
            found.iter().any(|fault| fault.contains(name)),
            "{place}: {found:?}"
        );
    }
}

#[test]
fn what_we_add_walks_through_as_well() {
    let mut object = example();
    object["spec"]["suspend"] = json!(true);
    object["spec"]["preview"] = json!(false);
    object["spec"]["ocpOperators"]["approverImage"] = json!("registry.example.com/oc:v1");
    object["spec"]["preUpgradeAction"]["timeout"] = json!("1h");
    object["spec"]["upgradeStrategy"]["maxConcurrency"] = json!("25%");
    object["spec"]["upgradeStrategy"]["maxFailures"] = json!(3);
    object["spec"]["upgradeStrategy"]["window"] =
        json!({"cron": "0 2 * * 0", "duration": "4h", "timeZone": "Europe/Paris"});
    object["spec"]["clusterSelector"]["matchLabels"] = json!({"env": "dev"});
    object["status"]["observedGeneration"] = json!(3);
    object["status"]["stateCounts"] =
        json!({"notStarted": 1, "initialized": 1, "partial": 1, "complete": 1, "failed": 0});
    object["status"]["clusters"] =
        json!([{"name": "dev1", "state": "Complete", "phase": "Done", "startedAt": "2022-06-02T15:20:08Z"}]);
    assert_eq!(unfit(&object), Vec::<String>::new());
}

#[test]
fn the_kind_is_what_the_proposal_says_with_the_columns_that_people_look_for() {
    let crd = definition();
    assert_eq!(crd["spec"]["group"], "cluster.open-cluster-management.io");
    assert_eq!(crd["spec"]["scope"], "Namespaced");
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["mcu"]));
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["name"], "v1beta1");
    assert_eq!(version["subresources"]["status"], json!({}));
    let columns = version["additionalPrinterColumns"].as_array().expect("columns");
    let names: Vec<&str> = columns.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "Version", "Selected", "Complete", "Failed", "Pending", "Phase", "Age"
        ]
    );
    let summaries = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"].clone();
    for name in [
        "preUpgradeActionSummary",
        "canaryClustersSummery",
        "clustersSummery",
        "postUpgradeActionSummary",
    ] {
        assert!(summaries[name].is_object(), "{name}");
    }
}

/// A hub of Open Cluster Management has no definition of this name, so that ours takes nothing from it.
#[test]
fn the_definition_is_one_of_ours_although_its_group_is_not() {
    let mut all = api::crds().into_iter();
    let crd = all.find(|crd| crd.spec.names.kind == "ManagedClustersUpgrade");
    assert!(api::is_ours(&crd.expect("it is made")));
    let theirs = std::fs::read_dir(repository("tests/data/ocm-crds")).expect("their definitions");
    for file in theirs.flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        assert!(
            !text.contains("managedclustersupgrades"),
            "{}",
            file.path().display()
        );
    }
}
