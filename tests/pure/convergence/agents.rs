//! Model agents: one for each cluster, which apply works and report about them at random times, some of them with failures.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use store::{Name, ObjectKey};

use super::dice::Dice;
use super::hub::{Hub, Part, is_deleting};

/// The mark with which an agent holds a work until it has cleaned up.
const FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";

/// How an agent feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mood {
    /// Applies everything, and everything runs.
    #[default]
    Well,
    /// Cannot apply anything.
    Failing,
    /// Applies, but nothing becomes available.
    Unavailable,
    /// Does nothing at all.
    Offline,
}

/// All agents.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    moods: BTreeMap<Name, Mood>,
    due: BTreeMap<ObjectKey, Timestamp>,
}

impl Agents {
    /// Puts the agent of a cluster into a mood; it looks at its works again.
    pub(crate) fn feel(&mut self, hub: &mut Hub, cluster: &str, mood: Mood) {
        self.moods.insert(cluster.into(), mood);
        let works: Vec<ObjectKey> = hub
            .of_kind(store::Kind::Work)
            .map(|(key, _)| key.clone())
            .collect();
        let own = works.into_iter().filter(|key| &*key.namespace == cluster);
        hub.touched_works.extend(own);
    }

    /// Hears of changed works.
    pub(crate) fn notice(&mut self, hub: &mut Hub, dice: &mut Dice) {
        for key in std::mem::take(&mut hub.touched_works) {
            let slow = if dice.happens(15) { 20_000 } else { 400 };
            let delay = SignedDuration::from_millis(i64::try_from(dice.below(slow)).unwrap_or(0));
            self.due.entry(key).or_insert(hub.now + delay);
        }
    }

    /// Returns the works that an agent would look at now.
    pub(crate) fn ready(&self, now: Timestamp) -> Vec<ObjectKey> {
        let due = self
            .due
            .iter()
            .filter(|(key, at)| **at <= now && !self.is_offline(key));
        due.map(|(key, _)| key.clone()).collect()
    }

    /// Returns when the next agent acts.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let due = self.due.iter().filter(|(key, _)| !self.is_offline(key));
        due.map(|(_, at)| *at).min()
    }

    fn is_offline(&self, key: &ObjectKey) -> bool {
        self.mood(&key.namespace) == Mood::Offline
    }

    /// Returns the mood of a cluster's agent.
    pub(crate) fn mood(&self, cluster: &str) -> Mood {
        self.moods.get(cluster).copied().unwrap_or_default()
    }

    /// Lets an agent look at one work: clean up, take it on, or report about it.
    pub(crate) fn act(&mut self, hub: &mut Hub, key: &ObjectKey) {
        self.due.remove(key);
        let Some(work) = hub.get(key).cloned() else { return };
        let held = work.pointer("/metadata/finalizers").and_then(Value::as_array);
        let is_held = held.is_some_and(|held| held.iter().any(|one| one == FINALIZER));
        if is_deleting(&work) {
            hub.release(key);
        } else if is_held {
            let status = report(&work, self.mood(&key.namespace), hub.now);
            if !says(&work, &status) {
                hub.put_status(key, &status);
            }
        } else {
            let patch = json!({"metadata": {"finalizers": [FINALIZER]}});
            hub.patch(key, &patch, Part::Main, None).ok();
        }
    }
}

/// Whether the work says the same already, times aside.
fn says(work: &Value, status: &Value) -> bool {
    let timeless = |status: &Value| {
        let mut status = status.clone();
        let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten() {
            condition["lastTransitionTime"] = Value::Null;
        }
        status
    };
    work.get("status")
        .is_some_and(|before| timeless(before) == timeless(status))
}

fn report(work: &Value, mood: Mood, now: Timestamp) -> Value {
    let (applied, available) = (mood != Mood::Failing, mood == Mood::Well);
    let condition = |kind: &str, holds: bool, message: &str| {
        json!({"type": kind, "status": if holds { "True" } else { "False" }, "reason": "Reported", "message": message,
            "observedGeneration": work["metadata"]["generation"], "lastTransitionTime": whole(now)})
    };
    let manifests = work
        .pointer("/spec/workload/manifests")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let each: Vec<Value> = manifests
        .iter()
        .enumerate()
        .map(|(index, manifest)| manifest_report(index, manifest, available))
        .collect();
    json!({
        "conditions": [
            condition("Applied", applied, if applied { "applied" } else { "quota exceeded" }),
            condition("Available", available, if available { "there" } else { "not there" }),
        ],
        "resourceStatus": {"manifests": each},
    })
}

fn whole(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

fn manifest_report(index: usize, manifest: &Value, available: bool) -> Value {
    let resource = match manifest["kind"].as_str() {
        Some("Deployment") => ("apps", "deployments"),
        Some("Job") => ("batch", "jobs"),
        _ => ("", "configmaps"),
    };
    let number =
        |name: &str, value: i64| json!({"name": name, "fieldValue": {"type": "Integer", "integer": value}});
    let truth =
        |name: &str, value: &str| json!({"name": name, "fieldValue": {"type": "String", "string": value}});
    let values = match resource.1 {
        "deployments" => json!([
            number("Replicas", 1),
            number("ReadyReplicas", i64::from(available))
        ]),
        "jobs" if available => json!([truth("JobComplete", "True")]),
        _ => json!([]),
    };
    json!({
        "resourceMeta": {"ordinal": index, "group": resource.0, "version": "v1", "kind": manifest["kind"],
            "resource": resource.1, "name": manifest["metadata"]["name"],
            "namespace": manifest["metadata"]["namespace"]},
        "conditions": [],
        "statusFeedback": {"values": values},
    })
}
