//! How much stack an evaluation takes.
//!
//! Decides by the shape of the expression: an evaluation recurses once for each level of it, and has to fit into a
//! thread of 2 MiB, twice: an expression may wait for a variable.

use super::ast::children;
use ::cel::common::ast::{Expr, IdedExpr, operators};

/// Most units that an expression may need.
pub(super) const MOST: usize = 190;
/// What most calls take: about 4 KiB.
const CALL: usize = 1;
/// What loops and the operators that the evaluator treats by itself take.
const OPERATOR: usize = 8;
/// What arithmetic takes that the evaluator does by itself: 31 KB when unoptimized. The language demands rows of 24, which 8 would refuse.
const ARITHMETIC: usize = 7;

/// What a member takes whose owner is computed: 37 KB when unoptimized, 2 when optimized. A dotted name is looked up at once.
const MEMBER: usize = 7;

/// Returns the units of the deepest way through an expression.
pub(super) fn needed(expr: &IdedExpr) -> usize {
    let own = match &expr.expr {
        Expr::Comprehension(_) => OPERATOR,
        Expr::Call(call) if is_operator(&call.func_name) => OPERATOR,
        Expr::Call(call) if is_arithmetic(&call.func_name) => ARITHMETIC,
        Expr::Select(select) if !is_name(&select.operand) => MEMBER,
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => CALL,
    };
    own + children(expr).into_iter().map(needed).max().unwrap_or(0)
}

/// `a`, `a.b`, `a.b.c`; expressions that nest without end have been refused before.
fn is_name(expr: &IdedExpr) -> bool {
    let mut inner = expr;
    while let Expr::Select(select) = &inner.expr {
        inner = &select.operand;
    }
    matches!(inner.expr, Expr::Ident(_))
}

fn is_operator(name: &str) -> bool {
    matches!(
        name,
        operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::NEGATE
            | operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::IN
            | operators::INDEX
            | operators::OPT_INDEX
            | operators::OPT_SELECT
            | operators::NOT_STRICTLY_FALSE
    )
}

/// Additions are not among them: a row of them takes what a row of calls takes.
fn is_arithmetic(name: &str) -> bool {
    matches!(
        name,
        operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO
    )
}
