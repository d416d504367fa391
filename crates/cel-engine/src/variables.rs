//! `variables`: each member is the result of an expression, evaluated when it is first asked for.
//!
//! Decides when they are evaluated: with those they may read, one after the other, so that no chain of variables takes
//! the stack: each sees what its activation has bound and the variables before it. Never decides what is bound.

use super::cost::Budget;
use super::detach::detach;
use super::program::Program;
use ::cel::common::traits::Indexer;
use ::cel::common::types::{CelString, Kind, Type};
use ::cel::common::value::{CowVal, Val};
use ::cel::{Context, ExecutionError};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

static VARIABLES: Type = Type::simple_type(Kind::Map, "kubernetes.variables");

/// What the expressions of one activation see and may spend.
pub(super) struct Bindings<'p, 'v> {
    /// What is bound.
    pub(super) context: Context<'p, 'v>,
    /// What is declared, in its order.
    declared: Vec<Lazy<'v>>,
    pub(super) budget: Budget,
}

impl<'p, 'v> Bindings<'p, 'v> {
    /// Shows what is bound; nothing is declared yet.
    pub(super) fn new(context: Context<'p, 'v>, budget: Budget) -> Self {
        Self {
            context,
            declared: Vec::new(),
            budget,
        }
    }

    /// Declares a variable, which is not evaluated yet.
    pub(super) fn declare(&mut self, name: &'v str, program: &'v Program) {
        self.declared.push(Lazy {
            name,
            program,
            value: OnceLock::new(),
        });
    }

    /// Makes the scope of one evaluation, which sees all variables.
    pub(super) fn scope(&self) -> Context<'_, '_> {
        self.within(self.declared.len())
    }

    /// Makes the scope of one evaluation, which sees the first `known` variables.
    fn within(&self, known: usize) -> Context<'_, '_> {
        let mut scope: Context<'_, '_> = self.context.new_inner_scope();
        if !self.declared.is_empty() {
            scope.add_variable_as_val("variables", Box::new(Variables { seen: self, known }));
        }
        scope
    }

    /// Evaluates a variable, which sees those before it.
    fn compute(&self, at: usize, program: &Program) -> Result<Box<dyn Val>, ExecutionError> {
        program.run(self.within(at), &self.budget, |value| detach(value.as_ref()))
    }
}

/// A variable and, once it was evaluated, its value or its failure.
struct Lazy<'v> {
    name: &'v str,
    program: &'v Program,
    value: OnceLock<Result<Box<dyn Val>, ExecutionError>>,
}

/// The variable `variables`, as far as one expression may see it.
#[derive(Clone, Copy)]
struct Variables<'a> {
    seen: &'a Bindings<'a, 'a>,
    known: usize,
}

impl<'a> Variables<'a> {
    fn find(&self, name: &str) -> Result<&'a dyn Val, ExecutionError> {
        let known = self.seen.declared.get(..self.known).unwrap_or_default();
        let Some((at, lazy)) = last(known, name) else {
            return Err(ExecutionError::no_such_key(name));
        };
        if lazy.value.get().is_none() {
            for (at, lazy) in self.needed(at) {
                lazy.value.get_or_init(|| self.seen.compute(at, lazy.program));
            }
        }
        match lazy.value.get() {
            Some(Ok(value)) => Ok(value.as_ref()),
            Some(Err(error)) => Err(error.clone()),
            None => Err(ExecutionError::no_such_key(name)),
        }
    }

    /// Returns a variable and those that it may read and that are not evaluated yet, in the order of their declaration.
    fn needed(&self, at: usize) -> Vec<(usize, &'a Lazy<'a>)> {
        let all: &'a [Lazy<'a>] = &self.seen.declared;
        let mut wanted = BTreeSet::from([at]);
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            let names = all.get(at).map(|lazy| lazy.program.members_read("variables"));
            let before = all.get(..at).unwrap_or_default();
            for name in names.flatten().unwrap_or_default() {
                let Some((at, lazy)) = last(before, &name) else {
                    continue;
                };
                if lazy.value.get().is_none() && wanted.insert(at) {
                    open.push(at);
                }
            }
        }
        wanted
            .into_iter()
            .filter_map(|at| Some((at, all.get(at)?)))
            .collect()
    }
}

/// Finds the last variable of a name: a later one hides an earlier one.
fn last<'l, 'v>(known: &'l [Lazy<'v>], name: &str) -> Option<(usize, &'l Lazy<'v>)> {
    known.iter().enumerate().rev().find(|(_, lazy)| lazy.name == name)
}

impl fmt::Debug for Variables<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Variables").finish_non_exhaustive()
    }
}

impl Indexer for Variables<'_> {
    fn get<'b, 'v>(&'b self, name: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let name = name
            .downcast_ref::<CelString<'_>>()
            .ok_or_else(|| ExecutionError::no_such_overload("_[_]", Vec::new()))?;
        self.find(name.inner()).map(CowVal::Borrowed)
    }

    fn steal<'v>(self: Box<Self>, name: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(name).map(CowVal::into_owned)
    }
}

impl Val for Variables<'_> {
    fn get_type(&self) -> &Type {
        &VARIABLES
    }

    fn cel_type() -> &'static Type {
        &VARIABLES
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }
}
