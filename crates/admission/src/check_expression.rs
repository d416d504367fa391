//! The expression of a RolloutCheck: CEL over the values of its queries.
//!
//! The same for admission, which refuses what does not compile, and for the controllers, which evaluate it.

use std::collections::BTreeMap;

use cel_engine::typecheck::{self, Declared, Type};
use cel_engine::{Activation, CompileError, Program};
use kubernetes::field::{nearest, quoted};
use serde_json::Value;

/// So much one evaluation may cost, in steps of the evaluator.
const BUDGET: u64 = 100_000;

/// A compiled expression.
#[derive(Debug)]
pub struct CheckExpression(Program);

impl CheckExpression {
    /// Compiles an expression whose variables are the names of queries, all of type `double`.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it: its syntax, a name or a type, or that its result is no `bool`.
    pub fn compile<'n>(source: &str, names: impl IntoIterator<Item = &'n str>) -> Result<Self, String> {
        let names: BTreeMap<String, Type> = names
            .into_iter()
            .map(|name| (name.to_owned(), Type::named("double")))
            .collect();
        let program = Program::build(source).map_err(|error| told(&error))?;
        let mut read = program.references().into_iter();
        if let Some(unknown) = read.find(|one| !names.contains_key(&one.name)) {
            let near = nearest(&unknown.name, names.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {}?", quoted(near)));
            return Err(format!("no query has the name {}{near}", quoted(&unknown.name)));
        }
        let declared = Declared {
            names: Some(&names),
            ..Declared::default()
        };
        let found = typecheck::check(&program, &declared).map_err(|error| told(&error))?;
        if found.is("bool") {
            return Ok(Self(program));
        }
        Err(format!("must evaluate to bool, not to {found}"))
    }

    /// Evaluates it with the values of the queries.
    ///
    /// # Errors
    ///
    /// Returns why it has no result.
    pub fn holds(&self, values: &BTreeMap<String, f64>) -> Result<bool, String> {
        let values: Vec<(&String, Value)> = values
            .iter()
            .map(|(name, value)| (name, Value::from(*value)))
            .collect();
        let mut activation = Activation::new(BUDGET);
        for (name, value) in &values {
            activation.bind(name, value);
        }
        activation
            .holds(&self.0)
            .map_err(|error| error.words().to_owned())
    }
}

/// Lists the faults of an expression, each with its line and column.
fn told(error: &CompileError) -> String {
    let each = error.faults.iter();
    let each = each.map(|fault| format!("at {}:{}: {}", fault.line, fault.column, fault.message));
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(source: &str) -> Result<CheckExpression, String> {
        CheckExpression::compile(source, ["errors", "total"])
    }

    fn holds(source: &str, errors: f64) -> Result<bool, String> {
        let values = BTreeMap::from([("errors".to_owned(), errors), ("total".to_owned(), 0.0)]);
        compiled(source)?.holds(&values)
    }

    #[test]
    fn values_are_doubles_also_where_they_are_whole() {
        assert_eq!(holds("errors < 0.01", 0.001), Ok(true));
        assert_eq!(holds("errors < 0.01", 3.0), Ok(false));
        assert_eq!(holds("errors == 3.0 && total < 1", 3.0), Ok(true));
        assert_eq!(holds("errors / 2.0 < 1.0", 3.0), Ok(false));
    }

    #[test]
    fn what_is_no_truth_value_over_the_names_does_not_compile() {
        for (source, part) in [
            ("errors <", "Syntax error"),
            (
                "error < 0.01",
                "no query has the name \"error\"; did you mean \"errors\"?",
            ),
            ("object.spec.x == 1", "no query has the name \"object\""),
            ("errors", "must evaluate to bool, not to double"),
            ("errors == 'many'", "no matching overload"),
        ] {
            let wrong = compiled(source).map(|_| ()).expect_err(source);
            assert!(wrong.contains(part), "{source}: {wrong}");
        }
    }
}
