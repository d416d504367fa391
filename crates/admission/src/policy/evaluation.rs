//! Evaluates the expressions of one policy with its params and variables, within a cost budget.

use std::collections::BTreeMap;

use cel_engine::admission_policy::{Evaluate, NULL, Variables};
use cel_engine::{Activation, Evaluated, Failure};
use serde_json::Value;

use super::compile::Policy;
use super::expression::Expression;
use super::fault::joined_lines;
use super::question::Fact;
use super::question::Question;
use kubernetes::field::cut;

/// The cost budget of one policy for one request. A unit is about one step of the evaluator.
const POLICY_UNITS: u64 = 1_000_000;
/// The cost budget of all policies for one request. It fits into the deadline of a decision on a slow core, even for an update that is
/// evaluated twice, for the new and for the stored object.
const REQUEST_UNITS: u64 = 3_000_000;

/// The remaining cost budget of the policies of one request.
#[derive(Debug)]
pub(super) struct Budget(u64);

impl Budget {
    /// Returns the full budget.
    pub(super) const fn full() -> Self {
        Self(REQUEST_UNITS)
    }

    /// Takes units for work outside of expressions.
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
    Stopped(String),
    /// A fact that it reads is not known.
    Unknown(Fact),
    /// The namespace of the object is not known, or its labels are not.
    NoNamespace(String),
}

impl Trouble {
    /// The result of an expression is not a bool.
    pub(super) fn not_bool() -> Self {
        Self::Failed("cel expression must evaluate to a bool".to_owned())
    }
}

/// Returns the approximate cost of a value in an activation, or of a copy of it.
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

/// Most letters of an expression that an error names.
const LONGEST_QUOTE: usize = 80;

/// The known facts.
pub(super) type FactValues = BTreeMap<Fact, Value>;

/// Reads the facts that these policies have declared.
pub(super) fn facts<'p>(policies: impl Iterator<Item = &'p Policy>, question: &Question<'_>) -> FactValues {
    let mut values = FactValues::new();
    for fact in policies.flat_map(|policy| policy.facts.iter().copied()) {
        if !values.contains_key(&fact) {
            values.extend(question.facts.fact(fact).map(|value| (fact, value)));
        }
    }
    values
}

/// The variables that all policies share.
#[derive(Debug)]
pub(super) struct Shared<'s, 'v> {
    activation: Activation<'s, 'v>,
    known: &'v FactValues,
}

/// Returns the activation that all policies share.
pub(super) fn activation<'v>(question: &Question<'v>, facts: &'v FactValues) -> Shared<'v, 'v> {
    let mut activation: Activation<'v, 'v> = Activation::until(0, question.stop);
    let variables = Variables {
        object: question.object.unwrap_or(&NULL),
        old_object: question.old.unwrap_or(&NULL),
        request: question.request,
        namespace: match question.namespace {
            None if question.target.namespace.is_empty() => Some(&NULL),
            known => known,
        },
    };
    variables.bind(&mut activation);
    for (fact, value) in facts {
        activation.bind(&fact.variable(), value);
    }
    Shared {
        activation,
        known: facts,
    }
}

/// One policy, with its params, in its activation.
pub(super) struct Act<'s, 'v> {
    activation: Activation<'s, 'v>,
    granted: u64,
    known: &'v FactValues,
}

impl<'s, 'v> Act<'s, 'v> {
    /// Adds a policy to the activation. A variable is evaluated when an expression first reads it.
    pub(super) fn begin(
        policy: &'v Policy,
        params: &'v Value,
        shared: &'s Shared<'_, 'v>,
        budget: &Budget,
    ) -> Self {
        let granted = budget.0.min(POLICY_UNITS);
        let mut activation = shared.activation.inner(granted);
        activation.bind("params", params);
        for (name, variable) in &policy.variables {
            activation.declare(name, &variable.program);
        }
        Self {
            activation,
            granted,
            known: shared.known,
        }
    }

    /// Subtracts the cost from the budget.
    pub(super) fn end(self, budget: &mut Budget) {
        budget.0 = budget
            .0
            .saturating_sub(self.granted.saturating_sub(self.activation.left()));
    }

    /// Evaluates an expression that must return a bool.
    pub(super) fn holds(&self, expression: &Expression) -> Result<bool, Trouble> {
        let answer = self.answer(expression)?;
        answer.as_bool().ok_or_else(Trouble::not_bool)
    }

    /// An unknown value is not bound, so an expression that reads it fails.
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
            words => Trouble::Failed(format!(
                "expression '{}' resulted in error: {words}",
                cut(&Self::quoted(expression), LONGEST_QUOTE)
            )),
        }
    }
}

impl<'v> Evaluate<'v> for Act<'_, 'v> {
    type Expression = Expression;
    type Error = Trouble;

    fn answer(&self, expression: &Expression) -> Result<Evaluated<'v>, Trouble> {
        self.activation
            .answer(&expression.program)
            .map_err(|failure| match failure {
                Failure::Spent | Failure::Stopped => Trouble::Stopped(failure.words().to_owned()),
                Failure::Failed(words) => self.explain(expression, &words),
            })
    }

    fn quoted(expression: &Expression) -> String {
        joined_lines(expression.program.source())
    }
}
