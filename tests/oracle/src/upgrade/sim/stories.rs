//! The stories of the proposal, and what may go wrong in them, each to its documented end.
//!
//! Every plan on the way is checked, and every story ends with a plan that writes nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Hub, Job};
use kubernetes::field::Path;
use model::RolloutProfile;
use model::upgrade::PlacementKey;
use plan::upgrade::Hold;

pub(super) fn job(name: &str) -> Value {
    json!({"manifestWork": {"workload": {"manifests": [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "n"}, "spec": {}},
    ]}}})
}

/// The example of the proposal: a canary, two at once, a version.
pub(super) fn example() -> Value {
    json!({
        "clusterSelector": {"clusterSets": ["dev"]},
        "clusterVersion": {"channel": "stable-4.12", "version": "4.12.0", "upstream": "", "image": ""},
        "upgradeStrategy": {
            "canaryClusters": {"clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev1"]}]}},
            "clusterUpgradeTimeout": "2h", "maxConcurrency": 2, "operatorsUpgradeTimeout": "10m",
        },
    })
}

pub(super) fn with(mut spec: Value, key: &str, value: Value) -> Value {
    spec[key] = value;
    spec
}

pub(super) fn phase(hub: &Hub) -> &str {
    &hub.asked[0].status.phase
}

pub(super) fn counts(hub: &Hub) -> [i64; 6] {
    let told = hub.asked[0].status.clusters_summary.expect("counts");
    [
        told.total,
        told.initialized,
        told.partial_upgrade,
        told.complete,
        told.failed,
        told.pending,
    ]
}

pub(super) fn condition(hub: &Hub, kind: &str) -> String {
    let all = &hub.asked[0].status.conditions;
    let found = all.iter().find(|one| one.type_ == kind);
    found.map_or_else(String::new, |one| {
        format!("{} {} {}", one.status, one.reason, one.message)
    })
}

/// The example with both actions and an operator.
fn whole_example() -> Hub {
    let mut hub = Hub::new(4);
    let spec = with(example(), "preUpgradeAction", job("backup"));
    let spec = with(spec, "postUpgradeAction", job("health"));
    let operators =
        json!({"include": [{"name": "openshift-gitops-operator", "namespace": "openshift-operators"}]});
    hub.ask("mcu", with(spec, "ocpOperators", operators));
    hub
}

#[test]
fn the_example_begins_with_its_canary() {
    let mut hub = whole_example();
    hub.settle(0);

    assert_eq!(
        condition(&hub, "Selected"),
        "True ManagedClustersSelected ManagedClusters upgrade select 4 clusters"
    );
    assert_eq!(
        condition(&hub, "Applied"),
        "False ManagedClustersUpgradeApplied neither the pre-upgrade action nor the upgrade is applied on any cluster"
    );
    assert_eq!(condition(&hub, "Failed"), "", "of failures nothing is said");
    assert_eq!(
        hub.with(0, "pre").into_iter().collect::<Vec<_>>(),
        ["dev1"],
        "the canary alone"
    );
    assert_eq!(phase(&hub), "Canary");
    assert!(
        hub.run(5, 10, |hub| hub.with(0, "platform").len() == 1),
        "the action before has succeeded"
    );
    assert_eq!(condition(&hub, "Applied").split(' ').next(), Some("True"));
    assert_eq!(counts(&hub), [4, 1, 0, 0, 0, 3]);
    assert!(hub.run(5, 5, |hub| hub.told(0, "dev1") == "Partial/Platform Upgrading"));
    assert_eq!(
        condition(&hub, "InProgress"),
        "True ManagedClustersUpgradeInProgress ManagedClusters upgrade InProgress"
    );
}

