//! Stages, hops and worker pools of an upgrade, each to its documented end. Every plan on the way is checked.

use serde_json::{Value, json};

use super::Hub;
use super::stories::{condition, example, job, phase};
use plan::upgrade::{Hold, forecast};

fn named(names: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": "name", "operator": "In", "values": names}]})
}

/// A canary, then two stages, then the others.
fn staged() -> Value {
    let mut spec = example();
    spec["upgradeStrategy"]["stages"] = json!([
        {"name": "test", "clusterSelector": named(&["dev1", "dev2", "dev3"]), "minSuccessTime": "10m"},
        {"name": "eu", "clusterSelector": named(&["dev2", "dev4", "dev5", "dev6"]), "maxConcurrency": "100%"},
    ]);
    spec
}

fn with_hops() -> Value {
    let mut spec = example();
    spec["clusterVersion"] =
        json!({"channel": "eus-4.14", "version": "4.14.3", "hops": ["4.12.9", "4.13.7"]});
    spec["upgradeStrategy"] = json!({"maxConcurrency": 1});
    spec
}

fn waits(hub: &mut Hub, cluster: &str) -> Option<Hold> {
    let plan = hub.plan(0);
    let found = plan.waits.into_iter().find(|wait| *wait.cluster == *cluster);
    found.map(|wait| wait.on)
}

fn stages(hub: &Hub) -> String {
    let each = hub.asked[0].status.stages.iter();
    let each = each.map(|one| format!("{} {} {}/{}", one.name, one.phase, one.complete, one.total));
    each.collect::<Vec<_>>().join(", ")
}

#[test]
fn stages_go_one_after_the_other_and_the_rest_comes_last() {
    let mut hub = Hub::new(8);
    hub.ask("mcu", staged());
    assert!(hub.run(5, 30, |hub| hub.with(0, "platform").len() == 1));
    assert_eq!(waits(&mut hub, "dev2"), Some(Hold::Canary));
    assert_eq!(stages(&hub), "test Waiting 0/2, eu Waiting 0/3");
    assert!(hub.run(5, 60, |hub| hub.with(0, "platform").contains("dev2")));
    assert_eq!(
        hub.with(0, "platform").len(),
        2,
        "dev1 belongs to the canary clusters"
    );
    for cluster in ["dev4", "dev8"] {
        assert_eq!(waits(&mut hub, cluster), Some(Hold::Stage("test".into())));
    }
    let ready = condition(&hub, "Ready");
    assert!(
        ready.ends_with("the clusters of stage \"test\" are not complete"),
        "{ready}"
    );
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev3") == "Complete/Done"));
    assert_eq!(waits(&mut hub, "dev4"), Some(Hold::Soak("test".into())));
    assert_eq!(stages(&hub), "test Soaking 2/2, eu Waiting 0/3");
    let begin = hub.now;
    assert!(hub.run(5, 300, |hub| !hub.with(0, "platform").is_empty()));
    let soaked = hub.now.duration_since(begin).as_secs();
    assert!((590..=610).contains(&soaked), "{soaked}");
    assert_eq!(
        hub.with(0, "platform").len(),
        3,
        "all clusters of the stage at once"
    );
    assert_eq!(waits(&mut hub, "dev7"), Some(Hold::Stage("eu".into())));
    let told = hub.asked[0]
        .status
        .clusters
        .iter()
        .find(|told| told.name == "dev4");
    assert_eq!(told.map(|told| told.stage.as_str()), Some("eu"));
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
    assert_eq!(stages(&hub), "test Complete 2/2, eu Complete 3/3");
}

#[test]
fn a_cluster_waits_for_those_of_its_stage_that_keep_their_slots() {
    let mut hub = Hub::new(3);
    let mut spec = staged();
    spec["upgradeStrategy"]["stages"][0]["maxConcurrency"] = json!(1);
    hub.ask("mcu", spec);
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev2").starts_with("Partial")));
    assert_eq!(waits(&mut hub, "dev3"), Some(Hold::Slot));
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev2") == "Complete/Done"));
    assert_eq!(waits(&mut hub, "dev3"), Some(Hold::Soak("test".into())));
}

#[test]
fn a_cluster_that_cannot_start_keeps_its_stage_open() {
    let mut hub = Hub::new(6);
    hub.ask("mcu", staged());
    hub.clusters.get_mut("dev3").expect("it").available = false;
    hub.run(30, 100, |_| false);
    assert_eq!(hub.told(0, "dev2"), "Complete/Done");
    assert_eq!(waits(&mut hub, "dev4"), Some(Hold::Stage("test".into())));
    hub.clusters.get_mut("dev3").expect("it").available = true;
    assert!(hub.run(30, 100, |hub| phase(hub) == "Complete"));
}

