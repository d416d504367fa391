//! Random disorder: clusters come and go, fail and stall, users pause, ask again and change their minds, and the program ends
//! between two writes.
//!
//! Every plan is checked, two upgrades never have one cluster, and when the disorder is over everything ends and nothing more is
//! written.

use proptest::prelude::*;
use serde_json::json;

use super::{Behaviour, Hub, Job, Life};
use kubernetes::field::Path;
use model::RolloutProfile;
use plan::upgrade::plan;

/// Something that happens.
#[derive(Debug, Clone, Copy)]
enum Happening {
    Pass(i64),
    Join(u8),
    Leave(u8),
    Deselect(u8),
    Select(u8),
    Answer(u8, bool),
    /// A cluster moves to another stage.
    Label(u8, bool),
    Behave(u8, Behaviour),
    Pause(bool, bool),
    /// A scheduler begins to write its decisions again, or has ended.
    Undecide(bool),
    Retry(bool, u8),
    Limit(bool, u8),
    Version(bool, u8),
    /// The program ends after so many writes of its next plan.
    Crash(bool, u8),
    Delete(bool),
    /// A freeze, a profile, or none any more.
    Hold(u8),
    /// A result of the check of the early stage.
    Report(&'static str),
}

fn ends() -> impl Strategy<Value = Job> {
    prop_oneof![
        4 => (1_i64..60).prop_map(Job::Good),
        1 => (1_i64..60).prop_map(Job::Bad),
        1 => Just(Job::Stuck),
    ]
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    let apply = prop_oneof![5 => (1_i64..30).prop_map(Some), 1 => Just(None)];
    let upgrade = prop_oneof![4 => (10_i64..300).prop_map(Some), 1 => Just(None)];
    (apply, upgrade, ends(), ends(), ends()).prop_map(|(apply, upgrade, pre, operators, post)| Behaviour {
        apply,
        upgrade,
        pre,
        operators,
        post,
    })
}

fn happening() -> impl Strategy<Value = Happening> {
    let cluster = || 1_u8..8;
    prop_oneof![
        8 => (1_i64..120).prop_map(Happening::Pass),
        1 => cluster().prop_map(Happening::Join),
        1 => cluster().prop_map(Happening::Leave),
        1 => cluster().prop_map(Happening::Deselect),
        1 => cluster().prop_map(Happening::Select),
        1 => (cluster(), any::<bool>()).prop_map(|(at, yes)| Happening::Answer(at, yes)),
        1 => (cluster(), any::<bool>()).prop_map(|(at, yes)| Happening::Label(at, yes)),
        3 => (cluster(), behaviour()).prop_map(|(at, one)| Happening::Behave(at, one)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(at, yes)| Happening::Pause(at, yes)),
        1 => any::<bool>().prop_map(Happening::Undecide),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(at, word)| Happening::Retry(at, word)),
        1 => (any::<bool>(), 1_u8..5).prop_map(|(at, most)| Happening::Limit(at, most)),
        1 => (any::<bool>(), 0_u8..3).prop_map(|(at, version)| Happening::Version(at, version)),
        2 => (any::<bool>(), 0_u8..4).prop_map(|(at, most)| Happening::Crash(at, most)),
        1 => any::<bool>().prop_map(Happening::Delete),
        2 => (0_u8..6).prop_map(Happening::Hold),
        3 => prop_oneof![2 => Just("Passed"), 1 => Just("Failed"), 1 => Just("Unknown")].prop_map(Happening::Report),
    ]
}