#[test]
fn the_example_goes_on_to_its_end() {
    let mut hub = whole_example();
    assert!(hub.run(5, 30, |hub| hub.told(0, "dev1") == "Partial/Operators"));
    assert!(hub.run(5, 30, |hub| hub.told(0, "dev1") == "Complete/PostAction"));
    assert_eq!(
        hub.with(0, "pre").len(),
        1,
        "no other cluster before the action after it: {:?}",
        hub.with(0, "pre")
    );
    assert!(hub.run(5, 30, |hub| hub.told(0, "dev1") == "Complete/Done"));
    assert_eq!(hub.with(0, "pre").len(), 3, "the canary's, and two more");
    let pre = hub.asked[0].status.pre_upgrade_action_summary.expect("counts");
    assert_eq!((pre.total, pre.available), (3, 1));
    assert!(hub.run(5, 200, |hub| phase(hub) == "Complete"));
    assert_eq!(counts(&hub), [4, 4, 0, 4, 0, 0]);
    assert_eq!(
        condition(&hub, "Complete"),
        "True ManagedClustersUpgradeComplete ManagedClusters upgrade Complete"
    );
    assert_eq!(condition(&hub, "InProgress").split(' ').next(), Some("False"));
    assert!(
        hub.works.values().all(std::collections::BTreeMap::is_empty),
        "nothing is left: {:?}",
        hub.works
    );
    let pre = hub.asked[0].status.pre_upgrade_action_summary.expect("counts");
    assert_eq!(
        (pre.total, pre.applied, pre.available),
        (4, 4, 4),
        "they outlive the works"
    );
}

#[test]
fn operators_alone_are_upgraded() {
    let mut hub = Hub::new(2);
    hub.ask(
        "mcu",
        json!({"clusterSelector": {}, "ocpOperators": {"approveAllUpgrades": true}}),
    );
    hub.settle(0);
    assert_eq!(
        (hub.with(0, "platform").len(), hub.with(0, "operators").len()),
        (0, 2)
    );
    assert!(hub.run(5, 50, |hub| phase(hub) == "Complete"));
}

#[test]
fn when_a_canary_fails_no_other_cluster_starts() {
    let mut hub = Hub::new(4);
    hub.ask("mcu", example());
    hub.behave("dev1", |one| one.upgrade = None);
    assert!(hub.run(600, 30, |hub| phase(hub) == "Halted"));
    assert_eq!(hub.told(0, "dev1"), "Failed/Done UpgradeTimeout");
    assert_eq!(counts(&hub), [4, 1, 0, 0, 1, 3]);
    assert_eq!(
        condition(&hub, "Failed"),
        "True ManagedClustersUpgradeFailed ManagedClusters upgrade failed, count: 1"
    );
    let made = hub.plan(0);
    assert!(
        made.waits.iter().all(|wait| wait.on == Hold::CanaryFailed),
        "{:?}",
        made.waits
    );
    let config = &hub.works["dev1"]["dev1-cluster-upgrade"].object["spec"]["manifestConfigs"][0];
    assert_eq!(
        config["updateStrategy"]["type"], "ReadOnly",
        "no cluster gets a work any more"
    );
    hub.behave("dev1", |one| one.upgrade = Some(10));
    "again".clone_into(&mut hub.asked[0].retry);
    assert!(
        hub.run(60, 100, |hub| phase(hub) == "Complete"),
        "{:#?}",
        hub.asked[0].status
    );
    assert_eq!(condition(&hub, "Failed").split(' ').next(), Some("False"));
}

#[test]
fn an_action_that_fails_holds_its_own_cluster_and_no_other() {
    let mut hub = Hub::new(4);
    hub.ask("mcu", with(example(), "preUpgradeAction", job("backup")));
    hub.behave("dev2", |one| one.pre = Job::Bad(5));
    assert!(hub.run(20, 60, |hub| counts(hub)[3] == 3));
    assert_eq!(hub.told(0, "dev2"), "NotStarted/Held PreActionDegraded");
    assert_eq!(hub.with(0, "pre").len(), 4, "they stay until all are complete");
    hub.behave("dev2", |one| one.pre = Job::Good(5));
    assert!(
        hub.run(20, 60, |hub| phase(hub) == "Complete"),
        "it recovers: {}",
        hub.told(0, "dev2")
    );
}

#[test]
fn an_action_that_fails_after_the_upgrade_fails_the_cluster() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", with(example(), "postUpgradeAction", job("health")));
    hub.behave("dev3", |one| one.post = Job::Bad(5));
    assert!(hub.run(20, 60, |hub| phase(hub) == "Failed"));
    assert_eq!(hub.told(0, "dev3"), "Failed/Done PostActionFailed");
    let post = hub.asked[0].status.post_upgrade_action_summary.expect("counts");
    assert_eq!((post.total, post.available, post.degraded), (3, 2, 1));
}

