//! What may go wrong with an upgrade, each to its documented end.
//!
//! Every plan on the way is checked, and every story ends with a plan that writes nothing.

use serde_json::json;

use super::stories::{condition, counts, example, job, phase, with};
use super::{Hub, Job, Life};
use plan::upgrade::Hold;
use plan::upgrade::plan;
use store::upgrade::Refusal;

#[test]
fn a_cluster_that_never_took_its_work_has_it_withdrawn() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", example());
    hub.behave("dev2", |one| one.apply = None);
    assert!(hub.run(300, 60, |hub| phase(hub) == "Failed"));
    assert_eq!(hub.told(0, "dev2"), "Failed/Done NotApplied");
    assert!(
        hub.with(0, "platform").is_empty(),
        "it must not begin hours later"
    );
    assert_eq!(counts(&hub), [3, 3, 0, 2, 1, 0]);
}

#[test]
fn an_upgrade_none_of_whose_clusters_can_start_is_stalled_with_the_reason() {
    let summed = |hub: &Hub| {
        let status = &hub.asked[0].status;
        ["Ready", "Reconciling", "Stalled"].map(|kind| {
            let mut all = status.conditions.iter();
            let one = all.find(|one| one.type_ == kind).expect("a condition");
            format!("{} {}", one.status, one.reason)
        })
    };
    let mut hub = Hub::new(2);
    hub.ask(
        "mcu",
        json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}}),
    );
    for name in ["dev1", "dev2"] {
        hub.clusters.get_mut(name).expect("it").id.clear();
    }
    hub.settle(0);
    assert_eq!(phase(&hub), "Halted");
    assert_eq!(
        summed(&hub),
        [
            "False ClusterIDUnknown",
            "False ClusterIDUnknown",
            "True ClusterIDUnknown"
        ]
    );
    // Another reason on the other cluster: the reason is one for both.
    let other = hub.clusters.get_mut("dev2").expect("it");
    other.id = "id".to_owned();
    other.version = "4.13.0".to_owned();
    hub.settle(0);
    assert_eq!(summed(&hub)[2], "True ClustersHeld");
    // A cluster that does not answer may come back by itself, and one that can start does.
    hub.clusters.get_mut("dev2").expect("it").available = false;
    hub.settle(0);
    assert_eq!(summed(&hub)[1], "True Upgrading");
    hub.clusters.get_mut("dev1").expect("it").id = "id-dev1".to_owned();
    hub.settle(0);
    assert_eq!(
        hub.told(0, "dev1").split(' ').next(),
        Some("Initialized/Platform")
    );
}

#[test]
fn operators_that_fail_or_take_too_long_fail_the_cluster() {
    for (ends, reason) in [(Job::Bad(5), "OperatorsFailed"), (Job::Stuck, "OperatorsTimeout")] {
        let mut hub = Hub::new(1);
        let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"},
            "ocpOperators": {"approveAllUpgrades": true}, "upgradeStrategy": {"operatorsUpgradeTimeout": "10m"}});
        hub.ask("mcu", spec);
        hub.behave("dev1", |one| one.operators = ends);
        assert!(hub.run(30, 60, |hub| phase(hub) == "Failed"));
        assert_eq!(hub.told(0, "dev1"), format!("Failed/Done {reason}"));
        assert!(hub.works["dev1"].is_empty());
    }
}

#[test]
fn a_work_of_another_client_is_never_touched() {
    let mut hub = Hub::new(1);
    hub.ask(
        "other",
        json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}}),
    );
    hub.settle(0);
    let mut theirs = hub.works["dev1"].clone();
    theirs.get_mut("dev1-cluster-upgrade").expect("a work").object["metadata"]["labels"] = json!({});
    let mut hub = Hub::new(1);
    hub.works.insert("dev1".into(), theirs);
    hub.ask(
        "mcu",
        json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}}),
    );
    assert!(!hub.run(20, 20, |hub| counts_or_none(hub) != Some(0)));
    assert_eq!(hub.told(0, "dev1"), "NotStarted/Held Conflict");
    hub.asked[0].life = Life::Goes;
    hub.settle(0);
    assert!(hub.asked[0].life == Life::Gone && hub.works["dev1"].len() == 1);
}

