//! 300 clusters in three regions with windows of their own, stages, and a freeze in the middle: no cluster starts outside of its windows or
//! while it is frozen, and in the end all of them are upgraded.
//!
//! The times are computed here from hours of the day. The same for add-ons is in `tests/pure/regions.rs`.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kubernetes::field::Path;
use model::RolloutProfile;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Hub;

const CLUSTERS: usize = 300;
const REGIONS: [&str; 3] = ["asia", "eu", "us"];

fn is_open((begin, hours): (i8, i8), now: Timestamp) -> bool {
    let hour = now.to_zoned(TimeZone::UTC).hour();
    (hour - begin).rem_euclid(24) < hours
}

fn started(hub: &Hub) -> BTreeSet<String> {
    ["probe", "pre", "platform"]
        .into_iter()
        .flat_map(|stage| hub.with(0, stage))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]

    #[test]
    fn no_cluster_starts_outside_of_its_windows_or_while_it_is_frozen(
        own in proptest::array::uniform3((0_i8..24, 1_i8..5)),
        freeze in (1_i64..40, 1_i64..30, proptest::option::of(0_usize..3)),
        most in 5_u32..100,
        staged in any::<bool>(),
    ) {
        let mut hub = Hub::new(CLUSTERS);
        for (name, cluster) in &mut hub.clusters {
            let at: usize = name.trim_start_matches("dev").parse().expect("a number");
            cluster.labels.insert("region".to_owned(), REGIONS[at % 3].to_owned());
        }
        let entries: Vec<Value> = REGIONS.iter().zip(own).map(|(region, (begin, hours))| {
            json!({"clusterSelector": {"matchLabels": {"region": region}},
                "windows": [{"cron": format!("0 {begin} * * *"), "duration": format!("{hours}h")}]})
        }).collect();
        let profile = serde_json::from_value(json!({"clusterWindows": entries})).expect("a spec");
        hub.profile = RolloutProfile::parse("regions", &profile, &Path::root()).ok();
        prop_assert!(hub.profile.is_some());
        let (begin, length, frozen) = freeze;
        let from = hub.now + SignedDuration::from_hours(begin);
        let until = from + SignedDuration::from_hours(length);
        let mut spec = json!({"reason": "audit", "from": from, "until": until});
        if let Some(at) = frozen {
            spec["clusterSelector"] = json!({"matchLabels": {"region": REGIONS[at]}});
        }
        hub.freeze(spec);
        let mut strategy = json!({"maxConcurrency": most});
        if staged {
            strategy["stages"] = json!([{"name": "eu", "clusterSelector": {"matchLabels": {"region": "eu"}}}]);
        }
        hub.ask("mcu", json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": strategy}));
        let mut before = started(&hub);
        let mut steps = 0;
        while hub.asked[0].status.phase != "Complete" {
            steps += 1;
            prop_assert!(steps < 2000, "it does not end: {:?}", hub.asked[0].status.state_counts);
            hub.settle(0);
            let now = started(&hub);
            for cluster in now.difference(&before) {
                let at: usize = cluster.trim_start_matches("dev").parse().expect("a number");
                let is_frozen = (from..until).contains(&hub.now) && frozen.is_none_or(|one| one == at % 3);
                prop_assert!(!is_frozen, "{cluster} is frozen at {}", hub.now);
                prop_assert!(is_open(own[at % 3], hub.now), "{cluster} starts at {} outside of {:?}", hub.now, own[at % 3]);
            }
            before.extend(now);
            hub.pass(611);
        }
        prop_assert_eq!(before.len(), CLUSTERS);
    }
}