#[test]
fn a_cluster_that_began_goes_on_when_it_is_deselected_and_one_that_did_not_is_dropped() {
    let mut hub = Hub::new(4);
    hub.ask("mcu", with(example(), "preUpgradeAction", job("backup")));
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev2") == "Partial/Platform Upgrading"));
    hub.behave("dev4", |one| one.pre = Job::Stuck);
    for name in ["dev2", "dev4"] {
        hub.set.remove(name);
    }
    hub.settle(0);
    assert_eq!(counts(&hub)[0], 3, "dev2 stays, dev4 goes");
    assert!(!hub.with(0, "pre").contains("dev4"));
    assert!(hub.run(5, 100, |hub| phase(hub) == "Complete"));
    assert_eq!(counts(&hub), [3, 3, 0, 3, 0, 0]);
}

#[test]
fn a_cluster_that_joins_is_upgraded_too() {
    let mut hub = Hub::new(2);
    hub.ask("mcu", example());
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
    hub.join("dev9", super::Behaviour::default());
    hub.settle(0);
    assert_eq!(condition(&hub, "Complete").split(' ').next(), Some("False"));
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
    assert_eq!(counts(&hub), [3, 3, 0, 3, 0, 0]);
}

#[test]
fn a_pause_lets_those_go_on_that_began() {
    let mut hub = Hub::new(6);
    hub.ask("mcu", with(example(), "preUpgradeAction", job("backup")));
    assert!(hub.run(5, 60, |hub| counts(hub)[3] == 1 && counts(hub)[1] == 3));
    hub.edit(0, |spec| spec.suspend = Some(true));
    assert!(!hub.run(20, 60, |_| false));
    assert_eq!(phase(&hub), "Paused");
    let begun = counts(&hub)[1];
    assert_eq!(counts(&hub)[3], begun, "who began is done");
    assert!(begun < 6);
    hub.edit(0, |spec| spec.suspend = None);
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
}

/// A scheduler that writes its decisions again names some clusters only, for a moment: those that go first may be among the
/// others.
#[test]
fn no_cluster_starts_and_none_is_complete_without_a_complete_decision() {
    let mut hub = Hub::new(6);
    hub.ask("mcu", with(example(), "preUpgradeAction", job("backup")));
    let first: Vec<_> = hub.set.iter().cloned().collect();
    // Only the last two are named, and none of them is one that goes first.
    hub.set = first.iter().skip(4).cloned().collect();
    hub.undecided = true;
    assert!(!hub.run(10, 60, |_| false));
    assert_eq!(phase(&hub), "Waiting");
    assert_eq!(counts(&hub)[2], 0, "no cluster has started");
    assert!(
        condition(&hub, "Ready").contains("no complete PlacementDecision"),
        "{}",
        condition(&hub, "Ready")
    );
    hub.set = first.iter().cloned().collect();
    hub.undecided = false;
    assert!(hub.run(40, 60, |hub| phase(hub) == "Complete"));
    // All that are named are done; whether others are wanted is not known.
    hub.undecided = true;
    hub.settle(0);
    assert_eq!(phase(&hub), "Waiting");
    assert!(
        condition(&hub, "Ready").starts_with("False"),
        "{}",
        condition(&hub, "Ready")
    );
    hub.undecided = false;
    hub.settle(0);
    assert_eq!(phase(&hub), "Complete");
}

#[test]
fn two_upgrades_never_have_the_same_cluster() {
    let mut hub = Hub::new(3);
    let one = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}});
    hub.ask("one", one.clone());
    hub.ask("two", with(one, "clusterVersion", json!({"version": "4.12.1"})));
    for _ in 0..5 {
        hub.settle(0);
        hub.settle(1);
        assert!(hub.with(0, "platform").is_disjoint(&hub.with(1, "platform")));
        hub.pass(5);
    }
    assert_eq!(hub.told(1, "dev1"), "NotStarted/Held Conflict");
    assert!(hub.run(20, 60, |hub| {
        hub.asked.iter().all(|asked| asked.status.phase == "Complete")
    }));
    for cluster in hub.clusters.keys() {
        assert_eq!(hub.history[cluster].0, "4.12.1", "one after the other");
    }
}

