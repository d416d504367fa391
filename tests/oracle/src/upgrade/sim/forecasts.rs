//! What a forecast says of an upgrade, beside what the simulated hub then does.

use std::time::Duration;

use serde_json::{Value, json};

use super::Hub;
use plan::upgrade::{Course, Hold, forecast};

fn course(hub: &Hub, uid: &str) -> Course {
    let asked = hub.asked[0].clone();
    forecast(&hub.view(&asked, uid), hub.now)
}

fn named(course: &Course) -> Vec<String> {
    let each = course.waves.iter();
    each.map(|wave| {
        let names: Vec<&str> = wave.clusters.iter().map(|name| &**name).collect();
        format!("{}h {}", wave.after.as_secs() / 3600, names.join(" "))
    })
    .collect()
}

fn spec(strategy: &Value) -> Value {
    json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": strategy})
}

#[test]
fn waves_follow_each_other_behind_those_that_go_first() {
    let mut hub = Hub::new(11);
    let first = json!({"clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev3"]}]}});
    hub.ask(
        "mcu",
        spec(&json!({"maxConcurrency": 4, "canaryClusters": first})),
    );
    let found = course(&hub, "uid-0");
    assert_eq!(
        named(&found),
        [
            "0h dev3",
            "1h dev1 dev2 dev4 dev5",
            "2h dev6 dev7 dev8 dev9",
            "3h dev10 dev11"
        ]
    );
    assert_eq!(found.ends_after, Some(Duration::from_hours(4)));
    assert_eq!((found.phase.as_str(), found.basis.observed), ("Complete", 0));
}

#[test]
fn what_was_seen_is_what_is_expected() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", spec(&json!({"maxConcurrency": 1})));
    assert!(hub.run(5, 100, |hub| hub.told(0, "dev1") == "Complete/Done"));
    let found = course(&hub, "uid-0");
    assert_eq!(found.basis.observed, 1);
    let each = found.basis.each.as_secs();
    assert!((100..130).contains(&each), "{found:?}");
    let left = found.ends_after.map(|left| left.as_secs()).unwrap_or_default();
    assert!((2 * each - 10..=2 * each + 10).contains(&left), "{found:?}");
}

#[test]
fn a_cluster_that_never_starts_is_reported_with_the_reason() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", spec(&json!({})));
    hub.edit(0, |spec| spec.suspend = Some(true));
    hub.clusters.get_mut("dev2").expect("it").available = false;
    let found = course(&hub, "uid-0");
    assert_eq!(named(&found), Vec::<String>::new());
    let waiting: Vec<Hold> = found.waiting.keys().cloned().collect();
    assert_eq!(waiting, [Hold::Paused]);
    let held: Vec<&str> = found.held.keys().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(held, ["ClusterUnavailable"]);
}

#[test]
fn no_end_is_forecast_while_a_cluster_needs_an_administrator() {
    let mut hub = Hub::new(3);
    hub.ask("mcu", spec(&json!({})));
    assert!(course(&hub, "uid-0").ends_after.is_some());
    hub.clusters.get_mut("dev2").expect("it").id = String::new();
    let found = course(&hub, "uid-0");
    assert_eq!(found.stalled, ["dev2".into()]);
    assert_eq!(found.ends_after, None);
}

#[test]
fn a_shut_window_is_waited_for() {
    let mut hub = Hub::new(1);
    let window = json!({"cron": "0 2 * * *", "duration": "4h", "timeZone": "UTC"});
    hub.ask("mcu", spec(&json!({"window": window})));
    assert_eq!(named(&course(&hub, "uid-0")), ["2h dev1"]);
}