#[test]
fn too_many_failures_in_one_stage_stop_the_upgrade_and_tolerated_ones_do_not() {
    for (most, expected) in [(0, "Halted"), (1, "Failed")] {
        let mut hub = Hub::new(6);
        let mut spec = staged();
        spec["upgradeStrategy"]["maxFailures"] = json!(most);
        hub.ask("mcu", spec);
        hub.behave("dev2", |one| one.upgrade = None);
        assert!(hub.run(120, 300, |hub| phase(hub) == expected), "{}", phase(&hub));
        let is_over = hub.told(0, "dev4") == "Complete/Done";
        assert_eq!(is_over, most == 1, "{}", hub.told(0, "dev4"));
    }
}

#[test]
fn a_forecast_waits_for_the_soak_of_a_stage() {
    let mut hub = Hub::new(4);
    hub.ask("mcu", staged());
    let asked = hub.asked[0].clone();
    let found = forecast(&hub.view(&asked, "uid-0"), hub.now);
    let starts: Vec<u64> = found.waves.iter().map(|wave| wave.after.as_secs() / 60).collect();
    assert_eq!(starts, [0, 60, 130], "{found:?}");
    assert!(found.ends_after.is_some());
}

#[test]
fn each_cluster_goes_through_every_hop_and_keeps_its_slot() {
    let mut hub = Hub::new(2);
    hub.ask("mcu", with_hops());
    for version in ["4.12.9", "4.13.7", "4.14.3"] {
        let has = |hub: &Hub| hub.history["dev1"].0 == version;
        assert!(hub.run(5, 100, has), "{version}: {:?}", hub.history);
        assert_eq!(hub.history["dev2"].0, "4.11.9", "one at a time");
    }
    assert!(hub.run(20, 200, |hub| phase(hub) == "Complete"));
    assert!(hub.history.values().all(|(version, _)| version == "4.14.3"));
}

#[test]
fn a_cluster_skips_the_hops_that_it_has_and_must_not_skip_a_minor_version() {
    let mut hub = Hub::new(2);
    hub.clusters.get_mut("dev1").expect("it").version = "4.13.1".to_owned();
    hub.clusters.get_mut("dev2").expect("it").version = "4.10.1".to_owned();
    hub.ask("mcu", with_hops());
    assert!(hub.run(5, 100, |hub| hub.history["dev1"].0 == "4.13.7"));
    assert_eq!(hub.told(0, "dev2"), "NotStarted/Held PrecheckFailed");
}

#[test]
fn each_hop_has_its_own_timeout() {
    let mut hub = Hub::new(1);
    let mut spec = with_hops();
    spec["upgradeStrategy"]["clusterUpgradeTimeout"] = json!("3m");
    hub.ask("mcu", spec);
    assert!(
        hub.run(5, 300, |hub| phase(hub) == "Complete"),
        "{}",
        hub.told(0, "dev1")
    );
}

#[test]
fn a_pause_holds_the_next_hop() {
    let mut hub = Hub::new(1);
    hub.ask("mcu", with_hops());
    assert!(hub.run(5, 100, |hub| hub.history["dev1"].0 == "4.12.9"));
    hub.edit(0, |spec| spec.suspend = Some(true));
    hub.run(60, 300, |_| false);
    assert_eq!(hub.history["dev1"], ("4.12.9".to_owned(), "Completed".to_owned()));
    assert_eq!(waits(&mut hub, "dev1"), Some(Hold::Paused));
    hub.edit(0, |spec| spec.suspend = None);
    assert!(
        hub.run(20, 200, |hub| phase(hub) == "Complete"),
        "a wait is not a timeout"
    );
}

#[test]
fn another_version_ends_the_run_at_the_hop_that_is_in_progress() {
    let mut hub = Hub::new(2);
    hub.ask("mcu", with_hops());
    assert!(hub.run(5, 100, |hub| hub.history["dev1"].0 == "4.12.9"));
    hub.edit(0, |spec| {
        spec.cluster_version.as_mut().expect("it").version = "4.14.5".to_owned();
    });
    assert!(hub.run(20, 300, |hub| phase(hub) == "Complete"));
    assert!(hub.history.values().all(|(version, _)| version == "4.14.5"));
}

