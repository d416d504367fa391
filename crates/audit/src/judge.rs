//! The judgement of one stored object.
//!
//! Decides what is asked of the gate's own function: a creation, here and now, without a user, so that nothing is excused for
//! having been there before. What the facts do not have does not exist: the auditor has read everything, refuses nothing, and
//! looks again as soon as it comes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::finding::{Finding, FindingState};
use admission::policy::is_excused;
use admission::{
    Facts, FieldsKnownBy, Operation, Request, RequestContext, Rulebook, UnknownFacts, Verdict, Webhook,
    decide,
};
use kubernetes::field::{Class, Violation, Warning};
use store::{Address, Kind, Name};

/// The longest message, in bytes; policies may write more.
const LONGEST: usize = 1024;

/// Returns what is wrong with a stored object, the worst first. One that is going away is not judged any more.
///
/// `now` ends exceptions. Policies are not told: a stored object has no time of a request.
pub fn judge(kind: Kind, object: &Value, facts: &Facts, rulebook: &Rulebook, now: Timestamp) -> Vec<Finding> {
    if is_going(object) {
        return Vec::new();
    }
    let Ok(raw) = to_raw_value(object) else {
        return Vec::new();
    };
    let meta = |name: &str| {
        let value = object.get("metadata").and_then(|metadata| metadata.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    let Address {
        group,
        version,
        kind,
        resource,
        ..
    } = kind.address();
    let request = Request {
        // The object is as it was stored: whatever could be added was, and nothing is now.
        webhook: Webhook::Validate,
        operation: Operation::Create,
        group,
        version,
        resource,
        kind,
        subresource: "",
        namespace: meta("namespace"),
        name: meta("name"),
        object: Some(&raw),
        old: None,
        dry_run: true,
        circumstances: RequestContext {
            uid: "audit",
            date: Some(now),
            unknown: UnknownFacts::SetAside,
            // The hub has stored the object: it has every field.
            fields: FieldsKnownBy::TheHub,
            ..RequestContext::default()
        },
    };
    let facts = facts.clone().without_doubt();
    isolated(|| findings(&decide(&request, &facts, rulebook)))
}

/// The rule of a finding for a check that failed as a whole.
const FAILED: &str = "audit";

/// Judges, and turns a panic into a finding about this object: the others of its batch are judged, and it is not told as compliant. What is
/// judged is only read, so that a panic leaves nothing half-done behind.
fn isolated(judge: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
    catch_unwind(AssertUnwindSafe(judge)).unwrap_or_else(|_| {
        let message = "Internal error: this object could not be checked because of a bug in Tidegate: its log has the panic";
        vec![Finding {
            standing: FindingState::Broken,
            path: Name::from(""),
            rule: Name::from(FAILED),
            message: Name::from(format!("{message} [{FAILED}]")),
        }]
    })
}

/// Tells whether the deletion of an object has begun.
pub fn is_going(object: &Value) -> bool {
    object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
}

/// Whether a rule tells what a change would do: what is stored does nothing any more.
fn is_of_change(violation: &Violation) -> bool {
    violation.rule().starts_with("blast-radius/")
}

fn findings(verdict: &Verdict) -> Vec<Finding> {
    let denied = verdict
        .violations()
        .iter()
        .map(|violation| (FindingState::Denied, violation));
    let warned = verdict.warnings().iter().map(Warning::violation);
    let warned = warned.map(|violation| (FindingState::Warned, violation));
    // A finding that is rejected or warned about and also recorded is reported once.
    let told = |violation: &Violation| {
        let mut warned = verdict.warnings().iter().map(Warning::violation);
        verdict.violations().contains(violation) || warned.any(|one| one == violation)
    };
    let recorded = verdict.audited().iter().filter(|violation| !told(violation));
    let recorded = recorded.map(|violation| (FindingState::Recorded, violation));
    let open = verdict.undecided().iter();
    let open = open.map(|violation| (FindingState::Undecided, violation));
    let all = denied.chain(warned).chain(recorded).chain(open);
    let mut all: Vec<Finding> = all
        .filter(|(_, violation)| !is_of_change(violation))
        .map(|(standing, violation)| finding(standing, violation))
        .collect();
    // The gate's own order within one standing.
    all.sort_by_key(|finding| finding.standing);
    all
}

fn finding(standing: FindingState, violation: &Violation) -> Finding {
    let standing = match standing {
        FindingState::Recorded if is_excused(violation.detail()) => FindingState::Excused,
        FindingState::Denied | FindingState::Warned | FindingState::Recorded
            if violation.class() == Class::Internal =>
        {
            FindingState::Broken
        }
        FindingState::Denied
        | FindingState::Warned
        | FindingState::Recorded
        | FindingState::Broken
        | FindingState::Undecided
        | FindingState::Excused => standing,
    };
    let path = violation.path();
    let path = if path.segments().is_empty() {
        String::new()
    } else {
        path.to_string()
    };
    Finding {
        standing,
        path: Name::from(path),
        rule: Name::from(violation.rule()),
        message: Name::from(cut(match standing {
            FindingState::Warned => violation.warning(),
            FindingState::Denied
            | FindingState::Recorded
            | FindingState::Excused
            | FindingState::Broken
            | FindingState::Undecided => violation.to_string(),
        })),
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        // The rule stands at the end.
        text = kubernetes::field::shortened(&text, LONGEST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use admission::policy::{Origin, PolicySet, Source};
    use serde_json::json;

    #[test]
    fn a_field_that_the_hub_has_stored_is_not_called_unknown() {
        let object = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
            "metadata": {"name": "newer"}, "spec": {"hostedModeAutoDiscovery": {"mode": "Enable"}}});
        let now = Timestamp::UNIX_EPOCH;
        let found = judge(Kind::AddOn, &object, &Facts::default(), &Rulebook::default(), now);
        assert!(
            found.iter().all(|one| *one.rule != *"schema/unknown-field"),
            "{found:?}"
        );
    }

    fn rulebook(spec: Value) -> Rulebook {
        let mut spec = spec;
        spec["matchConstraints"] = json!({"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"],
            "operations": ["CREATE"], "resources": ["*"]}]});
        let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": "own"}, "spec": spec});
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let loaded = PolicySet::load(&[source], &[], &PolicySet::default());
        assert!(
            loaded.reports.iter().all(|report| report.faults.is_empty()),
            "{:?}",
            loaded.reports
        );
        Rulebook {
            policies: loaded.set,
            ..Rulebook::default()
        }
    }

    fn told(object: &Value, rulebook: &Rulebook) -> Vec<String> {
        let now = "2026-11-21T00:00:00Z".parse().expect("a time");
        let found = judge(Kind::HubConfig, object, &Facts::default(), rulebook, now);
        let line = |one: &Finding| format!("{} {}", one.standing.action(), one.message);
        found.iter().map(line).collect()
    }

    fn object() -> Value {
        json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnHubConfig",
            "metadata": {"name": "old", "labels": {"team": "x"}}, "spec": {"desiredVersion": "v1.0.0"}})
    }

    #[test]
    fn a_judgement_that_panics_is_an_error_of_this_object() {
        let found = isolated(|| panic!("a rule with a bug"));
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((one.standing.result(), &*one.rule), ("error", "audit"));
        assert!(one.message.contains("could not be checked"), "{}", one.message);
        assert_eq!(
            isolated(Vec::new),
            [],
            "a check that does not panic is reported as it is"
        );
    }

    #[test]
    fn each_action_has_a_standing_of_its_own() {
        for (actions, expected) in [
            (json!(["Deny"]), "deny"),
            (json!(["Warn", "Audit"]), "warn"),
            (json!(["Audit"]), "audit"),
        ] {
            let rulebook = rulebook(json!({"validationActions": actions, "validations": [
                {"id": "a", "expression": "false", "message": "never", "fieldPath": "spec"}]}));
            // What is only warned of is no error.
            let class = if expected == "warn" { "" } else { "Invalid value: " };
            let line = format!("{expected} spec: {class}never [policy/own/a]");
            assert_eq!(told(&object(), &rulebook), [line]);
        }
    }

    #[test]
    fn an_exception_is_skipped_while_it_holds() {
        let with = |until: &str| {
            rulebook(
                json!({"exceptions": [{"names": ["old"], "reason": "being replaced", "until": until}],
                "validations": [{"id": "a", "expression": "false", "message": "never"}]}),
            )
        };
        assert_eq!(
            told(&object(), &with("2026-12-31")),
            ["excepted never (excepted until 2026-12-31: being replaced) [policy/own/a]"]
        );
        assert_eq!(
            told(&object(), &with("2026-10-31")),
            ["deny never [policy/own/a]"]
        );
    }

    #[test]
    fn what_only_a_request_has_cannot_be_judged() {
        let who = rulebook(
            json!({"validations": [{"id": "a", "expression": "request.userInfo.username == 'alice'"}]}),
        );
        let when = rulebook(
            json!({"facts": ["now"], "validations": [{"id": "a", "expression": "facts.now == ''"}]}),
        );
        for rulebook in [who, when] {
            let told = told(&object(), &rulebook);
            assert!(told.len() == 1 && told[0].starts_with("undecided "), "{told:?}");
        }
        let broken =
            rulebook(json!({"validations": [{"id": "a", "expression": "object.spec.nothing == ''"}]}));
        let told = told(&object(), &broken);
        assert!(told[0].starts_with("error "), "{told:?}");
    }

    #[test]
    fn an_object_that_goes_is_left_alone() {
        let rulebook = rulebook(json!({"validations": [{"id": "a", "expression": "false"}]}));
        let mut object = object();
        object["metadata"]["deletionTimestamp"] = json!("2026-11-21T00:00:00Z");
        assert_eq!(told(&object, &rulebook), Vec::<String>::new());
    }

    #[test]
    fn a_very_long_message_is_cut() {
        let long = "é".repeat(LONGEST);
        let rulebook =
            rulebook(json!({"validations": [{"id": "a", "expression": "false", "message": long}]}));
        let told = told(&object(), &rulebook);
        assert!(
            told[0].ends_with(']') && told[0].len() <= LONGEST + 20,
            "{}",
            told[0].len()
        );
    }
}
