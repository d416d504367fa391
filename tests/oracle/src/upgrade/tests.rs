//! The checker can fail: plans that are right but for one fault that the test puts in.
//!
//! Decides nothing; every row is one fault and the rule that it breaks.

use serde_json::{Value, json};

use super::check;
use crate::upgrade::sim::Hub;
use plan::upgrade::{Plan, plan};
use plan::upgrade::{Revision, Write};
use store::upgrade::View;
use store::upgrade::marks::Stage;

fn spec() -> Value {
    json!({
        "clusterSelector": {"clusterSets": ["dev"]},
        "clusterVersion": {"version": "4.12.0"},
        "ocpOperators": {"approveAllUpgrades": true},
        "preUpgradeAction": {"manifestWork": {"workload": {"manifests": [
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"}}]}}},
        "upgradeStrategy": {"maxConcurrency": 2, "canaryClusters": {"clusterSelector": {"matchLabels": {"name": "dev1"}}}},
    })
}

fn create(cluster: &str, stage: Stage) -> Write {
    let name = stage.work(cluster, "mcu");
    Write::Create {
        cluster: cluster.into(),
        body: json!({"metadata": {"name": name, "labels": {store::upgrade::marks::UID: "uid-0"}}}),
        name,
        stage,
    }
}

fn delete(view: &View<'_>, cluster: &str, stage: Stage) -> Write {
    let name = stage.work(cluster, "mcu");
    Write::Delete {
        cluster: cluster.into(),
        before: Revision::from(&view.works[cluster][&name]),
        name,
    }
}

/// Checks a plan of a hub after a change of it.
fn broken(hub: &Hub, change: impl FnOnce(&View<'_>, &mut Plan)) -> Vec<String> {
    let asked = hub.asked[0].clone();
    let view = hub.view(&asked, "uid-0");
    let mut made = plan(&view, hub.now);
    assert_eq!(check(&view, &made, hub.now), Vec::<String>::new(), "it was right");
    change(&view, &mut made);
    check(&view, &made, hub.now)
}

/// A hub where the canary upgrades.
fn early() -> Hub {
    let mut hub = Hub::new(5);
    hub.ask("mcu", spec());
    assert!(hub.run(5, 20, |hub| hub.told(0, "dev1").starts_with("Partial")));
    hub
}

/// A hub where two others do.
fn late() -> Hub {
    let mut hub = Hub::new(5);
    hub.ask("mcu", spec());
    assert!(hub.run(5, 60, |hub| hub.told(0, "dev2").starts_with("Partial")));
    hub
}

#[test]
fn what_comes_too_early_is_found() {
    let rows: [(Hub, &str, Stage, &str); 6] = [
        (early(), "dev2", Stage::Pre, "R77"),
        (early(), "dev2", Stage::Platform, "R74"),
        (early(), "dev1", Stage::Operators, "R80"),
        (early(), "dev1", Stage::Post, "R80"),
        (late(), "dev4", Stage::Platform, "R79"),
        (late(), "no-cluster", Stage::Pre, "R78"),
    ];
    for (hub, cluster, stage, rule) in rows {
        let found = broken(&hub, |_, made| made.writes.push(create(cluster, stage)));
        assert!(
            found.iter().any(|fault| fault.starts_with(rule)),
            "{rule}: {found:?}"
        );
    }
}

#[test]
fn what_may_not_start_is_found() {
    for (key, value) in [
        ("suspend", json!(true)),
        ("preview", json!(true)),
        (
            "upgradeStrategy",
            json!({"window": {"cron": "0 0 29 2 *", "duration": "1h"}}),
        ),
    ] {
        let mut hub = late();
        let mut raw = spec();
        raw[key] = value;
        hub.asked[0].spec = serde_json::from_value(raw).expect("a spec");
        let found = broken(&hub, |_, made| made.writes.push(create("dev4", Stage::Pre)));
        assert!(
            found.iter().any(|fault| fault.starts_with("I13")),
            "{key}: {found:?}"
        );
    }
}

#[test]
fn what_is_not_ours_or_is_needed_is_found() {
    let over = broken(&late(), |_, made| {
        made.writes.push(create("dev2", Stage::Platform));
    });
    assert!(over.iter().any(|fault| fault.starts_with("R73")), "{over:?}");
    let mut hub = late();
    let stored = hub
        .works
        .get_mut("dev2")
        .expect("works")
        .get_mut("dev2-cluster-upgrade")
        .expect("a work");
    stored.object["metadata"]["labels"][store::upgrade::marks::UID] = "theirs".into();
    let asked = hub.asked[0].clone();
    let view = hub.view(&asked, "uid-0");
    let made = Plan {
        writes: vec![delete(&view, "dev2", Stage::Platform)],
        ..Plan::default()
    };
    let theirs = check(&view, &made, hub.now);
    assert!(theirs.iter().any(|fault| fault.starts_with("R73")), "{theirs:?}");
    for (stage, rule) in [(Stage::Pre, "R76"), (Stage::Platform, "R78")] {
        let gone = broken(&late(), |view, made| {
            made.writes.push(delete(view, "dev2", stage));
        });
        assert!(gone.iter().any(|fault| fault.starts_with(rule)), "{gone:?}");
    }
    let mut unheld = late();
    unheld.asked[0].held = false;
    let found = broken(&unheld, |_, made| made.writes.push(create("dev4", Stage::Pre)));
    assert!(found.iter().any(|fault| fault.starts_with("R85")), "{found:?}");
}

#[test]
fn counts_and_conditions_that_cannot_be_are_found() {
    type Change = fn(&mut api::cluster::ManagedClustersUpgradeStatus);
    let rows: [(Change, &str); 7] = [
        (
            |told| told.clusters_summary.get_or_insert_default().pending += 1,
            "R47",
        ),
        (
            |told| told.canary_clusters_summary.get_or_insert_default().complete += 9,
            "R47",
        ),
        (
            |told| told.state_counts.get_or_insert_default().partial += 1,
            "R48",
        ),
        (
            |told| told.pre_upgrade_action_summary.get_or_insert_default().available += 1,
            "R49",
        ),
        (|told| told.conditions.reverse(), "R52"),
        (|told| told.conditions[3].status = "True".to_owned(), "R54"),
        (|told| told.clusters[0].state = "Initialized".to_owned(), "I7"),
    ];
    for (change, rule) in rows {
        let hub = late();
        let found = broken(&hub, |view, made| {
            let mut status = view.upgrade.status.clone();
            change(&mut status);
            made.status = Some(status);
        });
        assert!(
            found.iter().any(|fault| fault.starts_with(rule)),
            "{rule}: {found:?}"
        );
    }
}
