//! Runs policies between the built-in defaults and the verdict.
//!
//! An old fault only warns in an update, as with built-in rules. Mutations get the object as it was received with the built-in defaults,
//! validations get it as it would be stored.

use std::collections::BTreeMap;
use std::rc::Rc;

use json_patch::Patch;
use serde_json::Value;

use super::facts::FleetFacts;
use super::question::{target, value};
use crate::enforcement::Scope;
use crate::policy::{Finding, Judgement, Mutated, Outcome, PolicySet, Question};
use crate::ratchet::{self, Values};
use crate::request::{Request, UnknownFacts, Webhook};
use crate::rulebook::Rulebook;
use kubernetes::field::{Findings, Path, Violation};
use store::{Confirmed, Facts, Kind, ObjectKey};

/// The end of a name that the API server could have generated.
const GENERATED: &str = "x7k2q";

/// The input of policies.
#[derive(Clone, Copy)]
pub(crate) struct PolicyAttributes<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) name: &'a str,
    pub(crate) facts: &'a Facts,
    pub(crate) rulebook: &'a Rulebook,
    pub(crate) scope: Scope<'a>,
}

/// The additions of policies to an object.
#[derive(Default)]
pub(crate) struct Added {
    pub(crate) patch: Patch,
    pub(crate) findings: Findings,
    pub(crate) undecided: Vec<Violation>,
    /// The namespace, if it must be read from the hub.
    pub(crate) asked: Option<ObjectKey>,
}

/// The findings of policies for an object.
#[derive(Default)]
pub(crate) struct PolicyFindings {
    pub(crate) findings: Findings,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) undecided: Vec<Violation>,
    /// The namespace, if it must be read from the hub.
    pub(crate) asked: Option<ObjectKey>,
}

/// Returns the additions of policies; `patch` is the addition of the built-in defaults.
pub(crate) fn mutate(
    asked: &PolicyAttributes<'_>,
    object: &Value,
    old: Option<&Value>,
    patch: &Patch,
) -> Added {
    let policies = &asked.rulebook.policies;
    if policies.is_empty() || asked.request.webhook != Webhook::Mutate {
        return Added::default();
    }
    let mut object = object.clone();
    // They were created for this object.
    let _fits = json_patch::patch(&mut object, patch);
    let Mutated { patch, mut findings } = asked.ask(Some(&object), old, |question| policies.mutate(question));
    Added {
        patch,
        asked: asked.place(&findings),
        undecided: asked.set_aside(&mut findings),
        findings: asked.collected(&findings),
    }
}

/// Returns the findings of policies. If an object does not fit its schema, correct expressions may fail, so only definite violations are
/// reported.
pub(crate) fn examine(
    asked: &PolicyAttributes<'_>,
    object: &Value,
    old: Option<&Value>,
    shaped: bool,
) -> PolicyFindings {
    let policies = &asked.rulebook.policies;
    if policies.is_empty() {
        return PolicyFindings::default();
    }
    if let Some(named) = with_a_name(object).filter(|_| asked.request.webhook == Webhook::Mutate) {
        return match asked.request.circumstances.unknown {
            // The API server generates the name between the two webhooks, so the second webhook decides.
            UnknownFacts::Fail => PolicyFindings::default(),
            UnknownFacts::SetAside => {
                let name = named.pointer("/metadata/name").and_then(Value::as_str);
                let name = name.unwrap_or_default();
                examine(&PolicyAttributes { name, ..*asked }, &named, old, shaped)
            }
        };
    }
    let mut outcome = asked.validate(policies, (Some(object), old));
    let place = asked.place(&outcome.findings);
    if !shaped {
        outcome
            .findings
            .retain(|finding| finding.judgement == Judgement::Broken);
    }
    let undecided = asked.set_aside(&mut outcome.findings);
    let findings = asked.collected(&outcome.findings);
    let findings = match old {
        Some(before) if !findings.allows() => {
            let was = asked.validate(policies, (Some(before), Some(before)));
            let (mut values, mut stored) = (Values::of(object), Values::of(before));
            ratchet::soften_by(
                findings,
                &asked.collected(&was.findings),
                |new| {
                    about(new, &mut values, || {
                        policies.sees_the_same(new.rule(), new.path(), object, before)
                    })
                },
                |was| about(was, &mut stored, || true),
            )
        }
        Some(_) | None => findings,
    };
    PolicyFindings {
        findings,
        annotations: outcome.annotations,
        undecided,
        asked: place,
    }
}

/// Returns an object with a name like those that the API server generates, if it has `generateName`.
pub(super) fn with_a_name(object: &Value) -> Option<Value> {
    if !crate::policy::awaits_name(object) {
        return None;
    }
    let mut named = object.clone();
    let metadata = named.get_mut("metadata").and_then(Value::as_object_mut)?;
    let prefix = metadata.get("generateName").and_then(Value::as_str)?;
    let name = format!("{prefix}{GENERATED}");
    metadata.insert("name".to_owned(), name.into());
    Some(named)
}