#[test]
fn a_cluster_that_is_not_upgradeable_does_not_go_to_the_next_minor_version() {
    let mut hub = Hub::new(1);
    let mut spec = with_hops();
    spec["clusterVersion"]["hops"] = json!(["4.12.9", "4.12.11", "4.13.7"]);
    hub.ask("mcu", spec);
    hub.not_upgradeable.insert("dev1".into(), "foo blocks".to_owned());
    hub.run(60, 300, |_| false);
    assert_eq!(hub.history["dev1"].0, "4.12.11", "a patch is not held");
    assert_eq!(hub.told(0, "dev1"), "Partial/Platform NotUpgradeable");
    let message = &hub.asked[0].status.clusters[0].message;
    assert!(message.ends_with("Upgradeable=False: foo blocks"), "{message}");
    hub.not_upgradeable.clear();
    assert!(hub.run(20, 200, |hub| phase(hub) == "Complete"));
}

#[test]
fn a_cluster_that_is_not_upgradeable_starts_no_minor_upgrade_and_uses_no_slot() {
    let mut hub = Hub::new(4);
    let mut spec = example();
    spec["upgradeStrategy"]["waitForUpgradeable"] = json!(true);
    spec["upgradeStrategy"]["maxConcurrency"] = json!(1);
    spec["preUpgradeAction"] = job("pre");
    hub.ask("mcu", spec);
    hub.not_upgradeable.insert("dev2".into(), "foo blocks".to_owned());
    hub.clusters.get_mut("dev4").expect("it").version = "4.12.0-rc.1".to_owned();
    assert!(hub.run(5, 300, |hub| hub.told(0, "dev3") == "Complete/Done"));
    assert!(hub.run(5, 300, |hub| hub.told(0, "dev4") == "Complete/Done"));
    assert_eq!(hub.history["dev2"].0, "4.11.9");
    assert_eq!(hub.told(0, "dev2"), "NotStarted/Held NotUpgradeable");
    let told = hub.asked[0]
        .status
        .clusters
        .iter()
        .find(|told| told.name == "dev2");
    let message = &told.expect("it").message;
    assert!(
        message
            .ends_with("to 4.12.0 does not start: the ClusterVersion reports Upgradeable=False: foo blocks"),
        "{message}"
    );
    assert!(condition(&hub, "Stalled").starts_with("True NotUpgradeable"));
    assert!(!hub.with(0, "pre").contains("dev2"), "its action does not run");
    hub.not_upgradeable.clear();
    hub.run(60, 3, |_| false);
    assert!(
        hub.run(20, 100, |hub| phase(hub) == "Complete"),
        "{}",
        hub.told(0, "dev2")
    );
}

#[test]
fn a_cluster_that_is_deselected_before_it_starts_is_no_longer_asked() {
    let mut hub = Hub::new(2);
    let mut spec = example();
    spec["upgradeStrategy"] = json!({"waitForUpgradeable": true});
    hub.ask("mcu", spec);
    hub.not_upgradeable.insert("dev2".into(), "foo blocks".to_owned());
    assert!(hub.run(20, 60, |hub| hub.told(0, "dev2")
        == "NotStarted/Held NotUpgradeable"));
    hub.set.retain(|name| **name != *"dev2");
    hub.settle(0);
    assert!(!hub.with(0, "platform").contains("dev2"));
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
}

#[test]
fn another_version_does_not_wait_for_a_cluster_that_was_only_asked() {
    let mut hub = Hub::new(2);
    let mut spec = example();
    spec["upgradeStrategy"] = json!({"waitForUpgradeable": true});
    hub.ask("mcu", spec);
    hub.not_upgradeable.insert("dev2".into(), "foo blocks".to_owned());
    assert!(hub.run(20, 60, |hub| hub.told(0, "dev1") == "Complete/Done"));
    hub.edit(0, |spec| {
        spec.cluster_version.as_mut().expect("it").version = "4.11.30".to_owned();
    });
    hub.clusters.get_mut("dev1").expect("it").version = "4.11.9".to_owned();
    assert!(
        hub.run(20, 60, |hub| hub.history["dev2"].0 == "4.11.30"),
        "{}",
        hub.told(0, "dev2")
    );
}

#[test]
fn a_cluster_waits_for_its_worker_pools() {
    let mut hub = Hub::new(1);
    hub.pools = 600;
    let mut spec = example();
    spec["upgradeStrategy"]["waitForWorkerPools"] = json!(["worker", "infra"]);
    hub.ask("mcu", spec);
    let waits = "Partial/Platform WorkerPoolsUpdating";
    assert!(hub.run(20, 60, |hub| hub.told(0, "dev1") == waits));
    assert_eq!(
        hub.asked[0].status.clusters[0].message,
        "0 of 2 worker pools are updated"
    );
    assert!(hub.run(20, 60, |hub| phase(hub) == "Complete"));
}

