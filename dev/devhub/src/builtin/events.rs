//! Events: one stored form (core `v1`) and the view that `events.k8s.io/v1` has of it.
//!
//! Decides how the fields of the two forms correspond.

use serde_json::{Map, Value, json};

/// Core member, member of `events.k8s.io/v1`.
const MEMBERS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Returns an event of core `v1` as `events.k8s.io/v1` shows it.
pub fn to_events_api(event: &Value) -> Value {
    let mut view = renamed(event, |(core, view)| (core, view), "events.k8s.io/v1");
    for member in ["reportingController", "reportingInstance"] {
        if view.get(member).is_some_and(|value| value == "") {
            view.remove(member);
        }
    }
    for (member, empty) in [
        ("regarding", json!({})),
        ("deprecatedSource", json!({})),
        ("deprecatedFirstTimestamp", Value::Null),
        ("deprecatedLastTimestamp", Value::Null),
    ] {
        view.entry(member).or_insert(empty);
    }
    Value::Object(view)
}

/// Returns an event of `events.k8s.io/v1` in its stored form, core `v1`.
pub fn to_core(event: &Value) -> Value {
    let mut core = renamed(event, |(core, view)| (view, core), "v1");
    for (member, empty) in [
        ("involvedObject", json!({})),
        ("source", json!({})),
        ("firstTimestamp", Value::Null),
        ("lastTimestamp", Value::Null),
        ("eventTime", Value::Null),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
    ] {
        core.entry(member).or_insert(empty);
    }
    Value::Object(core)
}

fn renamed(
    event: &Value,
    direction: fn((&'static str, &'static str)) -> (&'static str, &'static str),
    version: &str,
) -> Map<String, Value> {
    let mut out = Map::new();
    for (member, value) in event.as_object().into_iter().flatten() {
        let name = MEMBERS
            .iter()
            .map(|pair| direction(*pair))
            .find(|(from, _)| from == member)
            .map_or(member.as_str(), |(_, to)| to);
        out.insert(name.to_owned(), value.clone());
    }
    out.insert("apiVersion".to_owned(), json!(version));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_events_are_shown_as_recorded() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e1"}, "count": 2, "eventTime": null,
            "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:01:00Z", "involvedObject": {"name": "w1"},
            "message": "hello", "reason": "Tested", "reportingComponent": "", "reportingInstance": "", "source": {"component": "golden"}, "type": "Normal"});
        let view = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e1"}, "deprecatedCount": 2, "eventTime": null,
            "deprecatedFirstTimestamp": "2020-01-01T00:00:00Z", "deprecatedLastTimestamp": "2020-01-01T00:01:00Z", "regarding": {"name": "w1"},
            "note": "hello", "reason": "Tested", "deprecatedSource": {"component": "golden"}, "type": "Normal"});
        assert_eq!(to_events_api(&core), view);
        assert_eq!(to_core(&view), core);
    }

    #[test]
    fn new_events_are_stored_as_recorded() {
        let view = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e3"}, "action": "Testing",
            "eventTime": "2020-01-01T00:00:00.000000Z", "note": "hi", "reason": "Tested", "regarding": {"name": "w1"},
            "reportingController": "example.io/golden", "reportingInstance": "i-1", "type": "Normal"});
        let core = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e3"}, "action": "Testing",
            "eventTime": "2020-01-01T00:00:00.000000Z", "message": "hi", "reason": "Tested", "involvedObject": {"name": "w1"},
            "reportingComponent": "example.io/golden", "reportingInstance": "i-1", "type": "Normal", "source": {},
            "firstTimestamp": null, "lastTimestamp": null});
        assert_eq!(to_core(&view), core);
    }
}
