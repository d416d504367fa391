//! An activation: variables under names, on which programs are evaluated one after another within one budget.
//!
//! For expressions outside of a schema: policies, conditions. Decides how values are bound: by their JSON types, members
//! under their own names (nothing is escaped); converted once, and shared with the activations inside. A member of
//! `variables` that is declared with an expression is evaluated when it is first touched, once, and its failure is that of
//! every expression that touches it. Never decides what an answer means.

use super::convert;
use super::cost::{Budget, EXPRESSION_UNITS};
use super::detach::detach;
use super::engine::engine;
use super::library::{Authority, Authorizer};
use super::plain;
use super::program::{EvalError, Program};
use super::typed::Typed;
use super::variables::Bindings;
use crate::stop::Stop;
use ::cel::common::types::{CelBool, CelNull, CelString};
use ::cel::common::value::{CowVal, Val};
use ::cel::{Context, ExecutionError};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Variables, and what may still be spent on expressions that read them.
///
/// ```
/// # use cel_engine::{Program, Activation};
/// let object = serde_json::json!({"spec": {"replicas": 3}});
/// let mut request = Activation::new(100_000);
/// request.bind("object", &object);
/// let many = Program::compile("object.spec.replicas > 2").unwrap();
/// let mut policy = request.inner(10_000);
/// policy.declare("many", &many);
/// let program = Program::compile("variables.many ? 'many' : 'few'").unwrap();
/// assert_eq!(policy.answer(&program).unwrap().as_text(), Some("many"));
/// ```
pub struct Activation<'p, 'v> {
    seen: Bindings<'p, 'v>,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It would take more than there is to spend.
    Spent,
    /// The caller has stopped it: there is no more time.
    Stopped,
    /// Everything else, in words: `no such key: x`.
    Failed(String),
}

/// The value of an expression, with its own type.
pub struct Evaluated<'v>(Box<dyn Val + 'v>);

impl Activation<'_, '_> {
    /// Returns an empty activation on which `units` may be spent; a unit is about one step of the evaluator.
    pub fn new(units: u64) -> Self {
        Self::until(units, &Stop::never())
    }

    /// Returns an empty activation that also ends when `stop` is flipped, and so do the activations inside.
    pub fn until(units: u64, stop: &Stop) -> Self {
        let context = Context::with_env(Arc::clone(engine()));
        Self {
            seen: Bindings::new(context, Budget::until(units, stop)),
        }
    }
}

impl<'v> Activation<'_, 'v> {
    /// Returns an activation that sees this one's variables and has its own: variables and budget. It does not see what this
    /// one declared.
    pub fn inner<'b>(&'b self, units: u64) -> Activation<'b, 'v> {
        let budget = Budget::until(units, self.seen.budget.stop());
        Activation {
            seen: Bindings::new(self.seen.context.new_inner_scope(), budget),
        }
    }

    /// Binds a JSON value. A name with dots stands for a member that is known beforehand: `facts.cluster`.
    pub fn bind(&mut self, name: &str, value: &'v Value) {
        self.seen.context.add_variable_as_val(name, plain::untyped(value));
    }

    /// Binds what an expression has made.
    pub fn bind_answer(&mut self, name: &str, answer: Evaluated<'v>) {
        self.seen.context.add_variable_as_val(name, answer.0);
    }

    /// Binds a value that knows its type.
    pub fn bind_typed(&mut self, name: &str, value: &Typed) {
        self.seen.context.add_variable_as_val(name, value.to_val());
    }

    /// Binds `authorizer`.
    pub fn authorize(&mut self, authority: Arc<dyn Authority>) {
        self.seen
            .context
            .add_variable_as_val("authorizer", Box::new(Authorizer::new(authority)));
    }

    /// Declares `variables.NAME`: it sees those declared before it.
    pub fn declare(&mut self, name: &'v str, program: &'v Program) {
        self.seen.declare(name, program);
    }

    /// Evaluates a program.
    pub fn answer(&self, program: &Program) -> Result<Evaluated<'v>, Failure> {
        let kept = self.evaluate(program, |value| detach(value));
        kept.map(Evaluated).map_err(|error| match error {
            EvalError::BudgetSpent => Failure::Spent,
            EvalError::Stopped => Failure::Stopped,
            EvalError::NoOverload(words) | EvalError::Failed(words) => Failure::Failed(words),
        })
    }

    /// Evaluates to JSON.
    pub fn eval(&self, program: &Program) -> Result<Value, EvalError> {
        self.evaluate(program, |value| convert::to_json(value).map_err(wrong))
    }

    /// Evaluates to a value that knows its type.
    pub fn eval_typed(&self, program: &Program) -> Result<Typed, EvalError> {
        self.evaluate(program, |value| Typed::of(value).map_err(wrong))
    }

    /// Evaluates to a truth value; any other result is an error.
    pub fn holds(&self, program: &Program) -> Result<bool, EvalError> {
        self.evaluate(program, |value| {
            let holds = value.downcast_ref::<CelBool>().map(|holds| *holds.inner());
            holds.ok_or_else(|| wrong("cel expression must evaluate to a bool".to_owned()))
        })
    }

    /// Returns how many units are left.
    pub fn left(&self) -> u64 {
        self.seen.budget.left()
    }

    fn evaluate<T>(
        &self,
        program: &Program,
        read: impl FnOnce(&dyn Val) -> Result<T, ExecutionError>,
    ) -> Result<T, EvalError> {
        program.start(self.seen.scope(), &self.seen.budget, |result: CowVal<'_, '_>| {
            read(result.as_ref())
        })
    }
}

