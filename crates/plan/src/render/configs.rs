//! `manifestConfigs` of works: what the template asks for, and the feedback that tells whether the agent works.
//!
//! Decides how entries about one object become one, with nothing dropped, and which workloads are asked for their status.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::object::{Identifier, text};
use super::recipe::Probe;
use crate::render::decorate::workload_resource;

const WELL_KNOWN: &str = "WellKnownStatus";

/// Returns the entries with those about one object merged, in the order of their first mention.
pub(super) fn merged(entries: Vec<Value>) -> Vec<(Identifier, Value)> {
    let mut all: Vec<(Identifier, Value)> = Vec::new();
    let mut places: BTreeMap<Identifier, usize> = BTreeMap::new();
    for entry in entries {
        let about = Identifier::read(entry.get("resourceIdentifier").unwrap_or(&Value::Null));
        let known = places.get(&about).and_then(|place| all.get_mut(*place));
        if let Some((_, known)) = known {
            merge(known, entry);
        } else {
            places.insert(about.clone(), all.len());
            all.push((about, entry));
        }
    }
    all
}

/// What two entries list is united by key; of what can only be said once, the later word counts.
fn merge(known: &mut Value, entry: Value) {
    let (Some(known), Value::Object(entry)) = (known.as_object_mut(), entry) else {
        return;
    };
    for (field, value) in entry {
        match field.as_str() {
            "feedbackRules" => each(value, |rule| add_rule(known, rule)),
            "conditionRules" => each(value, |rule| unite(known, &field, "condition", rule)),
            _ => {
                known.insert(field, value);
            }
        }
    }
}

fn each(list: Value, mut add: impl FnMut(Value)) {
    if let Value::Array(items) = list {
        items.into_iter().for_each(&mut add);
    }
}

fn add_rule(config: &mut Map<String, Value>, rule: Value) {
    let Some(rules) = list(config, "feedbackRules") else {
        return;
    };
    let same = rules
        .iter_mut()
        .find(|known| known.get("type") == rule.get("type"));
    let Some(known) = same.and_then(Value::as_object_mut) else {
        rules.push(rule);
        return;
    };
    let paths = rule.get("jsonPaths").cloned().unwrap_or_default();
    each(paths, |path| unite(known, "jsonPaths", "name", path));
}

/// Puts an item into a list that is keyed by one of its fields.
fn unite(owner: &mut Map<String, Value>, field: &str, key: &str, item: Value) {
    let Some(items) = list(owner, field) else { return };
    match items.iter_mut().find(|known| known.get(key) == item.get(key)) {
        Some(known) => *known = item,
        None => items.push(item),
    }
}

fn list<'o>(owner: &'o mut Map<String, Value>, field: &str) -> Option<&'o mut Vec<Value>> {
    owner.entry(field).or_insert_with(|| json!([])).as_array_mut()
}

/// Returns the probe of a workload whose replicas tell whether the add-on is available. A deployment that wants none says
/// nothing.
pub(super) fn probe(manifest: &Value) -> Option<Probe> {
    let resource = workload_resource(manifest).filter(|resource| match *resource {
        "deployments" => manifest.pointer("/spec/replicas") != Some(&json!(0)),
        other => other == "daemonsets",
    })?;
    let place = |pointer| text(manifest, pointer);
    Some(Probe::new(
        resource,
        place("/metadata/namespace"),
        place("/metadata/name"),
    ))
}

/// Returns the entry about a manifest: the template's own, if it has one, with the well-known status of a workload.
pub(super) fn about(identifier: &Identifier, own: Option<Value>, is_probed: bool) -> Option<Value> {
    if !is_probed {
        return own;
    }
    let mut entry = own.unwrap_or_else(|| json!({"resourceIdentifier": identifier.render()}));
    if let Some(rules) = entry
        .as_object_mut()
        .and_then(|config| list(config, "feedbackRules"))
        && !rules.iter().any(|rule| text(rule, "/type") == WELL_KNOWN)
    {
        rules.insert(0, json!({"type": WELL_KNOWN}));
    }
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_about_one_object_become_one_and_nothing_is_dropped() {
        let of = json!({"group": "apps", "resource": "deployments", "namespace": "n", "name": "x"});
        let paths = |names: &[&str]| {
            let each: Vec<Value> = names
                .iter()
                .map(|name| json!({"name": name, "path": format!(".{name}")}))
                .collect();
            json!({"type": "JSONPaths", "jsonPaths": each})
        };
        let first = json!({"resourceIdentifier": of, "feedbackRules": [paths(&["a", "b"])], "feedbackScrapeType": "Watch",
            "conditionRules": [{"condition": "C", "type": "CEL"}]});
        let second = json!({"resourceIdentifier": of, "feedbackRules": [{"type": "WellKnownStatus"}, paths(&["c"])],
            "updateStrategy": {"type": "ServerSideApply"}, "conditionRules": [{"condition": "D", "type": "CEL"}]});
        let other = json!({"resourceIdentifier": {"resource": "pods", "name": "x"}});
        let all = merged(vec![first, other.clone(), second]);
        let expected = json!({"resourceIdentifier": of, "feedbackScrapeType": "Watch",
            "feedbackRules": [paths(&["a", "b", "c"]), {"type": "WellKnownStatus"}],
            "conditionRules": [{"condition": "C", "type": "CEL"}, {"condition": "D", "type": "CEL"}],
            "updateStrategy": {"type": "ServerSideApply"}});
        assert_eq!(
            all.iter().map(|(_, entry)| entry.clone()).collect::<Vec<_>>(),
            [expected, other]
        );
    }

    #[test]
    fn deployments_and_daemon_sets_are_asked_for_their_status() {
        let workload = |kind: &str, replicas: i64| {
            let metadata = json!({"name": "x", "namespace": "n"});
            probe(
                &json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": {"replicas": replicas}}),
            )
        };
        assert_eq!(
            workload("Deployment", 1),
            Some(Probe::new("deployments", "n", "x"))
        );
        assert_eq!(workload("DaemonSet", 1), Some(Probe::new("daemonsets", "n", "x")));
        assert_eq!(workload("Deployment", 0), None, "it wants to be down");
        assert_eq!(
            workload("StatefulSet", 1),
            None,
            "agents have no well-known status for it"
        );
    }

    #[test]
    fn the_well_known_status_is_asked_for_once() {
        let of = Identifier::read(
            &json!({"group": "apps", "resource": "deployments", "namespace": "n", "name": "x"}),
        );
        let asked = |own| about(&of, own, true).unwrap()["feedbackRules"].clone();
        assert_eq!(asked(None), json!([{"type": WELL_KNOWN}]));
        assert_eq!(
            asked(Some(json!({"feedbackRules": [{"type": WELL_KNOWN}]}))),
            json!([{"type": WELL_KNOWN}])
        );
        assert_eq!(about(&of, None, false), None);
    }
}
