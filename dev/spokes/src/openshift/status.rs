//! What `ClusterVersion` and machine config pools say about themselves, as OpenShift's operators would say it.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    operator::{DesiredUpdate, Entry, Operator},
    release::{channels_of, updates},
};
use crate::{fault::Stuck, wire::render_time};

/// How many manifests a release has.
const MANIFESTS: u128 = 838;
/// How many machines the control plane has.
const MASTERS: u32 = 3;

impl Operator {
    /// Returns `status` of the `ClusterVersion`.
    pub(crate) fn status(&self) -> Value {
        let mut status = Map::new();
        if let Some(newest) = self.entries.last() {
            status.insert("desired".to_owned(), desired(newest));
            let updates = updates(&newest.version, self.wish.channel.as_ref());
            let updates = if updates.is_empty() {
                Value::Null
            } else {
                json!(updates)
            };
            status.insert("availableUpdates".to_owned(), updates);
        }
        let history: Vec<_> = self.entries.iter().rev().map(history).collect();
        status.insert("history".to_owned(), json!(history));
        status.insert("observedGeneration".to_owned(), json!(self.wish.generation));
        status.insert("conditions".to_owned(), Value::Array(self.conditions()));
        Value::Object(status)
    }

    fn conditions(&self) -> Vec<Value> {
        let (Some(newest), Some(installed)) = (self.entries.last(), self.entries.first()) else {
            return Vec::new();
        };
        let complete = self.version().map(ToString::to_string).unwrap_or_default();
        let done = format!("Done applying {complete}");
        let since = newest.ended.unwrap_or(newest.started);
        let failing = match self.failing() {
            Some(message) => condition("Failing", true, ("ClusterOperatorDegraded", message), since),
            None => condition("Failing", false, ("", ""), since),
        };
        let mut list = vec![
            condition("Available", true, ("", &done), installed.started),
            self.acceptance(newest),
            failing,
            condition(
                "Progressing",
                self.run.is_some(),
                ("", &self.progressing(newest)),
                since,
            ),
            condition("RetrievedUpdates", true, ("", ""), installed.started),
        ];
        if let Some(why) = self.not_upgradeable() {
            list.push(condition(
                "Upgradeable",
                false,
                ("AdminAckRequired", why),
                self.judged,
            ));
        }
        if let DesiredUpdate::Invalid { message } = &self.asked {
            list.push(condition(
                "Invalid",
                true,
                ("InvalidClusterVersion", message),
                self.judged,
            ));
        }
        list
    }

    /// Returns why an upgrade fails.
    fn failing(&self) -> Option<&str> {
        match (&self.run, &self.troubles.stuck) {
            (Some(_), Some(Stuck::Failing(message))) => Some(message),
            (Some(_), Some(Stuck::Silent) | None) | (None, _) => None,
        }
    }

    fn progressing(&self, newest: &Entry) -> String {
        let version = &newest.version;
        let Some(run) = &self.run else {
            return format!("Cluster version is {version}");
        };
        if let Some(message) = self.failing() {
            return format!("Unable to apply {version}: {message}");
        }
        let waiting = match &self.troubles.stuck {
            Some(_) => ", waiting on machine-config",
            None => "",
        };
        let (done, percent) = progress(run.done, self.needed());
        format!("Working towards {version}: {done} of {MANIFESTS} done ({percent}% complete){waiting}")
    }

    fn acceptance(&self, newest: &Entry) -> Value {
        if let DesiredUpdate::Refused { reason, message } = &self.asked {
            return condition("ReleaseAccepted", false, (reason, message), self.judged);
        }
        let message = format!(
            "Payload loaded version=\"{}\" image=\"{}\" architecture=\"amd64\"",
            newest.version, newest.image
        );
        condition(
            "ReleaseAccepted",
            true,
            ("PayloadLoaded", &message),
            newest.started,
        )
    }

    /// Returns the machine config pool of this name.
    pub(crate) fn pool(&self, name: &str) -> Value {
        let machines = if name == "master" { MASTERS } else { self.workers };
        let lagging = name != "master" && self.pools_at > self.now;
        let updated = if lagging { 0 } else { machines };
        let since = if lagging { self.now } else { self.pools_at };
        json!({
            "machineCount": machines,
            "updatedMachineCount": updated,
            "readyMachineCount": updated,
            "unavailableMachineCount": u32::from(lagging),
            "degradedMachineCount": 0,
            "conditions": [
                condition("Updated", !lagging, ("", ""), since),
                condition("Updating", lagging, ("", ""), since),
                condition("Degraded", false, ("", ""), since),
            ],
        })
    }
}

fn desired(entry: &Entry) -> Value {
    json!({
        "version": entry.version.to_string(),
        "image": entry.image,
        "channels": channels_of(&entry.version),
    })
}

fn history(entry: &Entry) -> Value {
    json!({
        "state": if entry.complete { "Completed" } else { "Partial" },
        "version": entry.version.to_string(),
        "image": entry.image,
        "verified": true,
        "startedTime": render_time(entry.started),
        "completionTime": entry.ended.map(render_time),
    })
}

/// Returns how many manifests are done, and how many of a hundred.
fn progress(done: Duration, needed: Duration) -> (u128, u128) {
    let (done, needed) = (done.as_millis(), needed.as_millis().max(1));
    let manifests = done.saturating_mul(MANIFESTS) / needed;
    (manifests, done.saturating_mul(100) / needed)
}

fn condition(kind: &str, holds: bool, (reason, message): (&str, &str), since: Timestamp) -> Value {
    let mut condition = Map::from_iter([
        ("type".to_owned(), json!(kind)),
        ("status".to_owned(), json!(if holds { "True" } else { "False" })),
        ("lastTransitionTime".to_owned(), json!(render_time(since))),
    ]);
    for (key, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            condition.insert(key.to_owned(), json!(text));
        }
    }
    Value::Object(condition)
}
