//! One policy on the stage: its variables are worked out when they are first needed, and remembered.
//!
//! Decides why an expression has no value: its own fault, that of a variable, or a fact that nobody knows.

use std::collections::BTreeMap;

use schema::cel::{Answer, Failure, Stage};
use serde_json::Value;

use super::compile::Policy;
use super::expression::Expression;
use super::fact::Fact;
use super::question::Question;

static NULL: Value = Value::Null;

/// Units that one policy may spend on one request; a unit is about one step of the evaluator.
const POLICY_UNITS: u64 = 1_000_000;
/// Units that all policies together may spend on one request.
const REQUEST_UNITS: u64 = 10_000_000;

/// What the policies of one request may still spend.
#[derive(Debug)]
pub(super) struct Purse(u64);

impl Purse {
    /// Returns a full purse.
    pub(super) const fn full() -> Self {
        Self(REQUEST_UNITS)
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It failed, or took too long.
    Failed(String),
    /// A fact that it reads is not known.
    Unknown(Fact),
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

/// Returns the stage that all policies share.
pub(super) fn stage<'v>(question: &Question<'v>, facts: &'v FactValues) -> Stage<'v, 'v> {
    let mut stage = Stage::new(0);
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
    stage
}

/// One policy, with its params, on the stage.
pub(super) struct Act<'s, 'v> {
    policy: &'v Policy,
    stage: Stage<'s, 'v>,
    granted: u64,
    /// Variables that were asked for: those that have no value, and why.
    asked: BTreeMap<&'v str, Option<Trouble>>,
}

impl<'s, 'v> Act<'s, 'v> {
    /// Puts a policy on the stage.
    pub(super) fn begin(
        policy: &'v Policy,
        params: &'v Value,
        shared: &'s Stage<'_, 'v>,
        purse: &Purse,
    ) -> Self {
        let granted = purse.0.min(POLICY_UNITS);
        let mut stage = shared.inner(granted);
        stage.bind("params", params);
        Self {
            policy,
            stage,
            granted,
            asked: BTreeMap::new(),
        }
    }

    /// Takes what was spent out of the purse.
    pub(super) fn end(self, purse: &mut Purse) {
        purse.0 = purse
            .0
            .saturating_sub(self.granted.saturating_sub(self.stage.left()));
    }

    /// Evaluates an expression of the policy.
    pub(super) fn answer(&mut self, expression: &Expression) -> Result<Answer<'v>, Trouble> {
        self.prepare(expression);
        self.stage
            .answer(&expression.program)
            .map_err(|failure| self.explain(expression, &failure))
    }

    /// Evaluates an expression that must be a truth value.
    pub(super) fn holds(&mut self, expression: &Expression) -> Result<bool, Trouble> {
        let answer = self.answer(expression)?;
        answer
            .as_bool()
            .ok_or_else(|| Trouble::Failed(format!("must be a bool, is {}", answer.type_name())))
    }

    /// Works out the variables that an expression names, in their order: each may read those above it.
    fn prepare(&mut self, expression: &Expression) {
        if expression.variables.is_empty() {
            return;
        }
        let policy = self.policy;
        for (name, variable) in &policy.variables {
            if !expression.variables.contains(name) || self.asked.contains_key(name.as_str()) {
                continue;
            }
            self.prepare(variable);
            let trouble = match self.stage.answer(&variable.program) {
                Ok(answer) => {
                    self.stage.bind_answer(&format!("variables.{name}"), answer);
                    None
                }
                Err(failure) => Some(self.explain(variable, &failure)),
            };
            self.asked.insert(name, trouble);
        }
    }

    /// What is not bound could not be worked out; the reason is that of the first such thing.
    fn explain(&self, expression: &Expression, failure: &Failure) -> Trouble {
        match failure.words() {
            "no such attribute(s): variables" => {
                let mut troubles = expression.variables.iter().filter_map(|name| {
                    let trouble = self.asked.get(name.as_str())?.as_ref()?;
                    Some(match trouble {
                        Trouble::Failed(words) => Trouble::Failed(format!("variables.{name}: {words}")),
                        Trouble::Unknown(fact) => Trouble::Unknown(*fact),
                    })
                });
                troubles
                    .next()
                    .unwrap_or_else(|| Trouble::Failed("a variable has no value".to_owned()))
            }
            "no such attribute(s): facts" => expression.facts.first().map_or_else(
                || Trouble::Failed("a fact has no value".to_owned()),
                |fact| Trouble::Unknown(*fact),
            ),
            "no such attribute(s): namespaceObject" => {
                Trouble::Failed("the namespace of the object is not known".to_owned())
            }
            words => Trouble::Failed(words.to_owned()),
        }
    }
}
