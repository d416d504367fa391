//! What the rules of one schema see of one value: `self` and `oldSelf`.
//!
//! Decides how the two are bound; converts each at most once, and only the members that some rule reads.

use super::values;
use crate::node::{Kind, Node};
use ::cel::Context;
use ::cel::ExecutionError;
use ::cel::common::types::{CelBool, CelOptional, CelString};
use ::cel::common::value::Val;
use cel_engine::{Budget, EvalError, Program, ReferencedFields, engine, usable_message};
use serde_json::Value;
use std::sync::Arc;

/// The variables of the rules of one value.
pub(crate) struct Scope<'v> {
    context: Context<'v, 'v>,
    old: Option<Box<dyn Val + 'v>>,
    budget: Budget,
}

impl<'v> Scope<'v> {
    /// Binds a value and, if there is one, its old counterpart, for the rules of `node`.
    pub(crate) fn new(
        node: &Node,
        value: &'v Value,
        old: Option<&'v Value>,
        place: Place,
        budget: &Budget,
    ) -> Self {
        let mut context = Context::with_env(Arc::clone(engine()));
        let convert = |value: &'v Value, fields: &ReferencedFields| match place {
            Place::Root if node.kind == Kind::Object => values::resource(node, value, fields),
            Place::Root | Place::Below => values::typed(node, value, fields),
        };
        if let Some(fields) = &node.rules.reading.of_self {
            context.add_variable_as_val("self", convert(value, fields));
        }
        let old = match (old, &node.rules.reading.of_old) {
            (Some(old), Some(fields)) => Some(convert(old, fields)),
            (None, _) | (_, None) => None,
        };
        Self {
            context,
            old,
            budget: budget.clone(),
        }
    }

    /// Evaluates a rule. Anything but a boolean is an error.
    pub(crate) fn holds(&self, program: &Program, optional_old: bool) -> Result<bool, EvalError> {
        self.evaluate(program, optional_old, |result| {
            let wrong = || ExecutionError::function_error("", "cel expression must evaluate to a bool");
            result
                .downcast_ref::<CelBool>()
                .map(|holds| *holds.inner())
                .ok_or_else(wrong)
        })
    }

    /// Evaluates a message. Results that cannot be shown count as none.
    pub(crate) fn message(&self, program: &Program, optional_old: bool) -> Option<String> {
        let text = self.evaluate(program, optional_old, |result| {
            let text = result.downcast_ref::<CelString<'_>>();
            Ok(text.and_then(|text| usable_message(text.inner())))
        });
        text.ok().flatten()
    }

    fn evaluate<T>(
        &self,
        program: &Program,
        optional_old: bool,
        read: impl FnOnce(&dyn Val) -> Result<T, ExecutionError>,
    ) -> Result<T, EvalError> {
        let mut context = self.context.new_inner_scope();
        match (&self.old, optional_old) {
            (Some(old), false) => context.add_variable_as_val("oldSelf", old.clone_as_boxed()),
            (Some(old), true) => {
                context.add_variable_as_val("oldSelf", Box::new(CelOptional::of(old.clone_as_boxed())));
            }
            (None, true) => context.add_variable_as_val("oldSelf", Box::new(CelOptional::none())),
            (None, false) => {}
        }
        program.start(context, &self.budget, |result| read(result.as_ref()))
    }
}

/// Where a value stands: the root shows the members that every resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Root,
    Below,
}
