//! Who has decided about a change, and when: the webhook records both in a RolloutApproval.
//!
//! Decides which decision is new. A name that its author could choose would prove nothing, so any other value is refused.

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

use super::author::Author;
use super::request::{Request, Webhook};
use super::subject::{Approval, Kind as _};
use jiff::Timestamp;
use kubernetes::field::{Class, Fault, Path, Violation, quoted};

pub(super) const AUTHOR: &str = "approval/author";
/// What makes a decision another one.
const DECIDES: [&str; 3] = ["result", "content", "reason"];

/// Id and documentation of the rule.
pub(super) const DOC: (&str, &str) = (
    AUTHOR,
    "The webhook records who has decided, and when.\n\n\
     A RolloutApproval shows the user who approved or rejected a change. The webhook sets `spec.decision.by` to the user of the request \
     and `spec.decision.at` to its time when `result`, `content` or `reason` changes. Refused: another name or time, and a change of \
     either without a new decision. Omit both fields. While the webhook is unavailable, a decision has no author and does not count, \
     and the backstop refuses another name.",
);

/// Returns the author and the time of a new decision, as far as the request leaves them open or repeats those of the last decision.
pub(super) fn addition(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Patch {
    if request.resource != Approval::RESOURCE || request.webhook != Webhook::Mutate {
        return Patch::default();
    }
    let (Some(decision), Some(author)) = (decision(object), Author::of(request)) else {
        return Patch::default();
    };
    let before = old.and_then(self::decision);
    if !is_new(decision, before) {
        return Patch::default();
    }
    let at = author.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let values = [("by", author.name), ("at", at)];
    let added = values.into_iter().filter_map(|(key, value)| {
        let given = text(decision, key);
        let is_open = given.is_empty() || before.is_some_and(|before| text(before, key) == given);
        let path = format!("/spec/decision/{key}").parse().ok()?;
        is_open.then(|| {
            PatchOperation::Add(AddOperation {
                path,
                value: value.into(),
            })
        })
    });
    Patch(added.collect())
}

/// Returns what is wrong with the author or the time of a decision.
pub(super) fn faults(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Vec<Violation> {
    if request.resource != Approval::RESOURCE {
        return Vec::new();
    }
    let (Some(decision), Some(author)) = (decision(object), Author::of(request)) else {
        return Vec::new();
    };
    let before = old.and_then(self::decision);
    let path = Path::root().key("spec").key("decision");
    let mut wrong = Vec::new();
    let (by, at) = (text(decision, "by"), text(decision, "at"));
    if !is_new(decision, before) {
        let before = before.unwrap_or(&Value::Null);
        for (key, given) in [("by", by), ("at", at)] {
            if text(before, key) != given {
                let fault = Fault::of_text(
                    Class::Forbidden,
                    given,
                    "cannot be changed without a new decision",
                );
                wrong.push(fault.at(path.key(key), AUTHOR));
            }
        }
        return wrong;
    }
    if by != author.name {
        let right = format!(
            "must be {}, the user of the request, or absent",
            quoted(&author.name)
        );
        wrong.push(Fault::of_text(Class::Invalid, by, right).at(path.key("by"), AUTHOR));
    }
    if !at.parse::<Timestamp>().is_ok_and(|at| author.is_now(at)) {
        let right = "must be the time of the request, or absent";
        wrong.push(Fault::of_text(Class::Invalid, at, right).at(path.key("at"), AUTHOR));
    }
    wrong
}

fn decision(object: &Value) -> Option<&Value> {
    object
        .pointer("/spec/decision")
        .filter(|decision| decision.is_object())
}

/// A decision that was stored without its author does not count yet: to repeat it is to decide.
fn is_new(decision: &Value, before: Option<&Value>) -> bool {
    let before = before.unwrap_or(&Value::Null);
    let has_no_author = text(before, "by").is_empty() || text(before, "at").is_empty();
    has_no_author || DECIDES.iter().any(|key| text(decision, key) != text(before, key))
}

fn text<'v>(decision: &'v Value, key: &str) -> &'v str {
    decision.get(key).and_then(Value::as_str).unwrap_or_default()
}
