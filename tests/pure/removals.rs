//! The rate at which a fleet can be uninstalled: never faster than the budget, with any failure and any change of the leader.

mod told;
mod world;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proptest::prelude::{Just, ProptestConfig, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::json;
use store::{Kind, RemovalBudget, Settings, Store, terms};
use world::World;

use crate::kit::search::amount;

/// What a user or the scheduler does to a hub.
type Mistake = fn(&mut World);

/// Everything that makes a strategy let a whole fleet go.
fn mistakes() -> BTreeMap<&'static str, (&'static str, Mistake)> {
    BTreeMap::from([
        (
            "a selector with a typo",
            (
                "ClusterLabelSelector",
                (|world: &mut World| {
                    world.spec = json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "pord"}}});
                    world.addon();
                }) as Mistake,
            ),
        ),
        (
            "labels that are taken off",
            ("ClusterLabelSelector", |world| {
                (0..world.clusters).for_each(|cluster| world.cluster(cluster, json!({})));
            }),
        ),
        (
            "a scheduler that selects nothing",
            ("Placements", |world| world.decide(0)),
        ),
        (
            "another strategy",
            ("Placements", |world| {
                world.spec = json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "nowhere"}}});
                world.addon();
            }),
        ),
        (
            "placements that are taken out of the spec",
            ("Placements", |world| {
                world.spec = json!({"type": "Placements", "placements": []});
                world.addon();
            }),
        ),
        (
            "clusters that opt out",
            ("Placements", |world| {
                let metadata = json!({"annotations": {(terms::OPT_OUT): "*"}});
                (0..world.clusters).for_each(|cluster| world.cluster(cluster, metadata.clone()));
            }),
        ),
    ])
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);

#[test]
fn whatever_goes_wrong_takes_no_more_in_a_minute_than_the_budget_has() {
    for (what, (kind, mistake)) in mistakes() {
        for (clusters, limit) in [(21, 20), (60, 20), (300, 30)] {
            let mut world = World::new(kind, clusters);
            world.pass(SignedDuration::from_secs(1));
            assert_eq!(world.left(), clusters, "{what}: everything is as it should be");
            mistake(&mut world);
            world.pass(SignedDuration::from_secs(30));
            assert_eq!(world.left(), clusters - limit, "{what}: {clusters}");
            assert_eq!(world.stalled(), "\"True\" \"RemovalHeld\"", "{what}");
            world.pass(HOUR);
            assert!(
                world.fastest() <= limit,
                "{what}: {} of {clusters} in a minute",
                world.fastest()
            );
            assert_eq!(
                world.left(),
                0,
                "{what}: an intended removal completes in the end"
            );
        }
    }
}

#[test]
fn small_fleets_never_feel_it() {
    for (what, (kind, mistake)) in mistakes() {
        let mut world = World::new(kind, 20);
        world.store.begin_to_write(world.now);
        mistake(&mut world);
        world.pass(SignedDuration::from_secs(11));
        assert_eq!(world.left(), 0, "{what}");
    }
}

#[test]
fn a_restart_forgets_nothing_that_would_let_more_go() {
    for (what, (kind, mistake)) in mistakes() {
        let mut world = World::new(kind, 100);
        mistake(&mut world);
        for _ in 0..40 {
            // Killed every seven seconds, and a new leader reads what there is.
            world.pass(SignedDuration::from_secs(7));
            world.restart();
        }
        assert!(world.fastest() <= 20, "{what}: {}", world.fastest());
        world.pass(HOUR);
        assert_eq!(world.left(), 0, "{what}");
    }
}

/// The budgets that an operator may choose.
fn budget() -> impl proptest::strategy::Strategy<Value = (usize, u32)> {
    prop_oneof![Just((20, 10)), (0_usize..40, 0_u32..=100)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(64, 200), failure_persistence: None, ..ProptestConfig::default() })]

    /// Fleets of any size, budgets of any kind, restarts at any moments, and everything that lets a fleet go: at once, or one
    /// cluster after the other.
    #[test]
    fn no_restart_lets_more_go_in_a_minute_than_the_budget_has(
        clusters in 1_usize..90,
        (instances, share) in budget(),
        grace in prop_oneof![Just(0_u64), Just(10), Just(45)],
        which in any::<proptest::sample::Index>(),
        restarts in proptest::collection::vec(1_i64..50, 1..6),
        bit_by_bit in any::<bool>(),
    ) {
        let all = mistakes();
        let (what, (kind, mistake)) = all.iter().nth(which.index(all.len())).expect("one of them");
        let settings = Settings {
            removal_budget: RemovalBudget::parse(&format!("{instances},{share}%")).expect("a budget"),
            decision_grace: std::time::Duration::from_secs(grace),
            ..Settings::default()
        };
        let mut world = World::with(kind, clusters, settings);
        world.pass(SignedDuration::from_secs(1));
        if !bit_by_bit {
            mistake(&mut world);
        }
        let mut left = clusters;
        for pause in restarts {
            if bit_by_bit && *kind == "Placements" {
                left = left.saturating_sub(clusters.div_ceil(4));
                world.decide(left);
            }
            world.pass(SignedDuration::from_secs(pause));
            world.restart();
        }
        if bit_by_bit {
            mistake(&mut world);
        }
        world.pass(HOUR * 2);
        let share = (clusters * usize::try_from(share).expect("a small number")).div_ceil(100);
        let most = instances.max(share).max(1);
        prop_assert!(world.fastest() <= most, "{what}: {} of {clusters} in a minute", world.fastest());
        prop_assert_eq!(world.left(), 0, "{}: an intended removal completes in the end", what);
    }
}

