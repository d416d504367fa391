//! A stage: variables under names, on which programs are evaluated one after another within one budget.
//!
//! For whoever evaluates expressions outside of a schema, such as policies. Decides how values are bound: by their JSON
//! types, members under their own names. A value that one expression made can be bound for the next one as it is, with
//! its type. Never decides what an answer means.

use super::convert;
use super::engine::engine;
use super::meter::{self, Budget};
use super::program::{EvalError, Program};
use ::cel::Context;
use ::cel::common::types::{CelBool, CelNull, CelString};
use ::cel::common::value::Val;
use serde_json::Value;
use std::sync::Arc;

/// Variables, and what may still be spent on expressions that read them.
pub struct Stage<'p, 'v> {
    context: Context<'p, 'v>,
    budget: Budget,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It would take more than there is to spend.
    Spent,
    /// Everything else, in words: `no such key: x`.
    Failed(String),
}

/// The value of an expression, with its own type.
pub struct Answer<'v>(Box<dyn Val + 'v>);

impl<'v> Stage<'_, 'v> {
    /// Returns an empty stage on which `units` may be spent; a unit is about one step of the evaluator.
    pub fn new(units: u64) -> Self {
        let mut context = Context::with_env(Arc::clone(engine()));
        let budget = Budget::of(units);
        context.add_variable_as_val(meter::VARIABLE, Box::new(budget.clone()));
        Self { context, budget }
    }

    /// Returns a stage that sees this one's variables and has its own: variables and budget.
    pub fn inner<'b>(&'b self, units: u64) -> Stage<'b, 'v> {
        let mut context = self.context.new_inner_scope();
        let budget = Budget::of(units);
        context.add_variable_as_val(meter::VARIABLE, Box::new(budget.clone()));
        Stage { context, budget }
    }

    /// Binds a JSON value. A name with dots stands for a member that is known beforehand: `facts.cluster`.
    pub fn bind(&mut self, name: &str, value: &'v Value) {
        self.context.add_variable_as_val(name, convert::untyped(value));
    }

    /// Binds what an expression has made.
    pub fn bind_answer(&mut self, name: &str, answer: Answer<'v>) {
        self.context.add_variable_as_val(name, answer.0);
    }

    /// Evaluates a program.
    pub fn answer(&self, program: &Program) -> Result<Answer<'v>, Failure> {
        match program.run(&self.context, &self.budget) {
            Ok(value) => Ok(Answer(value.into_owned())),
            Err(EvalError::BudgetSpent) => Err(Failure::Spent),
            Err(EvalError::NoOverload(words) | EvalError::Failed(words)) => Err(Failure::Failed(words)),
        }
    }

    /// Returns how many units are left.
    pub fn left(&self) -> u64 {
        self.budget.left()
    }
}

impl Answer<'_> {
    /// Returns the truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        self.0.downcast_ref::<CelBool>().map(|holds| *holds.inner())
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        self.0.downcast_ref::<CelString<'_>>().map(|text| text.inner())
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
            Self::Failed(words) => words,
        }
    }
}

impl std::fmt::Debug for Stage<'_, '_> {
    // Never the values: objects do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Answer").field(&self.type_name()).finish()
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
        let mut stage = Stage::new(1000);
        stage.bind("object", &object);
        let holds = |source: &str| stage.answer(&program(source)).map(|answer| answer.as_bool());
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
        let mut stage = Stage::new(1000);
        let time = stage
            .answer(&program("timestamp('2026-01-02T00:00:00Z')"))
            .expect("a value");
        stage.bind_answer("variables.start", time);
        let later = stage.answer(&program("variables.start > timestamp('2026-01-01T00:00:00Z')"));
        assert_eq!(later.map(|answer| answer.as_bool()), Ok(Some(true)));
    }

    #[test]
    fn a_member_that_is_not_bound_is_an_error_only_where_it_is_read() {
        let stage = Stage::new(1000);
        let holds = |source: &str| stage.answer(&program(source)).map(|answer| answer.as_bool());
        assert_eq!(holds("true || variables.a"), Ok(Some(true)));
        assert!(holds("false || variables.a").is_err());
    }

    #[test]
    fn inner_stages_pay_for_themselves() {
        let list: Value = (0..1000).collect();
        let mut stage = Stage::new(1_000_000);
        stage.bind("list", &list);
        let costly = program("list.all(a, list.all(b, list.all(c, a >= 0)))");
        assert_eq!(stage.inner(10_000).answer(&costly).err(), Some(Failure::Spent));
        let cheap = program("list.size() == 1000");
        assert_eq!(
            stage.answer(&cheap).map(|answer| answer.as_bool()),
            Ok(Some(true))
        );
    }
}