fn counts_or_none(hub: &Hub) -> Option<i64> {
    hub.asked[0]
        .status
        .clusters_summary
        .map(|counts| counts.initialized)
}

#[test]
fn a_deleted_upgrade_takes_its_works_and_waits_for_no_lost_cluster() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", with(example(), "preUpgradeAction", job("backup")));
    assert!(hub.run(5, 60, |hub| counts(hub)[1] >= 2));
    hub.asked[0].life = Life::Goes;
    hub.settle(0);
    assert!(hub.asked[0].life == Life::Gone);
    assert!(hub.works.values().all(std::collections::BTreeMap::is_empty));
}

#[test]
fn a_cluster_that_leaves_the_hub_has_failed_and_gives_its_slot_back() {
    let mut hub = Hub::new(4);
    hub.ask("mcu", example());
    hub.behave("dev2", |one| one.upgrade = None);
    hub.behave("dev3", |one| one.upgrade = None);
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev3") == "Partial/Platform Upgrading"));
    assert_eq!(hub.told(0, "dev4"), "", "it waits for a slot");
    hub.remove("dev2");
    hub.settle(0);
    assert_eq!(hub.told(0, "dev2"), "Failed/Done ClusterRemoved");
    assert!(hub.with(0, "platform").contains("dev4"));
}

#[test]
fn clusters_that_cannot_be_upgraded_are_held_and_take_no_slot() {
    let mut hub = Hub::new(6);
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"maxConcurrency": 1}});
    hub.ask("mcu", spec);
    hub.clusters.get_mut("dev1").expect("it").available = false;
    hub.clusters.get_mut("dev2").expect("it").id.clear();
    "4.13.1".clone_into(&mut hub.clusters.get_mut("dev3").expect("it").version);
    "4.10.0".clone_into(&mut hub.clusters.get_mut("dev4").expect("it").version);
    "4.12.0".clone_into(&mut hub.clusters.get_mut("dev5").expect("it").version);
    assert!(hub.run(20, 30, |hub| counts(hub)[3] == 2));
    let told = |name: &str| hub.told(0, name);
    assert_eq!(told("dev1"), "NotStarted/Held ClusterUnavailable");
    assert_eq!(told("dev2"), "NotStarted/Held ClusterIDUnknown");
    assert_eq!(told("dev3"), "NotStarted/Held PrecheckFailed");
    assert_eq!(told("dev4"), "NotStarted/Held PrecheckFailed");
    assert_eq!(told("dev5"), "Complete/Done AlreadyAtVersion");
}

#[test]
fn without_a_matching_canary_no_cluster_starts() {
    let mut hub = Hub::new(3);
    hub.set.remove("dev1");
    hub.ask("mcu", example());
    hub.settle(0);
    assert_eq!((phase(&hub), hub.with(0, "platform").len()), ("Halted", 0));
    assert!(hub.plan(0).waits.iter().all(|wait| wait.on == Hold::NoCanary));
    hub.set.insert("dev1".into());
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
}

#[test]
fn more_failures_than_may_stop_the_upgrade() {
    let mut hub = Hub::new(8);
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"},
        "upgradeStrategy": {"maxConcurrency": 2, "maxFailures": 1, "clusterUpgradeTimeout": "10m"}});
    hub.ask("mcu", spec);
    for name in ["dev1", "dev2"] {
        hub.behave(name, |one| one.upgrade = None);
    }
    assert!(hub.run(20, 100, |hub| phase(hub) == "Halted"));
    assert!(!hub.run(20, 20, |hub| counts(hub)[1] > 2));
    assert!(
        hub.plan(0)
            .waits
            .iter()
            .all(|wait| matches!(wait.on, Hold::Failures(_)))
    );
    hub.edit(0, |spec| {
        spec.upgrade_strategy.as_mut().expect("it").max_failures = None;
    });
    assert!(hub.run(20, 100, |hub| counts(hub)[3] == 6));
}