#[test]
fn clusters_start_in_the_window_alone_and_go_on_after_it() {
    let mut hub = Hub::new(3);
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"},
        "upgradeStrategy": {"maxConcurrency": 1, "window": {"cron": "0 2 * * *", "duration": "1m"}}});
    hub.ask("mcu", spec);
    let made = hub.plan(0);
    let opens: Timestamp = "2026-01-05T02:00:00Z".parse().expect("a time");
    assert_eq!(made.recheck_at, Some(opens));
    hub.settle(0);
    assert_eq!((phase(&hub), hub.with(0, "platform").len()), ("Waiting", 0));
    hub.now = opens;
    hub.settle(0);
    assert_eq!(hub.with(0, "platform").len(), 1);
    assert!(
        !hub.run(30, 20, |hub| hub.with(0, "platform").len() > 1),
        "it is shut"
    );
    assert_eq!(counts(&hub)[3], 1, "who began is done");
}

#[test]
fn no_frozen_cluster_starts_and_those_that_are_upgrading_finish() {
    let mut hub = Hub::new(3);
    hub.clusters
        .get_mut("dev3")
        .expect("a cluster")
        .labels
        .insert("env".to_owned(), "prod".to_owned());
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"maxConcurrency": 1}});
    hub.ask("mcu", spec);
    hub.settle(0);
    assert_eq!(hub.with(0, "platform").len(), 1);
    hub.freeze(json!({"reason": "holidays", "until": "2026-01-06T00:00:00Z"}));
    assert!(
        !hub.run(30, 20, |hub| hub.with(0, "platform").len() > 1),
        "it is frozen"
    );
    assert_eq!((phase(&hub), counts(&hub)[3]), ("Waiting", 1));
    assert_eq!(
        hub.plan(0).recheck_at,
        Some("2026-01-06T00:00:00Z".parse().expect("a time"))
    );
    let waits: Vec<&str> = hub.plan(0).waits.iter().map(|wait| wait.on.word()).collect();
    assert_eq!(waits, ["RolloutFrozen", "RolloutFrozen"]);

    // One that selects a cluster lets the others go on.
    hub.freezes.clear();
    hub.freeze(json!({"reason": "audit", "clusterSelector": {"matchLabels": {"env": "prod"}}}));
    assert!(hub.run(30, 60, |hub| counts(hub)[3] == 2));
    assert!(!hub.run(30, 20, |hub| counts(hub)[3] > 2), "dev3 is frozen");

    // An invalid one stops everything.
    hub.freezes.clear();
    hub.freeze(json!({"reason": "typo", "until": "banana"}));
    assert!(!hub.run(30, 20, |hub| counts(hub)[3] > 2));
    hub.freezes.clear();
    assert!(hub.run(30, 60, |hub| phase(hub) == "Complete"));
}

#[test]
fn a_profile_pauses_an_upgrade_and_has_its_windows_and_its_order() {
    let mut hub = Hub::new(3);
    for (cluster, wave) in [("dev1", "10"), ("dev2", "9")] {
        let labels = &mut hub.clusters.get_mut(cluster).expect("a cluster").labels;
        labels.insert("wave".to_owned(), wave.to_owned());
    }
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"maxConcurrency": 1}});
    hub.ask("mcu", spec);
    let profile = |spec: serde_json::Value| {
        let spec = serde_json::from_value(spec).expect("a spec");
        RolloutProfile::parse("all", &spec, &Path::root()).ok()
    };
    let waits = |hub: &mut Hub| -> Vec<String> {
        let plan = hub.plan(0);
        plan.waits
            .iter()
            .map(|wait| wait.on.sentence().into_owned())
            .collect()
    };
    hub.profile = profile(json!({"pause": {"reason": "release day"}}));
    assert!(
        !hub.run(30, 20, |hub| !hub.with(0, "platform").is_empty()),
        "it is paused"
    );
    assert_eq!(phase(&hub), "Paused");
    assert_eq!(
        waits(&mut hub)[0],
        "a RolloutProfile pauses the upgrade (release day)"
    );
    let window = |cron: &str| json!([{"cron": cron, "duration": "10m"}]);
    hub.profile = profile(json!({"windows": window("0 9 * * *")}));
    assert!(
        !hub.run(30, 20, |hub| !hub.with(0, "platform").is_empty()),
        "it is shut"
    );
    // The windows of the clusters are shut; no other cluster has any.
    hub.profile = profile(json!({"orderBy": "wave", "clusterWindows": [
        {"clusterSelector": {"matchExpressions": [{"key": "wave", "operator": "Exists"}]}, "windows": window("0 12 * * *")}]}));
    assert!(hub.run(30, 40, |hub| hub.told(0, "dev3").starts_with("Complete")));
    for cluster in ["dev1", "dev2"] {
        assert!(!hub.with(0, "platform").contains(cluster), "{cluster} is shut");
    }
    assert_eq!(
        waits(&mut hub)[0],
        "the windows of the cluster are closed (spec.clusterWindows of the RolloutProfile)"
    );
    assert_eq!(phase(&hub), "Waiting");
    assert_eq!(
        hub.plan(0).recheck_at,
        Some("2026-01-05T12:00:00Z".parse().expect("a time"))
    );
    // Of the two that may start, the one with the smaller number does.
    hub.profile = profile(json!({"orderBy": "wave"}));
    hub.settle(0);
    assert!(hub.with(0, "platform").contains("dev2") && !hub.with(0, "platform").contains("dev1"));
}

