//! One policy on the stage, with its params and variables.
//!
//! Decides what may be spent, and why an expression has no value: its own fault, or a fact that nobody knows.

use std::collections::BTreeMap;

use schema::cel::{Answer, EvalError, Failure, Stage};
use serde_json::Value;

use super::compile::Policy;
use super::expression::Expression;
use super::fact::Fact;
use super::question::Question;

static NULL: Value = Value::Null;

/// Units that one policy may spend on one request; a unit is about one step of the evaluator.
const POLICY_UNITS: u64 = 1_000_000;
/// Units that all policies together may spend on one request. They fit the deadline of a decision on a slow core, even where an
/// update is judged twice: with what is to be stored and with what is.
const REQUEST_UNITS: u64 = 3_000_000;

/// What the policies of one request may still spend.
#[derive(Debug)]
pub(super) struct Budget(u64);

impl Budget {
    /// Returns a full purse.
    pub(super) const fn full() -> Self {
        Self(REQUEST_UNITS)
    }

    /// Takes units for work that no expression does.
    pub(super) fn take(&mut self, units: u64) {
        self.0 = self.0.saturating_sub(units);
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It failed.
    Failed(String),
    /// It took too long.
    GaveUp(String),
    /// A fact that it reads is not known.
    Unknown(Fact),
    /// The namespace of the object is not known, or its labels are not.
    NoNamespace(String),
}

/// Returns about how many units it takes to put a value on a stage or to copy it.
pub(super) fn units(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => u64::try_from(text.len() / 256)
            .unwrap_or(u64::MAX)
            .saturating_add(1),
        Value::Array(items) => items.iter().map(units).fold(1, u64::saturating_add),
        Value::Object(fields) => fields
            .values()
            .map(units)
            .fold(1, |all, one| all.saturating_add(one).saturating_add(1)),
    }
}

/// Facts as far as they are known.
pub(super) type FactValues = BTreeMap<Fact, Value>;

/// Asks for the facts that these policies have declared.
pub(super) fn facts<'p>(policies: impl Iterator<Item = &'p Policy>, question: &Question<'_>) -> FactValues {
    let mut values = FactValues::new();
    for fact in policies.flat_map(|policy| policy.facts.iter().copied()) {
        if !values.contains_key(&fact) {
            values.extend(question.facts.fact(fact).map(|value| (fact, value)));
        }
    }
    values
}

/// The stage that all policies share.
#[derive(Debug)]
pub(super) struct Shared<'s, 'v> {
    stage: Stage<'s, 'v>,
    known: &'v FactValues,
}

/// Returns the stage that all policies share.
pub(super) fn stage<'v>(question: &Question<'v>, facts: &'v FactValues) -> Shared<'v, 'v> {
    let mut stage: Stage<'v, 'v> = Stage::until(0, question.stop);
    stage.bind("object", question.object.unwrap_or(&NULL));
    stage.bind("oldObject", question.old.unwrap_or(&NULL));
    stage.bind("request", question.request);
    match question.namespace {
        Some(namespace) => stage.bind("namespaceObject", namespace),
        None if question.target.namespace.is_empty() => stage.bind("namespaceObject", &NULL),
        // A namespace that is there and not known must not read as one without labels.
        None => {}
    }
    for (fact, value) in facts {
        stage.bind(&fact.variable(), value);
    }
    Shared { stage, known: facts }
}

/// One policy, with its params, on the stage.
pub(super) struct Act<'s, 'v> {
    stage: Stage<'s, 'v>,
    granted: u64,
    known: &'v FactValues,
}

impl<'s, 'v> Act<'s, 'v> {
    /// Puts a policy on the stage; its variables are worked out when somebody first reads them.
    pub(super) fn begin(
        policy: &'v Policy,
        params: &'v Value,
        shared: &'s Shared<'_, 'v>,
        purse: &Budget,
    ) -> Self {
        let granted = purse.0.min(POLICY_UNITS);
        let mut stage = shared.stage.inner(granted);
        stage.bind("params", params);
        for (name, variable) in &policy.variables {
            stage.declare(name, &variable.program);
        }
        Self {
            stage,
            granted,
            known: shared.known,
        }
    }

    /// Takes what was spent out of the purse.
    pub(super) fn end(self, purse: &mut Budget) {
        purse.0 = purse
            .0
            .saturating_sub(self.granted.saturating_sub(self.stage.left()));
    }

    /// Evaluates an expression of the policy.
    pub(super) fn answer(&self, expression: &Expression) -> Result<Answer<'v>, Trouble> {
        self.stage
            .answer(&expression.program)
            .map_err(|failure| match failure {
                Failure::Spent | Failure::Stopped => Trouble::GaveUp(failure.words().to_owned()),
                Failure::Failed(words) => self.explain(expression, &words),
            })
    }

    /// Evaluates an expression that must be a truth value.
    pub(super) fn holds(&self, expression: &Expression) -> Result<bool, Trouble> {
        self.stage
            .holds(&expression.program)
            .map_err(|error| match error {
                EvalError::BudgetSpent | EvalError::Stopped => Trouble::GaveUp(error.words().to_owned()),
                EvalError::NoOverload(words) | EvalError::Failed(words) => self.explain(expression, &words),
            })
    }

    /// What is not known is not bound, so that whoever reads it fails.
    fn explain(&self, expression: &Expression, words: &str) -> Trouble {
        match words {
            "no such attribute(s): facts" => {
                let mut unknown = expression
                    .needs
                    .iter()
                    .filter(|fact| !self.known.contains_key(fact));
                unknown.next().map_or_else(
                    || Trouble::Failed("a fact has no value".to_owned()),
                    |fact| Trouble::Unknown(*fact),
                )
            }
            "no such attribute(s): namespaceObject" => {
                Trouble::NoNamespace("the namespace of the object is not known".to_owned())
            }
            words => Trouble::Failed(words.to_owned()),
        }
    }
}
