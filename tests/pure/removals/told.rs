//! Which removals are blocked and reported while the selection of a placement or the time is unknown, or an owner cannot be
//! read.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use plan::{self, Action, Plan};
use serde_json::json;
use store::{Kind, Name, ObjectKey, Settings};

use super::world::World;
use super::{HOUR, Mistake, without_clusters};

#[test]
fn a_clock_that_jumps_before_a_restart_ends_no_wait() {
    for jump in [SignedDuration::from_mins(10), HOUR, HOUR * 10_000, -HOUR] {
        let mut world = without_clusters(20, 2);
        world.pass(SignedDuration::from_secs(30));
        world.now += jump;
        world.restart();
        world.pass(SignedDuration::from_secs(599));
        assert_eq!(world.left(), 20, "{jump:?}");
        world.pass(SignedDuration::from_mins(12));
        assert_eq!(world.left(), 18, "{jump:?}");
    }
}

#[test]
fn messages_while_the_time_is_unknown_are_written_once_and_removed() {
    let mut world = World::new("Placements", 4);
    world.decide(0);
    let view = world.store.view("hello").expect("it is there");
    let plan = plan::timeless(&view, world.now);
    assert_eq!(oracle::check(&view, &plan, world.now), Vec::<String>::new());
    let [Action::Status { patch, .. }] = plan.actions.as_slice() else {
        panic!("{plan:?}");
    };
    let conditions = patch.value()["status"]["conditions"].clone();
    let told: Vec<String> = conditions
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| format!("{} {} {}", one["type"], one["status"], one["reason"]).replace('"', ""))
        .collect();
    assert_eq!(
        told,
        [
            "Ready False ClockUnknown",
            "Reconciling False Settled",
            "Stalled True ClockUnknown"
        ]
    );
    let metadata = json!({"name": "hello", "generation": 0});
    let spec = json!({"installStrategy": world.spec});
    world.put(
        Kind::AddOn,
        &json!({"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}),
    );
    let view = world.store.view("hello").expect("it is there");
    assert_eq!(
        plan::timeless(&view, world.now),
        Plan::default(),
        "nothing is said twice"
    );
    assert_eq!(world.stalled(), "\"False\" \"NotStalled\"");
}

/// Unknown states of a placement that a strategy was just changed to, and the add-on's conditions for them.
fn little_known() -> [(&'static str, Mistake, &'static str); 6] {
    let undecided = "placement default/new has no complete PlacementDecision yet";
    [
        ("absent", |_| {}, "placement default/new does not exist"),
        ("without a status", |world| world.second(None, None), undecided),
        (
            "with an empty decision",
            |world| world.second(None, Some(0)),
            undecided,
        ),
        (
            "counted, not decided",
            |world| world.second(Some(4), None),
            undecided,
        ),
        (
            "half decided",
            |world| world.second(Some(1000), Some(0)),
            undecided,
        ),
        (
            "counted, with an empty decision",
            |world| world.second(Some(4), Some(0)),
            undecided,
        ),
    ]
}

#[test]
fn a_strategy_with_an_undecided_placement_removes_nothing() {
    for (what, little, says) in little_known() {
        for (from, placements) in [
            ("Placements", &["new"] as &[&str]),
            ("Placements", &["all", "new"]),
            ("Placements", &["new", "all"]),
            ("ClusterLabelSelector", &["new"]),
        ] {
            for (clusters, grace) in [(4, 10), (4, 0), (100, 10)] {
                let settings = Settings {
                    decision_grace: std::time::Duration::from_secs(grace),
                    ..Settings::default()
                };
                let what = format!("{what}: {from} to {placements:?}, {clusters} with a grace of {grace}");
                let mut world = World::with(from, clusters, settings);
                world.pass(SignedDuration::from_secs(1));
                little(&mut world);
                world.decide(0);
                world.follow(placements);
                world.pass(HOUR);
                assert_eq!(world.left(), clusters, "{what}");
                assert!(world.says().contains(says), "{what}: {}", world.says());
                let held = format!("{clusters} removals are delayed");
                let kept = world.says().contains(&format!("0 of {clusters} clusters"));
                assert!(
                    kept || (world.says().contains(&held) && world.held() == clusters),
                    "{what}: {}",
                    world.says()
                );
                // Only now is it known that the clusters are deselected: the time of grace begins.
                world.second(Some(0), Some(0));
                world.pass(SignedDuration::from_secs(0));
                assert!(grace == 0 || world.left() == clusters, "{what}");
                world.pass(HOUR);
                assert_eq!(world.left(), 0, "{what}");
            }
        }
    }
}

#[test]
fn what_a_placement_selects_in_the_end_was_never_on_its_way_out() {
    for (what, little, _) in little_known() {
        let mut world = World::new("Placements", 4);
        world.pass(SignedDuration::from_secs(1));
        little(&mut world);
        world.follow(&["new"]);
        world.pass(HOUR);
        world.second(Some(4), Some(4));
        world.pass(HOUR);
        assert_eq!((world.left(), world.gone.len()), (4, 0), "{what}");
    }
}

#[test]
fn owners_that_cannot_be_read_again_are_reported() {
    for clusters in [4, 100] {
        let mut world = World::new("Placements", clusters);
        world.pass(SignedDuration::from_secs(1));
        world.decide(0);
        world.pass(SignedDuration::from_secs(5));
        let reason = ObjectKey::new(Kind::Placement, "default", "all");
        let owner = ObjectKey::addon(&"hello".into());
        let unread = BTreeMap::from([(reason, Name::from("a fault: Forbidden"))]);
        assert!(world.store.reasons_answered(&owner, unread.clone()));
        assert!(!world.store.reasons_answered(&owner, unread), "told once");
        world.now += SignedDuration::from_secs(10);
        assert_eq!(world.stalled(), "\"True\" \"RemovalUnconfirmed\"");
        assert_eq!(world.held(), clusters);
        let says = world.says();
        assert!(
            says.contains("cannot read Placement default/all again: a fault: Forbidden"),
            "{says}"
        );
        assert!(
            says.ends_with(&format!(
                "0 clusters are selected. {clusters} removals are delayed"
            )),
            "{says}"
        );
        world.store.reasons_read(&ObjectKey::addon(&"hello".into()));
        assert!(!world.stalled().contains("RemovalUnconfirmed"));
        world.pass(HOUR);
        assert_eq!(world.left(), 0);
    }
}

#[test]
fn blocked_removals_are_reported_with_the_time_at_which_they_continue() {
    let mut world = World::new("Placements", 100);
    world.decide(0);
    world.pass(SignedDuration::from_secs(30));
    let says = world.says();
    let expected = "80 removals are delayed: at most 20 instances are removed per minute, the next at 2030-01-01T00:01:10Z; to remove all of them now, annotate";
    assert!(says.starts_with(expected), "{says}");
    assert!(
        says.ends_with("0 clusters are selected. 80 removals are delayed"),
        "{says}"
    );
}