#[test]
fn a_preview_tells_the_waves_and_writes_no_work() {
    let mut hub = Hub::new(4);
    hub.ask("mcu", with(example(), "preview", json!(true)));
    assert!(!hub.run(20, 5, |hub| hub.works.values().any(|works| !works.is_empty())));
    let told = hub.asked[0].status.plan.clone().expect("a plan");
    let waves: Vec<(bool, Vec<String>)> = told
        .waves
        .into_iter()
        .map(|wave| (wave.canary, wave.clusters))
        .collect();
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        waves,
        [
            (true, names(&["dev1"])),
            (false, names(&["dev2", "dev3"])),
            (false, names(&["dev4"]))
        ]
    );
    hub.edit(0, |spec| spec.preview = None);
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
    assert_eq!(hub.asked[0].status.plan, None);
}

#[test]
fn another_version_is_another_run_once_no_cluster_is_in_progress() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", example());
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev2") == "Partial/Platform Upgrading"));
    let run = hub.asked[0].status.run.clone();
    hub.edit(0, |spec| {
        spec.cluster_version.as_mut().expect("it").version = "4.12.3".to_owned();
    });
    hub.settle(0);
    assert_eq!(
        hub.asked[0].status.run, run,
        "those who began go on to what they were told"
    );
    assert!(hub.run(20, 100, |hub| phase(hub) == "Complete"
        && hub.asked[0].status.run != run));
    assert!(hub.history.values().all(|(version, _)| version == "4.12.3"));
}

/// What an author in one namespace may not do with a placement of another: nothing starts, and what has begun ends.
#[test]
fn without_a_valid_record_no_cluster_of_a_foreign_placement_starts_and_those_that_upgrade_finish() {
    let mut hub = Hub::new(4);
    let foreign = PlacementKey {
        namespace: "other".to_owned(),
        name: "all".to_owned(),
    };
    hub.placements.insert(foreign.clone(), hub.set.clone());
    hub.set.retain(|name| **name == *"dev4");
    let mut spec = json!({"placement": [{"namespace": "other", "name": "all"}], "clusterSelector": {},
        "clusterVersion": {"channel": "stable-4.12", "version": "4.12.0"}});
    spec["upgradeStrategy"] = json!({"maxConcurrency": 2});
    hub.ask("mcu", spec);
    hub.unproven.insert(foreign);
    assert!(
        hub.run(60, 100, |hub| hub.told(0, "dev4") == "Complete/Done"),
        "selected by a bound set as well"
    );
    for cluster in ["dev1", "dev2", "dev3"] {
        assert_eq!(hub.told(0, cluster), "NotStarted/Held PlacementAccessUnproven");
        assert!(
            hub.works.get(cluster).is_none_or(BTreeMap::is_empty),
            "nothing reaches {cluster}"
        );
    }
    assert_eq!(phase(&hub), "Halted");
    let stalled = condition(&hub, "Stalled");
    assert!(stalled.starts_with("True PlacementAccessUnproven"), "{stalled}");
    for part in ["other/all", "tidegate.io/placement-access", "renew"] {
        assert!(stalled.contains(part), "{stalled}");
    }
    let unproven = std::mem::take(&mut hub.unproven);
    assert!(
        hub.run(20, 60, |hub| hub.told(0, "dev1").starts_with("Partial")),
        "{}",
        hub.told(0, "dev1")
    );
    hub.unproven = unproven;
    assert!(
        hub.run(60, 100, |hub| counts(hub)[3] == 3),
        "those on their way finish: {:?}",
        counts(&hub)
    );
    assert_eq!(hub.told(0, "dev3"), "NotStarted/Held PlacementAccessUnproven");
}
