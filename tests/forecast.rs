//! Forecasts on hubs in memory: which clusters move in which wave, who is held, and what `why` says of it.
//!
//! The planner is the real one; only agents and time are played.

use jiff::Timestamp;
use serde_json::{Value, json};
use tidegate::forecast::{Forecast, forecast, text};
use tidegate::offline::{Dump, Hub};
use tidegate::snapshot::{DiscoveryLabels, Kind, Settings};
use tidegate::why::{Unknown, why};

const ADDON: &str = "addon.open-cluster-management.io";
const CLUSTER: &str = "cluster.open-cluster-management.io";

fn settings() -> Settings {
    Settings {
        discovery_labels: DiscoveryLabels::Off,
        ..Settings::default()
    }
}

fn start() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().expect("a literal time")
}

fn config(greeting: &str) -> Value {
    json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"customizedVariables": [{"name": "GREETING", "value": greeting}]}})
}

fn cluster(name: &str, available: &str) -> Value {
    json!({"apiVersion": format!("{CLUSTER}/v1"), "kind": "ManagedCluster", "metadata": {"name": name},
        "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": available, "reason": "x",
            "message": "", "lastTransitionTime": "2029-01-01T00:00:00Z"}]}})
}

/// A hub with four clusters, a template and a progressive rollout of two at a time that soaks for five minutes.
fn hub(available: [&str; 4]) -> Hub {
    let mut hub = Hub::default();
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"},
        "data": {"greeting": "{{GREETING}}"}});
    let strategy =
        json!({"type": "Progressive", "progressive": {"maxConcurrency": 2, "minSuccessTime": "5m"}});
    let defaults = json!([
        {"group": ADDON, "resource": "addontemplates", "defaultConfig": {"name": "t"}},
        {"group": ADDON, "resource": "addondeploymentconfigs", "defaultConfig": {"namespace": "default", "name": "c"}},
    ]);
    let mut objects = vec![
        config("hello"),
        json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": "t"},
            "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}, "registration": []}}),
        json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"},
            "spec": {"supportedConfigs": defaults, "installStrategy": {"type": "Placements",
                "placements": [{"namespace": "default", "name": "all", "rolloutStrategy": strategy}]}}}),
        json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "all", "namespace": "default"}, "spec": {},
            "status": {"numberOfSelectedClusters": 4}}),
        json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": "all-1", "namespace": "default", "labels": {format!("{CLUSTER}/placement"): "all"}},
            "status": {"decisions": (1..=4).map(|n| json!({"clusterName": format!("c{n}"), "reason": ""})).collect::<Vec<_>>()}}),
    ];
    objects.extend(
        (1..)
            .zip(available)
            .map(|(n, available)| cluster(&format!("c{n}"), available)),
    );
    for object in objects {
        assert!(hub.put(object.clone()).is_some(), "{object}");
    }
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    hub
}

fn only(hub: &Hub) -> Forecast {
    let mut all = forecast(hub, settings(), start());
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn every_cluster_gets_the_addon_and_the_course_comes_to_an_end() {
    let course = only(&hub(["True"; 4]));
    assert!(!course.cut, "{course:#?}");
    assert_eq!(course.clusters, 4);
    let mut installed: Vec<&String> = course.waves.iter().flat_map(|wave| &wave.installed).collect();
    installed.sort();
    assert_eq!(installed, ["c1", "c2", "c3", "c4"]);
    assert!(course.held.is_empty(), "{:#?}", course.held);
    assert!(text(&[course], 0).starts_with("hello: 4 installed, "));
}

#[test]
fn a_cluster_that_says_nothing_is_held_and_the_others_are_not() {
    let course = only(&hub(["True", "Unknown", "True", "True"]));
    assert!(!course.cut, "{course:#?}");
    let held: Vec<&str> = course
        .held
        .iter()
        .filter_map(|held| held.cluster.as_deref())
        .collect();
    assert!(held.contains(&"c2"), "{:#?}", course.held);
    assert!(!held.contains(&"c1"), "{:#?}", course.held);
}

#[test]
fn the_forecast_of_the_same_hub_is_always_the_same() {
    let hub = hub(["True", "Unknown", "True", "False"]);
    assert_eq!(only(&hub), only(&hub));
}

#[test]
fn a_dump_loses_nothing_that_a_forecast_needs() {
    let hub = hub(["True"; 4]);
    let dump = Dump {
        taken_at: start(),
        hub: hub.clone(),
    };
    let read = Dump::read(&dump.render()).expect("a dump");
    assert_eq!(only(&read.hub), only(&hub));
}

#[test]
fn why_names_what_is_missing() {
    let codes = |hub: &Hub, cluster: Option<&str>| {
        let answer = why(hub, settings(), ("hello", cluster), start()).expect("the add-on is there");
        let mut codes: Vec<&str> = answer.groups.iter().map(|group| group.cause.id).collect();
        codes.extend(answer.chains.iter().filter_map(|chain| chain.cause));
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    assert_eq!(
        codes(&hub(["True"; 4]), None),
        ["why/work-missing"],
        "nobody has begun yet"
    );
    let mut undecided = Hub::default();
    for (key, object) in hub(["True"; 4]).objects() {
        if key.kind != Kind::Decision && key.kind != Kind::Placement {
            undecided.put(object.clone());
        }
    }
    assert_eq!(codes(&undecided, None), ["why/placement-missing"]);
    assert_eq!(
        codes(&undecided, Some("c1")),
        ["why/not-selected", "why/placement-missing"]
    );
    let unknown = why(&undecided, settings(), ("helo", None), start()).expect_err("no such add-on");
    assert_eq!(
        unknown,
        Unknown::Addon {
            name: "helo".to_owned(),
            near: Some("hello".to_owned())
        }
    );
}