fn wrong(words: String) -> ExecutionError {
    ExecutionError::function_error("", words)
}

impl Program {
    /// Evaluates with JSON values as variables, typed by their JSON types.
    pub fn eval(&self, vars: &[(&str, &Value)]) -> Result<Value, String> {
        let mut activation = Activation::new(EXPRESSION_UNITS);
        for (name, value) in vars {
            activation.bind(name, value);
        }
        activation.eval(self).map_err(|error| error.words().to_owned())
    }
}

impl Evaluated<'_> {
    /// Returns the truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        self.0.downcast_ref::<CelBool>().map(|holds| *holds.inner())
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        self.0.downcast_ref::<CelString<'_>>().map(CelString::inner)
    }

    /// Tells whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.0.downcast_ref::<CelNull>().is_some()
    }

    /// Returns the name of the type, as `type()` shows it.
    pub fn type_name(&self) -> String {
        self.0.get_type().name().to_owned()
    }

    /// Returns the JSON form; a few types have none.
    pub fn to_json(&self) -> Result<Value, String> {
        convert::to_json(self.0.as_ref())
    }
}

impl Failure {
    /// Returns the words of the failure.
    pub fn words(&self) -> &str {
        match self {
            Self::Spent => EvalError::BudgetSpent.words(),
            Self::Stopped => EvalError::Stopped.words(),
            Self::Failed(words) => words,
        }
    }
}

impl fmt::Debug for Activation<'_, '_> {
    // Never the values: objects do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activation")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Evaluated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Evaluated").field(&self.type_name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn program(source: &str) -> Program {
        Program::compile(source).expect("it compiles")
    }

    #[test]
    fn members_keep_their_own_names() {
        let object = json!({"metadata": {"namespace": "a", "labels": {"app.kubernetes.io/name": "x"}}});
        let mut activation = Activation::new(1000);
        activation.bind("object", &object);
        let holds = |source: &str| activation.answer(&program(source)).map(|answer| answer.as_bool());
        assert_eq!(holds("object.metadata.namespace == 'a'"), Ok(Some(true)));
        assert_eq!(
            holds("'app.kubernetes.io/name' in object.metadata.labels"),
            Ok(Some(true))
        );
        assert_eq!(
            holds("object.metadata.nope == 'a'"),
            Err(Failure::Failed("no such key: nope".to_owned()))
        );
    }

    #[test]
    fn an_answer_keeps_its_type_for_the_next_expression() {
        let mut activation = Activation::new(1000);
        let time = activation
            .answer(&program("timestamp('2026-01-02T00:00:00Z')"))
            .expect("a value");
        activation.bind_answer("variables.start", time);
        let later = activation.answer(&program("variables.start > timestamp('2026-01-01T00:00:00Z')"));
        assert_eq!(later.map(|answer| answer.as_bool()), Ok(Some(true)));
    }

    #[test]
    fn a_member_that_is_not_bound_is_an_error_only_where_it_is_read() {
        let activation = Activation::new(1000);
        let holds = |source: &str| activation.answer(&program(source)).map(|answer| answer.as_bool());
        assert_eq!(holds("true || variables.a"), Ok(Some(true)));
        assert!(holds("false || variables.a").is_err());
    }

    #[test]
    fn inner_activations_pay_for_themselves() {
        let list: Value = (0..1000).collect();
        let mut activation = Activation::new(1_000_000);
        activation.bind("list", &list);
        let costly = program("list.all(a, list.all(b, list.all(c, a >= 0)))");
        assert_eq!(
            activation.inner(10_000).answer(&costly).err(),
            Some(Failure::Spent)
        );
        let cheap = program("list.size() == 1000");
        assert_eq!(
            activation.answer(&cheap).map(|answer| answer.as_bool()),
            Ok(Some(true))
        );
    }
}
