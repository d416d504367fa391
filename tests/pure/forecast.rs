//! Forecasts on hubs in memory: which clusters update in which wave, which are blocked, and what `why` reports.
//!
//! The planner is the real one; agents and time are simulated.

use insight::forecast::{Forecast, Wave, forecast, text};
use insight::offline::{Dump, Hub};
use insight::why::{Unknown, why};
use jiff::Timestamp;
use kubernetes::field::Listing;
use serde_json::{Value, json};
use store::{DiscoveryLabels, Kind, Settings};

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
    assert!(text(&[course], 0, Listing::Short).starts_with("hello: 4 installed, "));
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

/// A cluster on which the add-on is installed without a report is started and does not complete: it is not blocked.
#[test]
fn no_cluster_both_updates_and_is_blocked() {
    let course = only(&hub(["True", "Unknown", "True", "True"]));
    let told = text(std::slice::from_ref(&course), 0, Listing::Short);
    let line = told.lines().find(|line| line.contains("c2:"));
    let line = line.expect("c2 does not arrive").trim_start();
    assert!(line.starts_with("stops "), "{told}");
    assert!(!told.contains("\n  blocked "), "{told}");
}

#[test]
fn a_wave_that_follows_at_the_same_time_says_so() {
    let wave = |after: i64, moved: &str| Wave {
        after,
        at: jiff::Timestamp::UNIX_EPOCH,
        installed: Vec::new(),
        moved: vec![moved.to_owned()],
        removed: Vec::new(),
    };
    let course = Forecast {
        addon: "hello".to_owned(),
        clusters: 4,
        waves: vec![wave(0, "c1"), wave(0, "c2"), wave(300, "c3"), wave(300, "c4")],
        held: Vec::new(),
        cut: false,
    };
    let told = text(&[course], 0, Listing::Short);
    let words: Vec<Vec<&str>> = told
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .take(4)
        .collect();
    assert_eq!(
        words,
        [
            vec!["wave", "1", "at", "once", "update", "c1"],
            vec!["wave", "2", "then", "update", "c2"],
            vec!["wave", "3", "after", "5m", "update", "c3"],
            vec!["wave", "4", "then", "update", "c4"],
        ]
    );
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
        ..Dump::default()
    };
    let read = Dump::read(&dump.render()).expect("a dump");
    assert_eq!(only(&read.hub), only(&hub));
}

#[test]
fn why_names_what_is_missing() {
    let codes = |hub: &Hub, cluster: Option<&str>| {
        let answer = why(hub, settings(), "hello", cluster, start()).expect("the add-on is there");
        let mut codes: Vec<&str> = answer.groups.iter().map(|group| group.cause.id).collect();
        codes.extend(answer.chains.iter().filter_map(|chain| chain.cause));
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    assert_eq!(
        codes(&hub(["True"; 4]), None),
        ["why/work-missing"],
        "no cluster has started yet"
    );
    let mut undecided = Hub::default();
    for (key, object) in hub(["True"; 4]).objects() {
        if key.kind != Kind::Decision && key.kind != Kind::Placement {
            undecided.put(Value::clone(object));
        }
    }
    assert_eq!(codes(&undecided, None), ["why/placement-missing"]);
    assert_eq!(
        codes(&undecided, Some("c1")),
        ["why/not-selected", "why/placement-missing"]
    );
    let unknown = why(&undecided, settings(), "helo", None, start()).expect_err("no such add-on");
    assert_eq!(
        unknown,
        Unknown::Addon {
            name: "helo".to_owned(),
            instead: "did you mean \"hello\"?".to_owned()
        }
    );
}

/// A hub on which a fleet goes that nothing selects any more, with what the controllers state about it: in the ClusterManagementAddOn, or in
/// the AddOnRollout where OCM's definition keeps no conditions.
fn leaving(clusters: usize, stalled: Option<(&str, &str)>, in_roll_up: bool) -> Hub {
    let mut hub = Hub::default();
    let conditions: Vec<Value> = stalled
        .into_iter()
        .map(|(reason, message)| {
            json!({"type": "Stalled", "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2029-12-31T23:59:00Z"})
        })
        .collect();
    let strategy = json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "pord"}}});
    let (of_addon, of_roll_up) = if in_roll_up {
        (Vec::new(), conditions)
    } else {
        (conditions, Vec::new())
    };
    let mut objects = vec![
        json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": {"installStrategy": strategy}, "status": {"conditions": of_addon}}),
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout", "metadata": {"name": "hello"},
            "spec": {"addon": "hello"}, "status": {"conditions": of_roll_up}}),
    ];
    for number in 0..clusters {
        let name = format!("c{number}");
        objects.push(cluster(&name, "True"));
        let annotations = json!({"tidegate.io/installed-by": "label-selector", "tidegate.io/deselected-at": "2029-12-31T23:59:00Z"});
        objects.push(
            json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ManagedClusterAddOn",
            "metadata": {"name": "hello", "namespace": name, "annotations": annotations}, "spec": {}}),
        );
    }
    for object in objects {
        assert!(hub.put(object.clone()).is_some(), "{object}");
    }
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    hub
}

#[test]
fn why_tells_what_holds_removals_as_the_controllers_tell_it() {
    let budget = "80 removals are delayed: at most 20 instances are removed per minute, the next at 2030-01-01T00:00:30Z; to remove all of them now, annotate";
    let unread = "100 instances are kept although nothing selects them: cannot read ClusterManagementAddOn hello again: no";
    for (clusters, stalled, code, detail) in [
        (100, Some(("RemovalHeld", budget)), "why/removal-held", budget),
        (15, Some(("RemovalHeld", budget)), "why/removal-held", budget),
        (
            100,
            Some(("RemovalUnconfirmed", unread)),
            "why/removal-unconfirmed",
            unread,
        ),
        (
            15,
            Some(("RemovalUnconfirmed", unread)),
            "why/removal-unconfirmed",
            unread,
        ),
        (
            15,
            Some(("ClustersStalled", "something else")),
            "why/deselected",
            "nothing keeps the add-on on the cluster; the controllers remove it next",
        ),
        (
            15,
            None,
            "why/deselected",
            "nothing keeps the add-on on the cluster; the controllers remove it next",
        ),
    ] {
        for in_roll_up in [false, true] {
            let hub = leaving(clusters, stalled, in_roll_up);
            let answer = why(&hub, settings(), "hello", None, start()).expect("the add-on is there");
            let told: Vec<(&str, &str, usize)> = answer
                .groups
                .iter()
                .map(|group| (group.cause.id, group.detail.as_str(), group.clusters.len()))
                .collect();
            assert_eq!(told, [(code, detail, clusters)], "{in_roll_up}");
            assert_eq!(answer.ready, 0);
            for number in [0, clusters - 1] {
                let cluster = format!("c{number}");
                let answer = why(&hub, settings(), "hello", Some(&cluster), start()).expect("it is there");
                assert_eq!(
                    (answer.chains[0].cause, answer.chains[0].detail.as_str()),
                    (Some(code), detail)
                );
            }
        }
    }
}