/// Returns the findings of policies for a deletion, which has only the stored object.
pub(crate) fn part_with(asked: &PolicyAttributes<'_>, stored: &Value) -> PolicyFindings {
    let policies = &asked.rulebook.policies;
    if policies.is_empty() {
        return PolicyFindings::default();
    }
    let mut outcome = asked.validate(policies, (None, Some(stored)));
    let place = asked.place(&outcome.findings);
    let undecided = asked.set_aside(&mut outcome.findings);
    PolicyFindings {
        asked: place,
        findings: asked.collected(&outcome.findings),
        annotations: outcome.annotations,
        undecided,
    }
}

impl PolicyAttributes<'_> {
    /// Applies the actions of the policies, and then the enforcement settings.
    pub(super) fn collected(&self, findings: &[Finding]) -> Findings {
        self.rulebook.enforcement.apply(sorted(findings), &self.scope)
    }

    /// Returns the namespace if a finding depends on it and it is missing in the watch cache, because it may be new.
    fn place(&self, findings: &[Finding]) -> Option<ObjectKey> {
        let mut findings = findings.iter();
        let lacks = findings.any(|finding| finding.judgement == Judgement::NoNamespace);
        let may_ask = self.facts.confirmed != Confirmed::Everything;
        (lacks && may_ask).then(|| ObjectKey::new(Kind::Namespace, "", self.request.namespace))
    }

    /// Removes and returns the undecided findings, if the caller requests them.
    fn set_aside(&self, findings: &mut Vec<Finding>) -> Vec<Violation> {
        match self.request.circumstances.unknown {
            UnknownFacts::Fail => Vec::new(),
            UnknownFacts::SetAside => findings
                .extract_if(.., |finding| self.is_open(finding))
                .map(|finding| finding.violation())
                .collect(),
        }
    }

    /// Returns whether a finding depends on an unknown fact, or on the unknown user of the request.
    fn is_open(&self, finding: &Finding) -> bool {
        match finding.judgement {
            Judgement::Unknown | Judgement::NoNamespace => true,
            Judgement::Failed => {
                let asks = finding.violation().detail().ends_with("no such key: userInfo");
                asks && self.request.circumstances.user.is_none()
            }
            Judgement::Broken => false,
        }
    }

    /// Evaluates a set of policies for an object and its stored version.
    pub(super) fn validate(
        &self,
        policies: &PolicySet,
        objects: (Option<&Value>, Option<&Value>),
    ) -> Outcome {
        let (object, old) = objects;
        self.ask(object, old, |question| policies.validate(question))
    }

    pub(super) fn ask<T>(
        &self,
        object: Option<&Value>,
        old: Option<&Value>,
        answer: impl FnOnce(&Question<'_>) -> T,
    ) -> T {
        let circumstances = &self.request.circumstances;
        let request = value(self.request, self.name);
        let place = self.request.namespace;
        let namespace = self.rulebook.policies.reads_namespaces().then(|| {
            let known = self.facts.namespace(place);
            known.map(|known| known.value(place))
        });
        let fleet = FleetFacts {
            facts: self.facts,
            resource: self.request.resource,
            name: self.name,
            namespace: self.request.namespace,
            object: object.or(old).unwrap_or(&Value::Null),
            now: circumstances.now,
        };
        answer(&Question {
            target: target(self.request, self.name),
            request: &request,
            object,
            old,
            namespace: namespace.flatten().as_ref(),
            facts: &fleet,
            now: circumstances.now.or(circumstances.date),
            stop: circumstances.stop,
        })
    }
}

/// Returns what a fault is about, as text. A fault is unchanged only if nothing changes that the policy reads, whatever its `fieldPath` is.
/// A fault without a `fieldPath` is about everything that the policy reads, and not about the whole object, which changes with every label.
fn about(
    violation: &Violation,
    values: &mut Values<'_>,
    sees_the_same: impl FnOnce() -> bool,
) -> Option<Rc<str>> {
    if !sees_the_same() {
        // No JSON value has this text, so it is different from that of every old fault.
        return Some(Rc::from("changed"));
    }
    if *violation.path() == Path::root() {
        return Some(Rc::from("what it reads"));
    }
    values.at(violation.path())
}

/// Applies the actions of the policies.
fn sorted(findings: &[Finding]) -> Findings {
    let mut collected = Findings::new();
    for finding in findings {
        if finding.denies() {
            collected.deny(finding.violation());
        } else if finding.warns() {
            collected.warn(finding.violation());
        }
        if finding.audits() {
            collected.audit(finding.violation());
        }
    }
    collected
}
