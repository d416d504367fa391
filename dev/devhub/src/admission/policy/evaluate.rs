//! One policy, one write, one parameter.
//!
//! Decides what the policy says, in Kubernetes' words; what becomes of the request is the dispatcher's business.

use cel_engine::admission_policy::{
    Annotation, Evaluate, FailurePolicy, NULL, ValidationResult, Variables, all_hold,
};
use cel_engine::{Activation, Evaluated, Failure};
use serde_json::Value;

use super::install::{Expression, Policy};
use crate::admission::attributes::Attributes;
use crate::admission::authority;
use crate::admission::conditions::or_fail;
use crate::admission::matching::VersionedObjects;

/// Units that one policy may spend on one write.
const UNITS: u64 = 5_000_000;

/// What the expressions look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvaluationContext<'a> {
    pub(super) request: &'a Attributes,
    pub(super) seen: &'a VersionedObjects,
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
pub(super) fn evaluate(policy: &Policy, context: EvaluationContext<'_>) -> Verdict {
    let mut asked = Evaluation(activation(policy, context));
    authority::admit(&mut asked.0, context.request);
    match conditions_hold(policy, &asked) {
        Ok(true) => {}
        Ok(false) => return Verdict::default(),
        Err(message) => return refused(policy, message),
    }
    // Messages may not ask what the user may do.
    let messages = Evaluation(activation(policy, context));
    let validations = policy.validations.iter().enumerate();
    let denials = validations.filter_map(|(index, (validation, reason))| {
        let (message, reason) = match validation.judge(&asked) {
            ValidationResult::Holds => return None,
            ValidationResult::Broken | ValidationResult::NotBool(_) => {
                (validation.message(&messages), reason.clone())
            }
            ValidationResult::Failed(cause) => (failure(policy, cause)?, None),
        };
        Some(Denial {
            index,
            message,
            reason,
        })
    });
    let annotations = policy.annotations.iter();
    let notes = annotations.filter_map(|(key, expression)| noted(policy, key, expression, &asked));
    Verdict {
        denials: denials.collect(),
        notes: notes.collect(),
    }
}

fn activation<'a>(policy: &'a Policy, context: EvaluationContext<'a>) -> Activation<'a, 'a> {
    let mut activation = Activation::new(UNITS);
    let variables = Variables {
        object: &context.seen.object,
        old_object: &context.seen.old_object,
        request: context.shown,
        namespace: Some(context.namespace),
    };
    variables.bind(&mut activation);
    if policy.param_kind.is_some() {
        activation.bind("params", context.params.unwrap_or(&NULL));
    }
    for (name, program) in &policy.variables {
        activation.declare(name, program);
    }
    activation
}

/// One policy on one write, with errors as an API server words them.
struct Evaluation<'a>(Activation<'a, 'a>);

impl<'a> Evaluate<'a> for Evaluation<'a> {
    type Expression = Expression;
    type Error = String;

    fn answer(&self, expression: &Expression) -> Result<Evaluated<'a>, String> {
        let program = expression
            .program
            .as_ref()
            .map_err(|cause| format!("compilation error: {cause}"))?;
        self.0.answer(program).map_err(|failure: Failure| {
            let source = &expression.source;
            format!("expression '{source}' resulted in error: {}", failure.words())
        })
    }

    fn quoted(expression: &Expression) -> String {
        expression.source.trim().to_owned()
    }
}

/// An error means what the failure policy says. What is neither true nor false counts as true.
fn conditions_hold(policy: &Policy, asked: &Evaluation<'_>) -> Result<bool, String> {
    let conditions = policy.conditions.iter();
    let held = all_hold(conditions.map(|condition| {
        asked
            .answer(condition)
            .map(|answer| answer.as_bool() != Some(false))
    }));
    or_fail(held, policy.on_failure)
}

/// Returns the message for an error, if the policy does not ignore it.
fn failure(policy: &Policy, cause: String) -> Option<String> {
    match policy.on_failure {
        FailurePolicy::Fail => Some(cause),
        FailurePolicy::Ignore => None,
    }
}

fn refused(policy: &Policy, message: String) -> Verdict {
    let denial = failure(policy, message).map(|message| Denial {
        index: 0,
        message,
        reason: None,
    });
    Verdict {
        denials: denial.into_iter().collect(),
        notes: Vec::new(),
    }
}

fn noted(policy: &Policy, key: &str, expression: &Expression, asked: &Evaluation<'_>) -> Option<Note> {
    match Annotation::of(expression, asked) {
        Annotation::None => None,
        Annotation::Text(text) => {
            let value = text.trim().to_owned();
            (!value.is_empty()).then(|| Note::Published {
                key: key.to_owned(),
                value,
            })
        }
        Annotation::NotText(found) => {
            let source = &expression.source;
            // Not even a policy that ignores failures ignores this one.
            Some(Note::Failed(format!(
                "valueExpression '{source}' resulted in unsupported return type: {found}. Return type must be either string or null."
            )))
        }
        Annotation::Failed(cause) => failure(policy, cause).map(Note::Failed),
    }
}
