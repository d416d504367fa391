//! What the expressions of one request see.
//!
//! Decides how variables are bound: data is converted once and shared by all expressions; `variables.x` is evaluated
//! when an expression first touches it, once, and its failure belongs to those who touch it. Property names are never
//! escaped here: the objects of policies are dynamic.

use super::budget::Budget;
use super::convert;
use super::detach::detach;
use super::engine::engine;
use super::library::{Authority, Authorizer};
use super::program::{EvalError, Program};
use super::typed::Typed;
use super::variables::{Lazy, Variables};
use ::cel::common::types::{CelBool, CelString};
use ::cel::common::value::{CowVal, Val};
use ::cel::{Context, ExecutionError};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The variables of one request, or of one policy within it.
///
/// ```
/// # use schema::cel::{Activation, Budget, Program};
/// let object = serde_json::json!({"spec": {"replicas": 3}});
/// let budget = Budget::for_expression();
/// let mut request = Activation::new(&budget);
/// request.bind("object", &object);
/// let many = Program::compile("object.spec.replicas > 2").unwrap();
/// let mut policy = request.scope(&budget);
/// policy.declare("many", &many);
/// let program = Program::compile("variables.many ? 'many' : 'few'").unwrap();
/// assert_eq!(policy.text(&program), Ok("many".to_owned()));
/// ```
pub struct Activation<'p, 'v> {
    context: Context<'p, 'v>,
    pub(super) variables: Vec<Lazy<'v>>,
    budget: Budget,
}

impl<'v> Activation<'static, 'v> {
    /// Makes an activation without variables.
    pub fn new(budget: &Budget) -> Self {
        Self {
            context: Context::with_env(Arc::clone(engine())),
            variables: Vec::new(),
            budget: budget.clone(),
        }
    }
}

impl<'v> Activation<'_, 'v> {
    /// Makes an activation that sees the variables of this one, and has its own `variables.…` and budget.
    pub fn scope<'s>(&'s self, budget: &Budget) -> Activation<'s, 'v> {
        Activation {
            context: self.context.new_inner_scope(),
            variables: Vec::new(),
            budget: budget.clone(),
        }
    }

    /// Binds a JSON value, typed by its JSON types.
    pub fn bind(&mut self, name: &str, value: &'v Value) {
        self.context.add_variable_as_val(name, convert::untyped(value));
    }

    /// Binds a value that knows its type.
    pub fn bind_typed(&mut self, name: &str, value: &Typed) {
        self.context.add_variable_as_val(name, value.to_val());
    }

    /// Binds `authorizer`.
    pub fn authorize(&mut self, authority: Arc<dyn Authority>) {
        self.context
            .add_variable_as_val("authorizer", Box::new(Authorizer::new(authority)));
    }

    /// Declares `variables.NAME`: it sees the variables declared before it.
    pub fn declare(&mut self, name: &'v str, program: &'v Program) {
        self.variables.push(Lazy::new(name, program));
    }

    /// Evaluates to JSON.
    pub fn eval(&self, program: &Program) -> Result<Value, EvalError> {
        self.read(program, |value| convert::to_json(value).map_err(wrong))
    }

    /// Evaluates to a value that knows its type.
    pub fn eval_typed(&self, program: &Program) -> Result<Typed, EvalError> {
        self.read(program, |value| Typed::of(value).map_err(wrong))
    }

    /// Evaluates to a truth value; any other result is an error.
    pub fn holds(&self, program: &Program) -> Result<bool, EvalError> {
        self.read(program, |value| {
            let holds = value.downcast_ref::<CelBool>().map(|holds| *holds.inner());
            holds.ok_or_else(|| wrong("cel expression must evaluate to a bool".to_owned()))
        })
    }

    /// Evaluates to a text; any other result is an error.
    pub fn text(&self, program: &Program) -> Result<String, EvalError> {
        self.read(program, |value| {
            let text = value
                .downcast_ref::<CelString<'_>>()
                .map(|text| text.inner().to_owned());
            text.ok_or_else(|| wrong("cel expression must evaluate to a string".to_owned()))
        })
    }

    fn read<T>(
        &self,
        program: &Program,
        read: impl FnOnce(&dyn Val) -> Result<T, ExecutionError>,
    ) -> Result<T, EvalError> {
        let scope = self.within(self.variables.len());
        program.start(scope, &self.budget, |result: CowVal<'_, '_>| {
            read(result.as_ref())
        })
    }

    /// Makes the scope of one evaluation, which sees the first `known` of the lazy variables.
    fn within(&self, known: usize) -> Context<'_, '_> {
        let mut scope: Context<'_, '_> = self.context.new_inner_scope();
        if !self.variables.is_empty() {
            scope.add_variable_as_val("variables", Box::new(Variables::new(self, known)));
        }
        scope
    }

    /// Evaluates a lazy variable, which sees those before it.
    pub(super) fn compute(&self, at: usize, program: &Program) -> Result<Box<dyn Val>, ExecutionError> {
        program.run(self.within(at), &self.budget, |value| detach(value.as_ref()))
    }
}

fn wrong(words: String) -> ExecutionError {
    ExecutionError::function_error("", words)
}

impl fmt::Debug for Activation<'_, '_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.variables.iter().map(Lazy::name);
        out.debug_struct("Activation")
            .field("variables", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
