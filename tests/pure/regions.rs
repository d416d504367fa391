//! 300 clusters in three regions with windows of their own, and a freeze in the middle: no cluster starts outside of its windows or while it
//! is frozen, whatever the strategy is, and in the end all of them are updated.
//!
//! The times are computed here from hours of the day. The same for upgrades of clusters is in `tests/oracle/src/upgrade/sim/regions.rs`.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Settings};

use crate::kit::world::World;

const CLUSTERS: usize = 300;
const REGIONS: [&str; 3] = ["asia", "eu", "us"];

/// A window of each day: the hour at which it opens, and its length in hours.
type Daily = (i8, i8);

fn daily() -> impl Strategy<Value = Daily> {
    // Each has an even hour.
    (0_i8..24, 2_i8..5)
}

fn is_open((begin, hours): Daily, now: Timestamp) -> bool {
    let hour = now.to_zoned(TimeZone::UTC).hour();
    (hour - begin).rem_euclid(24) < hours
}

fn windows((begin, hours): Daily) -> Value {
    json!([{"cron": format!("0 {begin} * * *"), "duration": format!("{hours}h")}])
}

fn region(at: usize) -> &'static str {
    REGIONS[at % REGIONS.len()]
}

fn name(at: usize) -> String {
    format!("c{at}")
}

fn config(world: &mut World, message: &str) {
    let variables = json!([{"name": "MESSAGE", "value": message}]);
    let metadata = json!({"name": "settings", "namespace": "default"});
    world.put(
        Kind::DeploymentConfig,
        json!({"metadata": metadata, "spec": {"customizedVariables": variables}}),
    );
}

/// What each cluster is assigned.
fn assigned(world: &World) -> BTreeMap<String, String> {
    let of = |at: usize| {
        let key = ObjectKey::new(Kind::Instance, &*name(at), "hello");
        let references = world.objects[&key].pointer("/status/configReferences").cloned();
        (
            name(at),
            references.unwrap_or_default()[0]["desiredConfig"]["specHash"].to_string(),
        )
    };
    (0..CLUSTERS).map(of).collect()
}

fn strategy() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "All"})),
        (5_u32..60).prop_map(
            |share| json!({"type": "Progressive", "progressive": {"maxConcurrency": format!("{share}%")}})
        ),
        Just(json!({"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "30m"}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn no_cluster_starts_outside_of_its_windows_or_while_it_is_frozen(
        own in proptest::array::uniform3(daily()),
        even in any::<bool>(),
        strategy in strategy(),
        freeze in (1_i64..40, 1_i64..30, proptest::option::of(0_usize..3)),
        order in any::<bool>(),
    ) {
        let mut world = World::new(Settings::default());
        for at in 0..CLUSTERS {
            world.add_cluster(&name(at));
            let labels = json!({"region": region(at), "wave": (at % 7).to_string()});
            world.put(Kind::Cluster, json!({"metadata": {"name": name(at), "labels": labels}, "spec": {"hubAcceptsClient": true}}));
        }
        let half = |from: usize, to: usize| (from..to).map(name).collect::<Vec<_>>();
        world.decide_in("all", &[
            (Some(("canary", 0)), half(0, 30)), (Some(("first", 1)), half(30, 150)), (Some(("last", 2)), half(150, CLUSTERS)),
        ]);
        config(&mut world, "before");
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"text": "{{MESSAGE}}"}});
        let template = json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}});
        world.put(Kind::Template, json!({"metadata": {"name": "hello"}, "spec": template}));
        let used = json!([{"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs", "name": "settings", "namespace": "default"}]);
        let spec = json!({"supportedConfigs": [
                {"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs"},
                {"group": "addon.open-cluster-management.io", "resource": "addontemplates", "defaultConfig": {"name": "hello"}}],
            "installStrategy": {"type": "Placements", "placements": [
                {"name": "all", "namespace": "default", "configs": used, "rolloutStrategy": {"type": "All"}}]}});
        world.put(Kind::AddOn, json!({"metadata": {"name": "hello"}, "spec": spec}));
        world.settle("hello");
        for at in 0..CLUSTERS {
            world.report(&name(at), None, true);
        }
        world.settle("hello");
        // From here on the profile applies.
        let entries: Vec<Value> = REGIONS.iter().zip(own).map(|(region, own)| {
            json!({"clusterSelector": {"matchLabels": {"region": region}}, "windows": windows(own)})
        }).collect();
        let mut profile = json!({"default": true, "clusterWindows": entries, "rolloutStrategy": strategy});
        if even {
            profile["windows"] = json!([{"cron": "0 */2 * * *", "duration": "1h"}]);
        }
        if order {
            profile["orderBy"] = json!("wave");
        }
        world.put(Kind::Profile, json!({"metadata": {"name": "regions"}, "spec": profile}));
        config(&mut world, "after");
        let (begin, length, frozen) = freeze;
        let from = world.now + SignedDuration::from_hours(begin);
        let until = from + SignedDuration::from_hours(length);
        let mut spec = json!({"reason": "audit", "from": from, "until": until});
        if let Some(at) = frozen {
            spec["clusterSelector"] = json!({"matchLabels": {"region": REGIONS[at]}});
        }
        world.put(Kind::Freeze, json!({"metadata": {"name": "audit"}, "spec": spec}));
        let mut before = assigned(&world);
        let old = before.clone();
        let mut steps = 0;
        while before.iter().any(|(cluster, hash)| old[cluster] == *hash) {
            steps += 1;
            prop_assert!(steps < 1000, "it does not end");
            world.settle("hello");
            let now = assigned(&world);
            for at in 0..CLUSTERS {
                let cluster = name(at);
                if before[&cluster] == now[&cluster] {
                    continue;
                }
                let here = at % REGIONS.len();
                let is_frozen = (from..until).contains(&world.now) && frozen.is_none_or(|one| one == here);
                prop_assert!(!is_frozen, "{cluster} is frozen at {}", world.now);
                prop_assert!(is_open(own[here], world.now), "{cluster} starts at {} outside of {:?}", world.now, own[here]);
                let hour = world.now.to_zoned(TimeZone::UTC).hour();
                prop_assert!(!even || hour % 2 == 0, "{cluster} starts at {}", world.now);
                world.report(&cluster, None, true);
            }
            before = now;
            world.tick(SignedDuration::from_mins(61));
        }
    }
}