fn spec(version: &str, first: &str, has_actions: bool) -> serde_json::Value {
    let job = json!({"manifestWork": {"workload": {"manifests": [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"}}]}}, "timeout": "10m"});
    let mut spec = json!({
        "clusterSelector": {"clusterSets": ["dev"]},
        "clusterVersion": {"version": version},
        "ocpOperators": {"approveAllUpgrades": true},
        "upgradeStrategy": {
            "canaryClusters": {"clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": [first]}]}},
            "clusterUpgradeTimeout": "20m", "operatorsUpgradeTimeout": "5m", "maxConcurrency": 2,
        },
    });
    if has_actions {
        spec["preUpgradeAction"] = job.clone();
        spec["postUpgradeAction"] = job;
    }
    spec
}

/// Two stages, one of which soaks, and a version on the way.
fn staged(mut spec: serde_json::Value) -> serde_json::Value {
    spec["clusterVersion"]["hops"] = json!(["4.12.0-rc.1"]);
    spec["upgradeStrategy"]["stages"] = json!([
        {"name": "early", "clusterSelector": {"matchLabels": {"tier": "early"}}, "minSuccessTime": "1m", "checks": ["smoke"]},
        {"name": "late", "clusterSelector": {"matchExpressions": [
            {"key": "name", "operator": "In", "values": ["dev2", "dev4"]}]}, "maxConcurrency": 1},
    ]);
    spec["upgradeStrategy"]["waitForUpgradeable"] = json!(true);
    spec["upgradeStrategy"]["waitForWorkerPools"] = json!(["worker"]);
    spec
}

fn happen(hub: &mut Hub, what: Happening) {
    let name = |at: u8| format!("dev{at}");
    match what {
        Happening::Pass(seconds) => hub.pass(seconds),
        Happening::Join(at) => {
            if !hub.clusters.contains_key(name(at).as_str()) {
                hub.join(&name(at), Behaviour::default());
            }
        }
        Happening::Leave(at) => hub.remove(&name(at)),
        Happening::Deselect(at) => {
            hub.set.remove(name(at).as_str());
        }
        Happening::Select(at) => {
            if hub.clusters.contains_key(name(at).as_str()) {
                hub.set.insert(name(at).as_str().into());
            }
        }
        Happening::Answer(at, yes) => {
            if let Some(cluster) = hub.clusters.get_mut(name(at).as_str()) {
                cluster.available = yes;
            }
        }
        Happening::Label(at, yes) => {
            if let Some(cluster) = hub.clusters.get_mut(name(at).as_str()) {
                let tier = if yes { "early" } else { "late" };
                cluster.labels.insert("tier".to_owned(), tier.to_owned());
            }
        }
        Happening::Behave(at, one) => {
            hub.behaviour.insert(name(at).as_str().into(), one);
        }
        Happening::Report(result) => hub.report_check("smoke", result),
        Happening::Pause(at, yes) => hub.edit(usize::from(at), |spec| spec.suspend = Some(yes)),
        Happening::Undecide(yes) => hub.undecided = yes,
        Happening::Retry(at, word) => hub.asked[usize::from(at)].retry = word.to_string(),
        Happening::Limit(at, most) => hub.edit(usize::from(at), |spec| {
            let strategy = spec.upgrade_strategy.get_or_insert_default();
            strategy.max_concurrency = Some(api::IntOrString::Int(most.into()));
        }),
        Happening::Version(at, version) => hub.edit(usize::from(at), |spec| {
            spec.cluster_version.get_or_insert_default().version = format!("4.12.{version}");
        }),
        Happening::Hold(what) => hold(hub, what),
        Happening::Crash(at, most) => crash(hub, usize::from(at), usize::from(most)),
        Happening::Delete(at) => {
            let asked = &mut hub.asked[usize::from(at)];
            // An object without a finalizer is deleted at once.
            asked.life = if asked.held && asked.life != Life::Gone {
                Life::Goes
            } else {
                Life::Gone
            };
        }
    }
}

/// Some clusters are frozen, a profile pauses the upgrades or has windows and an order, or nothing holds them any more.
fn hold(hub: &mut Hub, what: u8) {
    let early = json!({"matchLabels": {"tier": "early"}});
    hub.freezes.clear();
    hub.profile = None;
    let spec = match what {
        0 => json!({"pause": {"reason": "release day"}}),
        1 => {
            json!({"clusterWindows": [{"clusterSelector": early, "windows": [{"cron": "*/7 * * * *", "duration": "2m"}]}]})
        }
        2 => json!({"windows": [{"cron": "*/5 * * * *", "duration": "1m"}], "orderBy": "tier"}),
        3 => return hub.freeze(json!({"reason": "audit", "clusterSelector": early})),
        _ => return,
    };
    let spec = serde_json::from_value(spec).expect("a spec");
    hub.profile = RolloutProfile::parse("all", &spec, &Path::root()).ok();
}

/// The program ends after some writes of a plan, and begins again with what the hub has.
fn crash(hub: &mut Hub, at: usize, most: usize) {
    let asked = hub.asked[at].clone();
    if asked.life == Life::Gone {
        return;
    }
    let uid = super::hub::uid(at);
    let made = plan(&hub.view(&asked, &uid), hub.now);
    hub.write(at, &made, most);
}

/// Clusters that stall are fixed, all of them answer, nothing is paused: now everything has to end.
fn fix(hub: &mut Hub) {
    let names: Vec<_> = hub.behaviour.keys().cloned().collect();
    for name in names {
        hub.behaviour.insert(name, Behaviour::default());
    }
    for cluster in hub.clusters.values_mut() {
        cluster.available = true;
    }
    hub.undecided = false;
    hub.report_check("smoke", "Passed");
    hub.checks_pass = true;
    hold(hub, u8::MAX);
    for at in 0..hub.asked.len() {
        hub.edit(at, |spec| spec.suspend = None);
        let asked = &mut hub.asked[at];
        asked.retry = format!("{}-last", asked.retry);
    }
}

fn owners_are_apart(hub: &Hub) {
    for stage in ["platform", "operators"] {
        let (one, two) = (hub.with(0, stage), hub.with(1, stage));
        assert!(one.is_disjoint(&two), "{stage}: {one:?} {two:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn disorder_breaks_no_rule_and_everything_ends(
        has_actions in any::<bool>(),
        has_stages in any::<bool>(),
        all in proptest::collection::vec(happening(), 1..60),
    ) {
        let mut hub = Hub::new(5);
        let one = spec("4.12.0", "dev1", has_actions);
        hub.ask("one", if has_stages { staged(one) } else { one });
        hub.ask("two", spec("4.12.1", "dev5", false));
        for what in all {
            happen(&mut hub, what);
            for at in 0..2 {
                let _plan = hub.plan(at);
            }
            owners_are_apart(&hub);
        }
        fix(&mut hub);
        hub.run(30, 600, |hub| hub.asked.iter().all(|asked| asked.life == Life::Gone || asked.status.phase == "Complete"));
        let quiet = hub.asked.iter().enumerate().filter(|(_, asked)| asked.life != Life::Gone);
        let at: Vec<usize> = quiet.map(|(at, _)| at).collect();
        for at in at {
            hub.settle(at);
            let status = &hub.asked[at].status;
            let ended = status.clusters.iter().all(|told| ["Complete", "Failed", "NotStarted"].contains(&told.state.as_str()));
            prop_assert!(ended, "{status:#?}");
            prop_assert!(status.state_counts.is_some_and(|counts| counts.initialized + counts.partial == 0));
        }
    }
}
