//! Commands of plan scripts about deletions of add-ons: agents' reports about pre-delete hooks, the remaining objects, and the output of
//! `tidegate why`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use store::{HookTimeout, Kind, ObjectKey, Settings, TimeoutPolicy};

use super::{Teller, asked, unknown};
use crate::kit::world::World;

/// What an agent reports of pre-delete hooks.
#[derive(Clone, Copy)]
pub(crate) enum HookOutcome<'a> {
    Running,
    Complete,
    Failed(&'a str),
}

/// Lets the agent of a cluster report on the pre-delete hooks of an add-on.
pub(crate) fn report_hook(world: &mut World, cluster: &str, addon: &str, outcome: HookOutcome<'_>) {
    let key = ObjectKey::new(Kind::Work, cluster, format!("addon-{addon}-pre-delete"));
    let work = world.objects[&key].clone();
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Reported", "message": "",
            "observedGeneration": work["metadata"]["generation"], "lastTransitionTime": world.now.to_string()})
    };
    let value =
        |name: &str, text: &str| json!({"name": name, "fieldValue": {"type": "String", "string": text}});
    let values = match outcome {
        HookOutcome::Running => vec![],
        HookOutcome::Complete => vec![value("JobComplete", "True"), value("PodPhase", "Succeeded")],
        HookOutcome::Failed(why) => vec![
            value("JobFailed", "True"),
            value("JobFailedMessage", why),
            value("PodPhase", "Failed"),
        ],
    };
    let manifests = work["spec"]["workload"]["manifests"].as_array().cloned();
    let reports: Vec<Value> = manifests
        .iter()
        .flatten()
        .map(|manifest| {
            let is_job = manifest["kind"] == "Job";
            json!({"resourceMeta": {"group": if is_job { "batch" } else { "" },
                    "resource": if is_job { "jobs" } else { "pods" },
                    "namespace": manifest["metadata"]["namespace"], "name": manifest["metadata"]["name"]},
                "statusFeedback": {"values": values}, "conditions": []})
        })
        .collect();
    let status = json!({"conditions": [condition("Applied"), condition("Available")],
        "resourceStatus": {"manifests": reports}});
    world.put_status(&key, &status);
}

/// Reads a line `setting <name> <value>`.
pub(crate) fn set(settings: &mut Settings, words: &[&str]) {
    match words {
        ["setting", "hook-timeout", time] => {
            settings.hook_timeout = HookTimeout::parse(time).expect("a length of time");
        }
        ["setting", _, policy] => {
            settings.hook_timeout_policy = TimeoutPolicy::parse(policy).expect("a policy");
        }
        other => unknown(other),
    }
}

impl Teller {
    /// Carries out a line that is about the ends of add-ons.
    pub(crate) fn act_on_end(&mut self, words: &[&str], line: &str) {
        match words {
            ["hook", outcome, names @ ..] => self.act_on_hook(outcome, names, line),
            ["why", clusters @ ..] => asked::why(self, clusters),
            _ => self.show_everything(),
        }
    }

    fn act_on_hook(&mut self, outcome: &str, names: &[&str], line: &str) {
        let addon = self.addon.clone();
        let (name, outcome) = match (outcome, names) {
            ("running", [name]) => (name, HookOutcome::Running),
            ("complete", [name]) => (name, HookOutcome::Complete),
            ("failed", [name, ..]) => {
                let why = line.split('"').nth(1).expect("a message in quotes");
                (name, HookOutcome::Failed(why))
            }
            (other, _) => return unknown(&["hook", other]),
        };
        report_hook(&mut self.world, name, &addon, outcome);
    }

    /// What is on the hub, the kinds that people write aside, with what marks or holds it.
    fn show_everything(&mut self) {
        for (key, object) in &self.world.objects {
            if !matches!(key.kind, Kind::Cluster | Kind::Instance | Kind::Work) {
                continue;
            }
            let metadata = &object["metadata"];
            let deleting = if metadata["deletionTimestamp"].is_string() {
                " deleting"
            } else {
                ""
            };
            let listed = |field: &str| match &metadata[field] {
                Value::Null => String::new(),
                Value::Array(items) if items.is_empty() => String::new(),
                other => format!(" {field}={other}"),
            };
            let labels = metadata["labels"].as_object().into_iter().flatten();
            let features: String = labels
                .filter(|(key, _)| key.starts_with("feature."))
                .fold(String::new(), |text, (key, value)| {
                    text + " " + key + "=" + &value.to_string()
                });
            writeln!(self.out, "  {key}{deleting}{}{features}", listed("finalizers"))
                .expect("a string takes text");
        }
    }
}
