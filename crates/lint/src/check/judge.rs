//! One object of a file at the gate.
//!
//! Decides what is asked: a creation, or an update of what was there before. The answer is the gate's own, given twice:
//! once with what is known, once as if nothing else existed. What only the second answer says hangs on facts that are
//! missing, and is unknown: neither a fault nor none.

use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::kinds::{FileKind, KnownKind, standing};
use admission::{
    Facts, FieldsKnownBy, HubDefinitions, Operation, Request, RequestContext, Rulebook, UnknownFacts,
    Verdict, Webhook, decide,
};
use insight::offline::Knowledge;
use kubernetes::field::Violation;

/// What the gate says about an object.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Its answer from what is known.
    pub verdict: Verdict,
    /// What would be wrong if everything that is not known did not exist.
    pub unknown: Vec<Violation>,
}

/// Returns what the gate says about an object; nothing when it is no object of a kind that it judges.
///
/// `old` is what was there before. What hangs on the time is unknown.
pub fn judge(
    object: &Value,
    old: Option<&Value>,
    knowledge: &Knowledge,
    rulebook: &Rulebook,
) -> Option<Judgement> {
    let FileKind::Known(kind) = standing(object) else {
        return None;
    };
    let asked = Question {
        kind,
        object: Some(object),
        old,
        now: None,
        definitions: None,
    };
    Some(asked.judge(knowledge, rulebook))
}

/// A question about one object.
pub(super) struct Question<'a> {
    pub(super) kind: &'a KnownKind,
    /// The object; absent when it goes.
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
    /// When it is asked, for policies that look at the time.
    pub(super) now: Option<Timestamp>,
    /// The definitions of the hub, where they are known.
    pub(super) definitions: Option<&'a HubDefinitions>,
}

impl Question<'_> {
    pub(super) fn judge(&self, knowledge: &Knowledge, rulebook: &Rulebook) -> Judgement {
        let Knowledge { known, bare } = knowledge;
        let verdict = self.verdict(known, rulebook);
        let assumed = self.verdict(bare, rulebook);
        let said = |violation: &Violation| {
            let warned = verdict
                .warnings()
                .iter()
                .map(kubernetes::field::Warning::violation);
            let mut all = verdict.violations().iter().chain(warned);
            all.any(|other| other.path() == violation.path() && other.rule() == violation.rule())
        };
        let warned = assumed
            .warnings()
            .iter()
            .map(kubernetes::field::Warning::violation);
        let open = |violation: &Violation| {
            let mut open = verdict.undecided().iter();
            open.any(|other| other.rule() == violation.rule())
        };
        let unknown = assumed.violations().iter().chain(warned);
        let unknown = unknown.filter(|violation| !said(violation) && !open(violation));
        let unknown = verdict.undecided().iter().chain(unknown).cloned().collect();
        Judgement { verdict, unknown }
    }

    fn verdict(&self, facts: &Facts, rulebook: &Rulebook) -> Verdict {
        let subject = self.object.or(self.old);
        let meta = |name: &str| {
            let metadata = subject.and_then(|object| object.get("metadata"));
            let value = metadata
                .and_then(|metadata| metadata.get(name))
                .and_then(Value::as_str);
            value.unwrap_or_default()
        };
        let (object, old) = (self.object.and_then(raw), self.old.and_then(raw));
        let (group, version, kind) = self.kind.names();
        let request = Request {
            webhook: Webhook::Mutate,
            operation: match (self.object, self.old) {
                (Some(_), Some(_)) => Operation::Update,
                (Some(_), None) => Operation::Create,
                (None, _) => Operation::Delete,
            },
            group,
            version,
            resource: &self.kind.resource,
            kind,
            subresource: "",
            namespace: meta("namespace"),
            name: meta("name"),
            object: object.as_deref(),
            old: old.as_deref(),
            dry_run: true,
            circumstances: RequestContext {
                now: self.now,
                unknown: UnknownFacts::SetAside,
                fields: self
                    .definitions
                    .map_or(FieldsKnownBy::OurDefinition, FieldsKnownBy::Definitions),
                ..RequestContext::default()
            },
        };
        decide(&request, facts, rulebook)
    }
}

fn raw(value: &Value) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}