/// A manifest of a pool that lost its configuration would be written to the cluster.
#[test]
fn a_pool_is_only_observed_also_after_a_timeout() {
    let mut hub = Hub::new(1);
    hub.pools = 100_000;
    let mut spec = example();
    spec["upgradeStrategy"]["waitForWorkerPools"] = json!(["worker"]);
    hub.ask("mcu", spec);
    assert!(hub.run(600, 60, |hub| hub.told(0, "dev1") == "Failed/Done UpgradeTimeout"));
    hub.settle(0);
    let work = &hub.works["dev1"]["dev1-cluster-upgrade"].object["spec"];
    let types: Vec<_> = work["manifestConfigs"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(types.len(), 2, "{work}");
    assert!(
        types
            .iter()
            .all(|one| one["updateStrategy"]["type"] == "ReadOnly"),
        "{work}"
    );
    let orphans = &work["deleteOption"]["selectivelyOrphans"]["orphaningRules"];
    assert!(
        orphans
            .as_array()
            .expect("a list")
            .iter()
            .any(|one| one["name"] == "worker")
    );
}

#[test]
fn a_stage_waits_for_approval_and_a_rejection_holds_it() {
    let mut hub = Hub::new(8);
    let mut spec = staged();
    spec["upgradeStrategy"]["stages"][1]["approval"] = json!(true);
    hub.ask("mcu", spec);
    assert!(hub.approvals.is_empty(), "no cluster waits yet");
    assert!(hub.run(20, 90, |hub| !hub.approvals.is_empty()));
    let name = "upgrade.cluster.default.mcu.eu";
    hub.settle(0);
    assert_eq!(hub.approvals[name].status["state"], json!("Waiting"));
    assert_eq!(hub.approvals[name].status["clusters"], json!(3));
    assert_eq!(
        hub.approvals[name].status["changes"],
        json!(["cluster version: -> 4.12.0"])
    );
    assert_eq!(waits(&mut hub, "dev4"), Some(Hold::Approval("eu".into())));
    assert_eq!(
        waits(&mut hub, "dev8"),
        Some(Hold::Stage("eu".into())),
        "it is in no stage"
    );
    assert_eq!(phase(&hub), "WaitingForApproval");
    assert_eq!(stages(&hub), "test Complete 2/2, eu WaitingForApproval 0/3");
    assert!(condition(&hub, "Ready").contains("waiting for approval of stage \"eu\""));
    assert!(!hub.run(30, 10, |hub| hub.with(0, "platform").contains("dev4")));

    hub.decide(name, "Rejected", "not this week");
    hub.settle(0);
    assert_eq!(
        waits(&mut hub, "dev4"),
        Some(Hold::Rejected("eu".into(), "lead (not this week)".to_owned()))
    );
    assert_eq!(phase(&hub), "Halted");
    assert!(condition(&hub, "Stalled").starts_with("True Halted"));
    assert!(!hub.run(30, 10, |hub| hub.with(0, "platform").contains("dev4")));

    hub.decide(name, "Approved", "");
    assert!(hub.run(20, 90, |hub| hub.with(0, "platform").contains("dev4")));
    assert_eq!(hub.approvals[name].status["state"], json!("Approved"));
    assert!(hub.run(60, 90, |hub| phase(hub) == "Complete"));

    // Another version is another content.
    hub.edit(0, |spec| {
        spec.cluster_version.get_or_insert_default().version = "4.12.7".to_owned();
    });
    assert!(hub.run(20, 90, |hub| hub.approvals[name].status["state"]
        == json!("Waiting")));
    assert!(!hub.run(30, 10, |hub| hub.told(0, "dev4").starts_with("Initialized")));
    hub.edit(0, |spec| {
        let strategy = spec.upgrade_strategy.get_or_insert_default();
        strategy.stages.iter_mut().for_each(|stage| stage.approval = None);
    });
    hub.settle(0);
    assert!(hub.approvals.is_empty(), "none is needed any more");
    // A profile may ask for it as well, and the approvals are deleted with the upgrade.
    let profile = serde_json::from_value(json!({"approvalBefore": ["eu"]})).expect("a spec");
    hub.edit(0, |spec| {
        spec.cluster_version.get_or_insert_default().version = "4.12.9".to_owned();
    });
    hub.profile = model::RolloutProfile::parse("all", &profile, &kubernetes::field::Path::root()).ok();
    assert!(hub.run(20, 120, |hub| !hub.approvals.is_empty()));
    hub.asked[0].life = super::Life::Goes;
    assert!(hub.run(20, 60, |hub| hub.asked[0].life == super::Life::Gone));
    assert!(hub.approvals.is_empty());
}

#[test]
fn the_next_stage_waits_for_the_checks_of_a_stage() {
    let mut hub = Hub::new(8);
    let mut spec = staged();
    spec["upgradeStrategy"]["stages"][0]["checks"] = json!(["smoke"]);
    hub.ask("mcu", spec);
    hub.report_check("smoke", "Passed");
    assert!(hub.run(20, 150, |hub| stages(hub).starts_with("test Complete")));
    hub.settle(0);
    let hold = waits(&mut hub, "dev4").expect("it waits");
    assert_eq!(hold.word(), "WaitingForCheck");
    assert_eq!(
        hold.sentence(),
        "stage \"eu\" is waiting for a RolloutCheck: \"smoke\" has no result since the earlier clusters were updated"
    );
    assert_eq!(waits(&mut hub, "dev8"), Some(Hold::Stage("eu".into())));
    assert_eq!(phase(&hub), "Waiting");
    assert_eq!(stages(&hub), "test Complete 2/2, eu WaitingForCheck 0/3");
    assert!(condition(&hub, "Ready").ends_with(&*hold.sentence()));
    hub.report_check("smoke", "Failed");
    hub.settle(0);
    let hold = waits(&mut hub, "dev4").expect("it waits");
    assert!(
        hold.sentence().ends_with("\"smoke\" has failed"),
        "all may fail, and yet no cluster starts"
    );
    assert!(!hub.run(30, 10, |hub| hub.with(0, "platform").contains("dev4")));
    hub.checks_pass = true;
    assert!(hub.run(20, 10, |hub| hub.with(0, "platform").contains("dev4")));
    assert!(hub.run(60, 90, |hub| phase(hub) == "Complete"));
}

#[test]
fn a_failed_check_counts_as_a_failed_cluster_of_its_stage() {
    let mut hub = Hub::new(8);
    let mut spec = staged();
    spec["upgradeStrategy"]["maxFailures"] = json!(0);
    spec["upgradeStrategy"]["stages"][0]["checks"] = json!(["smoke"]);
    hub.ask("mcu", spec);
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev2").starts_with("Partial")));
    hub.pass(1);
    hub.report_check("smoke", "Failed");
    hub.settle(0);
    assert_eq!(phase(&hub), "Halted");
    let stalled = condition(&hub, "Stalled");
    let expected = "more failed than spec.upgradeStrategy.maxFailures allows: the RolloutCheck \"smoke\" failed (3 errors)";
    assert!(stalled.contains(expected), "{stalled}");
    hub.checks_pass = true;
    assert!(hub.run(60, 90, |hub| phase(hub) == "Complete"));
    // What the check says of a later time is not about this upgrade.
    hub.checks_pass = false;
    hub.report_check("smoke", "Failed");
    hub.settle(0);
    assert_eq!(phase(&hub), "Complete");
    assert!(
        !condition(&hub, "Ready").contains("smoke"),
        "{}",
        condition(&hub, "Ready")
    );
}

#[test]
fn checks_of_a_profile_follow_the_canary_clusters_without_stages_as_well() {
    let profile = serde_json::from_value(json!({"checks": ["smoke"]})).expect("a spec");
    for has_stages in [false, true] {
        let mut hub = Hub::new(6);
        hub.profile = model::RolloutProfile::parse("all", &profile, &kubernetes::field::Path::root()).ok();
        let mut spec = if has_stages { staged() } else { example() };
        if has_stages {
            spec["upgradeStrategy"]["stages"][0]["checks"] = json!([]);
        }
        hub.ask("mcu", spec);
        assert!(hub.run(20, 90, |hub| hub.told(0, "dev1") == "Complete/Done"));
        hub.settle(0);
        let hold = waits(&mut hub, "dev2").expect("it waits");
        assert!(
            hold.sentence()
                .ends_with("waiting for a RolloutCheck: \"smoke\" does not exist"),
            "{}",
            hold.sentence()
        );
        assert!(!hub.run(20, 30, |hub| hub.with(0, "platform").contains("dev2")));
        hub.report_check("smoke", "Passed");
        assert!(hub.run(20, 10, |hub| hub.told(0, "dev2").starts_with("Initialized")));
        // The stage test has no checks; those of the stage eu are those of the profile.
        hub.run(20, 300, |hub| hub.told(0, "dev4") == "Complete/Done");
        assert_eq!(hub.told(0, "dev4"), "Complete/Done");
    }
}
