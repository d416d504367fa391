//! One policy, one write, one parameter.
//!
//! Decides what the policy says, in Kubernetes' words; what becomes of the request is the dispatcher's business.

use schema::cel::{Answer, Failure, Stage};
use serde_json::Value;

use super::install::{Expression, Policy, Validation};
use crate::admission::attributes::Attributes;
use crate::admission::authority;
use crate::admission::configuration::FailurePolicy;
use crate::admission::matching::Seen;

/// Units that one policy may spend on one write.
const UNITS: u64 = 5_000_000;
/// Bytes that the result of a message expression may have.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// What the expressions look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) request: &'a Attributes,
    pub(super) seen: &'a Seen,
    /// The request as expressions see it.
    pub(super) shown: &'a Value,
    pub(super) namespace: &'a Value,
    /// The parameter; nothing if there is none.
    pub(super) params: Option<&'a Value>,
}

/// A no, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// Position of the validation.
    pub(super) index: usize,
    pub(super) message: String,
    pub(super) reason: Option<String>,
}

/// What an audit annotation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Published { key: String, value: String },
    Failed(String),
}

/// What a policy says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) denials: Vec<Denial>,
    pub(super) notes: Vec<Note>,
}

/// Asks a policy.
pub(super) fn evaluate(policy: &Policy, scene: Scene<'_>) -> Verdict {
    let null = Value::Null;
    let mut stage = stage(policy, scene, &null);
    authority::admit(&mut stage, scene.request);
    match conditions_hold(policy, &stage) {
        Ok(true) => {}
        Ok(false) => return Verdict::default(),
        Err(message) => return refused(policy, message),
    }
    // Messages may not ask what the user may do.
    let messages = self::stage(policy, scene, &null);
    let denials = policy
        .validations
        .iter()
        .enumerate()
        .filter_map(|(index, validation)| {
            let (message, reason) = judged(policy.on_failure, validation, &stage, &messages)?;
            Some(Denial {
                index,
                message,
                reason,
            })
        });
    let notes = policy
        .annotations
        .iter()
        .filter_map(|(key, expression)| noted(policy.on_failure, key, expression, &stage));
    Verdict {
        denials: denials.collect(),
        notes: notes.collect(),
    }
}

fn stage<'a>(policy: &'a Policy, scene: Scene<'a>, null: &'a Value) -> Stage<'a, 'a> {
    let mut stage = Stage::new(UNITS);
    stage.bind("object", &scene.seen.object);
    stage.bind("oldObject", &scene.seen.old_object);
    stage.bind("request", scene.shown);
    stage.bind("namespaceObject", scene.namespace);
    if policy.param_kind.is_some() {
        stage.bind("params", scene.params.unwrap_or(null));
    }
    for (name, program) in &policy.variables {
        stage.declare(name, program);
    }
    stage
}

fn answered<'v>(stage: &Stage<'_, 'v>, expression: &Expression) -> Result<Answer<'v>, String> {
    let program = expression
        .program
        .as_ref()
        .map_err(|cause| format!("compilation error: {cause}"))?;
    stage.answer(program).map_err(|failure: Failure| {
        let source = &expression.source;
        format!("expression '{source}' resulted in error: {}", failure.words())
    })
}

/// A false condition beats any error; an error means what the failure policy says.
fn conditions_hold(policy: &Policy, stage: &Stage<'_, '_>) -> Result<bool, String> {
    let mut errors = Vec::new();
    for condition in &policy.conditions {
        match answered(stage, condition) {
            Ok(answer) if answer.as_bool() == Some(false) => return Ok(false),
            Ok(_) => {}
            Err(cause) => errors.push(cause),
        }
    }
    match (errors.as_slice(), policy.on_failure) {
        ([], _) => Ok(true),
        (_, FailurePolicy::Ignore) => Ok(false),
        ([one], FailurePolicy::Fail) => Err(one.clone()),
        (many, FailurePolicy::Fail) => Err(format!("[{}]", many.join(", "))),
    }
}

fn refused(policy: &Policy, message: String) -> Verdict {
    let denial = Denial {
        index: 0,
        message,
        reason: None,
    };
    Verdict {
        denials: match policy.on_failure {
            FailurePolicy::Fail => vec![denial],
            FailurePolicy::Ignore => Vec::new(),
        },
        notes: Vec::new(),
    }
}

/// Returns message and reason of a check that does not hold.
fn judged(
    policy: FailurePolicy,
    validation: &Validation,
    stage: &Stage<'_, '_>,
    messages: &Stage<'_, '_>,
) -> Option<(String, Option<String>)> {
    match answered(stage, &validation.check) {
        Ok(answer) if answer.as_bool() == Some(true) => None,
        Ok(_) => Some((message(validation, messages), validation.reason.clone())),
        Err(cause) => match policy {
            FailurePolicy::Fail => Some((cause, None)),
            FailurePolicy::Ignore => None,
        },
    }
}

/// The message is what its expression says, if that is one line of text; else the one that is written; else the check.
fn message(validation: &Validation, stage: &Stage<'_, '_>) -> String {
    let said = validation.message_expression.as_ref().and_then(|expression| {
        let answer = answered(stage, expression).ok()?;
        answer.as_text().map(|text| text.trim().to_owned())
    });
    let said = said.filter(|text| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n'));
    let written = Some(validation.message.trim().to_owned()).filter(|text| !text.is_empty());
    said.or(written)
        .unwrap_or_else(|| format!("failed expression: {}", validation.check.source.trim()))
}

fn noted(policy: FailurePolicy, key: &str, expression: &Expression, stage: &Stage<'_, '_>) -> Option<Note> {
    let failed = |cause: String| match policy {
        FailurePolicy::Fail => Some(Note::Failed(cause)),
        FailurePolicy::Ignore => None,
    };
    let answer = match answered(stage, expression) {
        Ok(answer) => answer,
        Err(cause) => return failed(cause),
    };
    if answer.is_null() {
        return None;
    }
    let Some(text) = answer.as_text() else {
        let (source, found) = (&expression.source, answer.type_name());
        // Not even a policy that ignores failures ignores this one.
        return Some(Note::Failed(format!(
            "valueExpression '{source}' resulted in unsupported return type: {found}. Return type must be either string or null."
        )));
    };
    let value = text.trim().to_owned();
    (!value.is_empty()).then(|| Note::Published {
        key: key.to_owned(),
        value,
    })
}