#[test]
fn a_lower_limit_starts_no_cluster_and_stops_none() {
    let mut hub = Hub::new(6);
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"maxConcurrency": 3}});
    hub.ask("mcu", spec);
    assert!(hub.run(5, 20, |hub| counts(hub)[1] == 3));
    hub.edit(0, |spec| {
        spec.upgrade_strategy.as_mut().expect("it").max_concurrency = Some(api::IntOrString::Int(1));
    });
    assert!(hub.run(5, 60, |hub| counts(hub)[3] >= 3));
    assert!(hub.with(0, "platform").len() <= 1);
    assert!(hub.run(20, 100, |hub| phase(hub) == "Complete"));
}

#[test]
fn an_invalid_spec_is_reported_and_no_cluster_starts() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", example());
    assert!(hub.run(5, 20, |hub| counts(hub)[1] == 1));
    hub.edit(0, |spec| {
        spec.cluster_version.as_mut().expect("it").version = "four".to_owned();
    });
    hub.settle(0);
    assert!(
        condition(&hub, "Selected").starts_with("False SpecInvalid spec.clusterVersion.version"),
        "{}",
        condition(&hub, "Selected")
    );
    assert_eq!(hub.with(0, "platform").len(), 1);
}

#[test]
fn five_thousand_clusters_have_a_small_status() {
    let mut hub = Hub::new(5000);
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"maxConcurrency": "100%"}});
    hub.ask("mcu", spec);
    hub.settle(0);
    hub.pass(200);
    hub.settle(0);
    assert_eq!(counts(&hub), [5000, 5000, 0, 5000, 0, 0]);
    let size = serde_json::to_string(&hub.asked[0].status)
        .expect("plain data")
        .len();
    assert!(size < 256 * 1024, "{size} bytes");
    let asked = hub.asked[0].clone();
    let uid = super::hub::uid(0);
    let view = hub.view(&asked, &uid);
    let made = plan(&view, hub.now);
    assert!(made.writes.is_empty() && made.recheck_at.is_none());
}

/// A namespace that takes no works, a quota, a policy: whatever the hub says no by.
#[test]
fn one_cluster_that_the_hub_takes_no_work_for_holds_no_other_and_is_tried_again() {
    let mut hub = Hub::new(3);
    let spec = json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"maxConcurrency": 1}});
    hub.ask("mcu", spec);
    let refusal = Refusal {
        work: "dev1-cluster-upgrade".to_owned(),
        why: "exceeded quota".to_owned(),
    };
    hub.refused.insert("dev1".into(), refusal);
    for _ in 0..40 {
        let _made = hub.plan(0);
        let _made = hub.plan(0);
        hub.pass(20);
    }
    assert_eq!(hub.told(0, "dev1"), "NotStarted/Held WorkRefused");
    assert_eq!(counts(&hub), [3, 2, 0, 2, 0, 1]);
    let made = hub.plan(0);
    assert!(
        made.writes.len() == 1 && made.status.is_none(),
        "it is retried, and the status does not change: {made:#?}"
    );
    hub.refused.clear();
    assert!(hub.run(20, 30, |hub| phase(hub) == "Complete"));
}

#[test]
fn who_goes_first_and_cannot_be_written_to_holds_the_others() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", example());
    let refusal = Refusal {
        work: "dev1-cluster-upgrade".to_owned(),
        why: "exceeded quota".to_owned(),
    };
    hub.refused.insert("dev1".into(), refusal);
    for _ in 0..10 {
        let _made = hub.plan(0);
        hub.pass(20);
    }
    assert_eq!(hub.told(0, "dev1"), "NotStarted/Held WorkRefused");
    assert_eq!(counts(&hub)[1], 0);
}
