//! What the agent of a cluster reports of pre-delete hooks, for plan scripts.
//!
//! Never decides when a hook ends.

use serde_json::{Value, json};
use tidegate::snapshot::{Kind, ObjectKey};

use super::world::World;

/// What an agent reports of pre-delete hooks.
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
