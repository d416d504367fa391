//! What became of a policy, as its status says it.
//!
//! Decides the two conditions: `Compiled` is about the newest generation, `Ready` about what is in force. A condition keeps
//! the time of its last change. Never writes.

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::watch::resource;
use crate::controllers::runtime::raw::Raw;
use admission::policy::{InForce, Report, is_former};
use api::names::OWN_GROUP;
use api::reason::Reason;
use api::v1alpha1::{GROUP, VERSION};

/// The longest message of a condition, in bytes; the API allows 32 KiB.
const LONGEST: usize = 16 * 1024;

/// Status, reason and message of a condition.
type ConditionRow = (&'static str, Reason, String);

/// Returns the status of a policy; `None` when it is what the object says already.
pub(super) fn wanted(object: &Value, report: &Report, now: Timestamp) -> Option<Value> {
    let generation = report.generation.unwrap_or_default();
    let before = object.get("status").cloned().unwrap_or_default();
    let compiled = if report.faults.is_empty() {
        ("True", Reason::Compiled, "every part compiles".to_owned())
    } else {
        ("False", Reason::DoesNotCompile, faults(report))
    };
    let (ready, active) = ready(report);
    let conditions: Vec<Value> = [("Compiled", compiled), ("Ready", ready)]
        .into_iter()
        .map(|(kind, said)| condition(&before, kind, &said, generation, now))
        .collect();
    let actions = actions(object);
    let mut status = json!({"observedGeneration": generation, "conditions": conditions,
        "activeGeneration": active, "actions": actions});
    if active.is_none() && before.get("activeGeneration").is_none() {
        status = json!({"observedGeneration": generation, "conditions": conditions, "actions": actions});
    }
    (status != before).then_some(status)
}

/// Returns what `Ready` says (status, reason, message), and the generation that is in force.
fn ready(report: &Report) -> (ConditionRow, Option<i64>) {
    let generation = report.generation.unwrap_or_default();
    match report.in_force {
        InForce::This if report.is_former => (
            (
                "True",
                Reason::InForce,
                format!(
                    "the policy is active; the next release reads only {OWN_GROUP}/{VERSION}: migrate the policy"
                ),
            ),
            report.generation,
        ),
        InForce::This => (
            ("True", Reason::InForce, "the policy is active".to_owned()),
            report.generation,
        ),
        InForce::Older(older) => {
            let which = older.map_or_else(
                || "an earlier generation".to_owned(),
                |older| format!("generation {older}"),
            );
            let words = format!("generation {generation} does not compile; {which} remains active");
            (("False", Reason::OlderInForce, words), older)
        }
        InForce::Successor => (
            (
                "False",
                Reason::Superseded,
                format!(
                    "the policy of this name in {OWN_GROUP}/{VERSION} is active; this one can be deleted"
                ),
            ),
            None,
        ),
        InForce::Former => (
            (
                "False",
                Reason::FormerInForce,
                format!(
                    "generation {generation} does not compile; the policy of this name in {GROUP} remains active"
                ),
            ),
            None,
        ),
        InForce::Nothing => (
            (
                "False",
                Reason::NotInForce,
                "no policy of this name is active".to_owned(),
            ),
            None,
        ),
    }
}

/// Returns what happens when an expression does not hold, with the default of the field.
fn actions(object: &Value) -> String {
    let written = object
        .pointer("/spec/validationActions")
        .and_then(Value::as_array);
    let words: Vec<&str> = written.into_iter().flatten().filter_map(Value::as_str).collect();
    if words.is_empty() {
        return "Deny".to_owned();
    }
    words.join(", ")
}

fn condition(
    before: &Value,
    kind: &str,
    (state, reason, message): &ConditionRow,
    generation: i64,
    now: Timestamp,
) -> Value {
    let known = before
        .get("conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let same = known
        .filter(|one| one.get("type").and_then(Value::as_str) == Some(kind))
        .find(|one| one.get("status").and_then(Value::as_str) == Some(*state));
    let since = same
        .and_then(|one| one.get("lastTransitionTime").cloned())
        .unwrap_or_else(|| Value::String(seconds(now)));
    json!({
        "type": kind,
        "status": state,
        "reason": reason.as_str(),
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": since,
    })
}

fn faults(report: &Report) -> String {
    let texts: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    let mut text = texts.join("\n");
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    text
}

/// Kubernetes keeps whole seconds.
fn seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// Name under which the API server records our writes.
const FIELD_MANAGER: &str = "tidegate";

/// Writes the status of the policy that `object` is.
pub(super) async fn apply_status(client: &Client, object: &Value, status: Value) -> kube::Result<()> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let group = if is_former(object) { GROUP } else { OWN_GROUP };
    let api: Api<Raw> = Api::all_with(client.clone(), &resource(group));
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    // The revision makes the API server refuse a status of another generation than the one that was compiled.
    let metadata =
        json!({"uid": text("/metadata/uid"), "resourceVersion": text("/metadata/resourceVersion")});
    let patch = json!({"metadata": metadata, "status": status});
    api.patch_status(text("/metadata/name"), &params, &Patch::Merge(patch))
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use admission::policy::{Origin, PolicySet, Source};

    fn report(expression: &str, generation: i64, previous: &PolicySet) -> (PolicySet, Report) {
        let document = json!({
            "apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": "a", "generation": generation},
            "spec": {
                "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                    "resources": ["*"]}]},
                "validations": [{"expression": expression}],
            },
        });
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let mut loaded = PolicySet::load(&[source], &[], previous);
        (loaded.set, loaded.reports.remove(0))
    }

    #[test]
    fn a_policy_that_does_not_compile_says_why_and_what_is_in_force() {
        let now: Timestamp = "2026-11-21T00:00:00.5Z".parse().expect("a time");
        let (set, good) = report("true", 1, &PolicySet::default());
        let first = wanted(&json!({}), &good, now).expect("a new status");
        assert_eq!(first["activeGeneration"], 1);
        assert_eq!(first["actions"], "Deny", "the default is reported");
        let both = wanted(
            &json!({"spec": {"validationActions": ["Warn", "Audit"]}}),
            &good,
            now,
        );
        assert_eq!(both.expect("a status")["actions"], "Warn, Audit");
        assert_eq!(first["conditions"][1]["reason"], "InForce");
        assert_eq!(
            first["conditions"][1]["lastTransitionTime"],
            "2026-11-21T00:00:00Z"
        );
        assert_eq!(wanted(&json!({"status": &first}), &good, now), None, "said once");

        let (set, bad) = report("object.", 2, &set);
        assert_eq!(set.len(), 1, "the last good one stays");
        let second = wanted(&json!({"status": first}), &bad, now).expect("another status");
        assert_eq!(second["activeGeneration"], 1);
        assert_eq!(second["conditions"][1]["reason"], "OlderInForce");
        let message = second["conditions"][0]["message"].as_str().expect("a message");
        assert!(
            message.starts_with("spec.validations[0].expression:1:8: Syntax error")
                && message.ends_with("\n | object.\n | .......^"),
            "{message}"
        );

        let (set, none) = report("object.", 1, &PolicySet::default());
        assert!(set.is_empty());
        let third = wanted(&json!({}), &none, now).expect("a status");
        assert_eq!(third["conditions"][1]["reason"], "NotInForce");
        assert_eq!(third.get("activeGeneration"), None);
    }
}
