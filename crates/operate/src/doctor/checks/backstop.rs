//! Whether the policies that the API server evaluates itself are those of this version.

use serde_json::Value;

use super::hub::minor;
use crate::doctor::facts::{BackstopObjects, HubFacts, Reading};
use crate::doctor::finding::{Finding, several};
use admission::{BACKSTOP_SINCE_MINOR, BackstopPolicy, backstop};

const BACKSTOP: &str = "webhooks/backstop";
const APPLY: &str = "tidegate reference backstop | kubectl apply -f -";

/// Returns what is wrong with the backstop.
pub(super) fn current(facts: &HubFacts) -> Vec<Finding> {
    let found = match &facts.backstop {
        Reading::NotAsked => return Vec::new(),
        Reading::Refused(why) => {
            let seen = format!("the policies of the backstop cannot be read: {why}");
            return vec![Finding::unknown(BACKSTOP, seen)];
        }
        Reading::Seen(found) => found,
    };
    if let Some(minor) = minor(&facts.kubernetes).filter(|minor| *minor < BACKSTOP_SINCE_MINOR) {
        let seen = format!(
            "the backstop is not installed: Kubernetes 1.{minor} does not serve ValidatingAdmissionPolicies; they require \
             1.{BACKSTOP_SINCE_MINOR}"
        );
        return vec![Finding::note(BACKSTOP, seen)];
    }
    let all = backstop();
    if found.policies.is_empty() && found.bindings.is_empty() {
        let seen = "the backstop is not installed: while the webhook is unavailable, only the webhook `guard` rejects specs";
        return vec![
            Finding::note(BACKSTOP, seen)
                .fix("install it, or ignore this note if it was left out on purpose")
                .command(APPLY),
        ];
    }
    let (mut missing, mut changed) = (Vec::new(), Vec::new());
    for one in &all {
        match (found.policies.get(&one.name), found.bindings.get(&one.name)) {
            (None, None) => missing.push(one.name.clone()),
            (policy, binding) => changed.extend(flaw(one, policy, binding)),
        }
    }
    let mut findings = Vec::new();
    if !changed.is_empty() {
        let seen = format!(
            "the backstop differs from the one that this version generates: {}",
            changed.join("; ")
        );
        findings.push(
            Finding::error(BACKSTOP, seen)
                .fix("apply the policies of this version again, with the enforcement file of the webhook if there is one")
                .command(APPLY),
        );
    }
    if !missing.is_empty() {
        let seen = format!("the backstop lacks {}", several(&missing, usize::MAX));
        findings.push(
            Finding::warning(BACKSTOP, seen)
                .fix("apply it, or ignore this warning if the enforcement file of the webhook does not reject this rule everywhere")
                .command(APPLY),
        );
    }
    if findings.is_empty() {
        let seen = format!("{} policies of the backstop match this version", all.len());
        findings.push(Finding::ok(BACKSTOP, seen));
    }
    findings
}

fn flaw(one: &BackstopPolicy, policy: Option<&Value>, binding: Option<&Value>) -> Option<String> {
    let name = &one.name;
    let (Some(policy), Some(binding)) = (policy, binding) else {
        let what = if policy.is_none() { "policy" } else { "binding" };
        return Some(format!("{name} has no {what}"));
    };
    let parts = [
        ("policy", policy, &one.policy),
        ("binding", binding, &one.binding),
    ];
    let other = parts
        .into_iter()
        .find(|(_, found, wanted)| found.get("spec") != wanted.get("spec"));
    other.map(|(what, ..)| format!("spec of the {what} {name} is different"))
}

/// Returns whether an object has the name of one of the backstop.
fn is_of_backstop(name: &str) -> bool {
    backstop().iter().any(|one| one.name == name)
}

impl BackstopObjects {
    /// Keeps the objects of the backstop among all policies and bindings of a hub.
    pub fn of(policies: Vec<Value>, bindings: Vec<Value>) -> Self {
        let named = |objects: Vec<Value>| {
            let named = objects.into_iter().filter_map(|object| {
                let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
                is_of_backstop(&name).then_some((name, object))
            });
            named.collect()
        };
        Self {
            policies: named(policies),
            bindings: named(bindings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use serde_json::json;

    fn found(minor: &str, policies: Vec<Value>, bindings: Vec<Value>) -> Vec<Finding> {
        current(&HubFacts {
            kubernetes: Reading::Seen(("1".to_owned(), minor.to_owned(), format!("v1.{minor}.0"))),
            backstop: Reading::Seen(BackstopObjects::of(policies, bindings)),
            ..HubFacts::default()
        })
    }

    fn all() -> (Vec<Value>, Vec<Value>) {
        backstop()
            .into_iter()
            .map(|one| (one.policy, one.binding))
            .unzip()
    }

    #[test]
    fn what_others_changed_is_an_error_and_what_was_left_out_is_said() {
        let severities = |found: Vec<Finding>| found.iter().map(|one| one.severity).collect::<Vec<_>>();
        let (policies, bindings) = all();
        assert_eq!(
            severities(found("30", policies.clone(), bindings.clone())),
            [Severity::Ok]
        );
        let (mut other, mut excluding) = (policies.clone(), policies.clone());
        other[0]["spec"]["failurePolicy"] = json!("Ignore");
        excluding[1]["spec"]["matchConstraints"]["excludeResourceRules"] = json!([{"resources": ["*"]}]);
        let mut warning = bindings.clone();
        warning[2]["spec"]["validationActions"] = json!(["Warn"]);
        let without_binding = bindings[1..].to_vec();
        for (policies, bindings, words) in [
            (
                other,
                bindings.clone(),
                "spec of the policy tidegate-rollout-max-concurrency",
            ),
            (
                excluding,
                bindings.clone(),
                "spec of the policy tidegate-rollout-max-failures",
            ),
            (
                policies.clone(),
                warning,
                "spec of the binding tidegate-rollout-min-success-time",
            ),
            (
                policies.clone(),
                without_binding,
                "tidegate-rollout-max-concurrency has no binding",
            ),
        ] {
            let found = found("36", policies, bindings);
            assert_eq!(found[0].severity, Severity::Error);
            assert!(found[0].seen.contains(words), "{}", found[0].seen);
        }
        let less = found("30", policies[1..].to_vec(), bindings[1..].to_vec());
        assert_eq!(less[0].severity, Severity::Warning);
        assert!(
            less[0].seen.contains("tidegate-rollout-max-concurrency"),
            "{}",
            less[0].seen
        );
        for (minor, words) in [
            ("29", "Kubernetes 1.29 does not serve"),
            ("30", "is not installed"),
        ] {
            let found = found(
                minor,
                Vec::new(),
                vec![json!({"metadata": {"name": "of-others"}})],
            );
            assert_eq!(found[0].severity, Severity::Note);
            assert!(found[0].seen.contains(words), "{}", found[0].seen);
        }
        assert!(current(&HubFacts::default()).is_empty());
    }
}
