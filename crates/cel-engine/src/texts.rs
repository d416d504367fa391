//! Texts that stand for something else: durations and timestamps that are written out.
//!
//! Decides at compile time what would fail at every evaluation. Patterns are compiled, and so checked, by
//! [`super::lower`].

use super::ast::{children, literal_text};
use super::convert;
use super::engine::Misuse;
use ::cel::common::ast::{Expr, IdedExpr};

/// Returns the first text that is not what its function reads.
pub(super) fn check(expr: &IdedExpr) -> Option<Misuse> {
    if let Expr::Call(call) = &expr.expr
        && call.target.is_none()
        && matches!(call.func_name.as_str(), "duration" | "timestamp")
        && let [arg] = call.args.as_slice()
        && let Some(text) = literal_text(arg)
        && !convert::reads_as(&call.func_name, text)
    {
        return Some(Misuse {
            id: arg.id,
            words: format!("invalid {} argument", call.func_name),
            unsupported: false,
        });
    }
    children(expr).into_iter().find_map(check)
}