#[test]
fn a_hub_that_is_small_never_feels_a_restart() {
    for (what, (kind, mistake)) in mistakes() {
        let mut world = World::new(kind, 20);
        mistake(&mut world);
        world.restart();
        world.pass(SignedDuration::from_secs(11));
        assert_eq!(world.left(), 0, "{what}");
    }
}

#[test]
fn an_annotation_allows_all_removals_for_a_while() {
    for (until, left) in [
        ("2030-01-01T00:10:00Z", 0),
        ("2030-01-01T00:00:00Z", 80),
        ("2031-01-01T00:00:00Z", 80),
        ("yes", 80),
    ] {
        let mut world = World::new("Placements", 100);
        world.let_go(until);
        world.decide(0);
        world.pass(SignedDuration::from_secs(30));
        assert_eq!(world.left(), left, "{until}");
    }
}

#[test]
fn what_goes_with_its_cluster_has_no_budget() {
    let mut world = World::new("Placements", 100);
    for cluster in 0..100 {
        world.cluster(
            cluster,
            json!({"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["x/y"]}),
        );
    }
    world.pass(SignedDuration::from_secs(1));
    assert_eq!(world.left(), 0);
}

#[test]
fn manual_takes_nothing_away() {
    let mut world = World::new("Placements", 100);
    world.spec = json!({"type": "Manual"});
    world.addon();
    world.pass(HOUR);
    assert_eq!(world.left(), 100);
}

/// A hub whose clusters were never shown.
fn without_clusters(clusters: usize, absent: usize) -> World {
    let mut world = World::new("ClusterLabelSelector", clusters);
    world.store = Store::new(Settings::default());
    world.objects.clear();
    world.addon();
    for cluster in 0..clusters {
        if cluster >= absent {
            world.cluster(cluster, json!({"labels": {"env": "prod"}}));
        }
        world.patch(&format!("c{cluster}"), &json!({"metadata": {"annotations": {}}}));
    }
    world
}

#[test]
fn unobserved_deletions_of_clusters_remove_nothing() {
    for (clusters, absent) in [(2, 2), (19, 3), (300, 300), (300, 31)] {
        let mut world = without_clusters(clusters, absent);
        world.pass(HOUR);
        assert_eq!(world.left(), clusters, "{absent} of {clusters}");
        assert_eq!(world.stalled(), "\"True\" \"ClustersAbsent\"");
        // They are back, as after a restore.
        (0..absent).for_each(|cluster| world.cluster(cluster, json!({"labels": {"env": "prod"}})));
        world.pass(HOUR);
        assert_eq!(
            (world.left(), world.stalled().as_str()),
            (clusters, "\"False\" \"NotStalled\"")
        );
    }
}

#[test]
fn a_few_unobserved_deletions_are_accepted_after_ten_minutes() {
    for (clusters, absent) in [(1, 1), (20, 2), (300, 30)] {
        let mut world = without_clusters(clusters, absent);
        world.pass(SignedDuration::from_secs(599));
        assert_eq!(world.left(), clusters);
        world.pass(SignedDuration::from_mins(2));
        assert_eq!(world.left(), clusters - absent);
    }
}

#[test]
fn clusters_that_were_seen_to_go_are_believed_at_once() {
    let mut world = World::new("ClusterLabelSelector", 5);
    for cluster in 0..5 {
        world.delete(
            Kind::Cluster,
            json!({"metadata": {"name": format!("c{cluster}")}}),
        );
    }
    world.pass(SignedDuration::from_secs(11));
    assert_eq!(world.left(), 0, "the last one included");
}
