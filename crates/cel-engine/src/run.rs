//! One evaluation: the names that only metered programs use, and the error that decides.
//!
//! Decides what an evaluation returns when the budget is spent; never what an expression means.

use super::cost::Budget;
use super::library::Pattern;
use ::cel::common::ast::IdedExpr;
use ::cel::common::value::{CowVal, Val};
use ::cel::context::VariableResolver;
use ::cel::{Context, ExecutionError, Value};

/// Name under which metered programs find their budget.
pub(super) const BUDGET: &str = "@budget";
/// Prefix of the names of compiled patterns.
pub(super) const PATTERN: &str = "@pattern";

/// What metered programs find under names that no expression can write.
struct Names<'a> {
    budget: &'a Budget,
    patterns: &'a [Pattern],
}

impl VariableResolver for Names<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if !variable.starts_with('@') {
            return None;
        }
        if variable == BUDGET {
            return Some(CowVal::Borrowed(self.budget));
        }
        let number = variable.strip_prefix(PATTERN)?.parse::<usize>().ok()?;
        self.patterns
            .get(number)
            .map(|pattern| CowVal::Borrowed(pattern as &dyn Val))
    }
}

/// Evaluates in a context that has all variables, and hands the result to `read`.
pub(super) fn run<T>(
    expr: &IdedExpr,
    patterns: &[Pattern],
    scope: Context<'_, '_>,
    budget: &Budget,
    read: impl FnOnce(CowVal<'_, '_>) -> Result<T, ExecutionError>,
) -> Result<T, ExecutionError> {
    let names = Names { budget, patterns };
    let mut scope: Context<'_, '_> = scope;
    scope.set_variable_resolver(&names);
    let result = Value::resolve_val(expr, &scope).and_then(read);
    // A spent budget decides, even if an operator such as `||` has absorbed the error.
    if budget.is_spent() {
        return Err(super::cost::overdrawn());
    }
    result
}
