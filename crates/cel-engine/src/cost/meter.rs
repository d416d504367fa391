//! Bounds the work of an expression: every loop and every operation on large values is paid for first.
//!
//! Decides what things cost; never changes a result. Programs are rewritten once, at compile time, so that loop ranges
//! and large operands pass through metering functions that return them unchanged. `all` and `exists` keep an error back until
//! their last item, which may override it: the error of a spent budget has to end them where they ask whether to go on.

use super::charge::{CHARGE, COUNT, GOES_ON, GROWN, PAIRED, ROUNDS, SORTED, WEIGH};
use crate::ast::{RESULT, at, call, each_part, ident, whole};
use crate::names::{self, NAMESPACES};
use crate::run::{BUDGET, PATTERN};
use ::cel::common::ast::operators;
use ::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue};

/// Rewrites an expression so that its loops and large operands are paid for.
pub(crate) fn metered(mut expr: IdedExpr) -> IdedExpr {
    let optionals = optional_values(&expr);
    meter(&mut expr, optionals);
    expr
}

/// Tells whether an expression can make optional values: selecting from those copies.
fn optional_values(expr: &IdedExpr) -> bool {
    let here = match &expr.expr {
        Expr::Call(call) => {
            matches!(
                call.func_name.as_str(),
                operators::OPT_SELECT | operators::OPT_INDEX | "of" | "ofNonZeroValue" | "first" | "last"
            )
        }
        Expr::Ident(name) => name == "oldSelf",
        Expr::Unspecified
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => false,
    };
    here || crate::ast::children(expr).into_iter().any(optional_values)
}

fn meter(expr: &mut IdedExpr, optionals: bool) {
    match &mut expr.expr {
        Expr::Call(_) => {}
        Expr::Comprehension(inner) => return meter_loop(inner, optionals),
        Expr::Select(select) => {
            // A bare name stays bare: the evaluator resolves `a.b.c` as a whole.
            meter_chain(&mut select.operand, optionals);
            if optionals && !select.test {
                wrap(expr, WEIGH);
            }
            return;
        }
        other @ (Expr::Unspecified
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)) => {
            return each_part(other, &mut |part| {
                meter(part, optionals);
                weigh(part);
            });
        }
    }
    let id = expr.id;
    if let Expr::Call(call) = std::mem::take(&mut expr.expr) {
        *expr = metered_call(id, call, optionals);
    }
}

/// Goes down a chain of members without wrapping what lies between.
fn meter_chain(expr: &mut IdedExpr, optionals: bool) {
    if let Expr::Select(select) = &mut expr.expr {
        meter_chain(&mut select.operand, optionals);
    } else {
        meter(expr, optionals);
    }
}

/// How the operands of a call are paid for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// The call looks at a bounded part of them.
    Free,
    /// The call may look at all of them.
    Weighed,
}

fn metered_call(id: u64, mut call: CallExpr, optionals: bool) -> IdedExpr {
    let function = call.func_name.starts_with(|c: char| c.is_ascii_alphabetic());
    let grows = call.func_name == operators::ADD && !is_result(call.args.first());
    let copies = matches!(
        call.func_name.as_str(),
        operators::OPT_SELECT | operators::OPT_INDEX
    );
    let operands = operands(&call);
    let namespace = matches!(
        call.target.as_deref().map(|target| &target.expr),
        Some(Expr::Ident(name)) if NAMESPACES.contains(&name.as_str())
    );
    let pay = |part: &mut IdedExpr| {
        meter(part, optionals);
        if operands == Operands::Weighed {
            weigh(part);
        }
    };
    call.args.iter_mut().for_each(pay);
    if let Some(target) = call.target.as_deref_mut().filter(|_| !namespace) {
        pay(target);
    }
    if call.func_name == operators::IN && operands == Operands::Free {
        call.args.iter_mut().skip(1).for_each(|range| wrap(range, COUNT));
    }
    let call = with_budget(call);
    let small = is_small_result(&call.func_name);
    let mut metered = at(id, Expr::Call(call));
    if grows {
        wrap(&mut metered, GROWN);
    } else if (function || copies) && !small {
        wrap(&mut metered, WEIGH);
    }
    metered
}

/// Tells how much of its operands a call can look at. Comparing with a literal looks at no more than the literal.
fn operands(call: &CallExpr) -> Operands {
    let literal = |expr: &IdedExpr| matches!(expr.expr, Expr::Literal(_));
    let name = call.func_name.as_str();
    let free = match name {
        operators::EQUALS | operators::NOT_EQUALS => call.args.iter().any(literal),
        operators::IN => call.args.first().is_some_and(literal),
        "startsWith" | "endsWith" => call.args.iter().all(literal),
        "hasValue" | "type" => true,
        _ => !name.starts_with(|c: char| c.is_ascii_alphabetic()),
    };
    if free { Operands::Free } else { Operands::Weighed }
}

/// Turns functions that can do more work than their operands weigh into variants that see the budget.
fn with_budget(mut call: CallExpr) -> CallExpr {
    let name = match (call.func_name.as_str(), call.target.is_some(), call.args.len()) {
        ("matches", true, 1) | ("matches", false, 2) => "@matches",
        ("find", true, 1) => "@find",
        ("findAll", true, 1 | 2) => "@findAll",
        ("replace", true, 2 | 3) => "@replace",
        ("join", true, 0 | 1) => "@join",
        ("indexOf", true, 1 | 2) => "@indexOf",
        ("lastIndexOf", true, 1 | 2) => "@lastIndexOf",
        ("contains" | "intersects" | "equivalent", true, 2) if on_namespace(&call, "sets") => {
            call.func_name = format!("@sets.{}", call.func_name);
            call.target = None;
            call.args.insert(0, at(0, ident(BUDGET)));
            return call;
        }
        ("sort", true, 0) => return toll(call, SORTED),
        ("@sortByAssociatedKeys", true, 1) => {
            call.args.iter_mut().for_each(|keys| wrap(keys, SORTED));
            return toll(call, WEIGH);
        }
        ("distinct", true, 0) => return toll(call, PAIRED),
        ("range", true, 1) if on_namespace(&call, "lists") => {
            call.args.iter_mut().for_each(|size| wrap(size, ROUNDS));
            return call;
        }
        _ => return call,
    };
    name.clone_into(&mut call.func_name);
    let mut args = vec![at(0, ident(BUDGET))];
    args.extend(call.target.take().map(|target| *target));
    args.append(&mut call.args);
    call.args = args;
    call
}

/// Lets the target of a call pay more than its weight.
fn toll(mut call: CallExpr, charge: &str) -> CallExpr {
    if let Some(target) = &mut call.target {
        wrap(target, charge);
    }
    call
}

fn on_namespace(call: &CallExpr, namespace: &str) -> bool {
    call.target.as_deref().and_then(crate::ast::bare_name) == Some(namespace)
}

fn meter_loop(inner: &mut ComprehensionExpr, optionals: bool) {
    meter(&mut inner.accu_init, optionals);
    weigh(&mut inner.accu_init);
    meter(&mut inner.loop_cond, optionals);
    meter(&mut inner.loop_step, optionals);
    meter(&mut inner.result, optionals);
    weigh(&mut inner.result);
    meter(&mut inner.iter_range, optionals);
    if matches!(&inner.iter_range.expr, Expr::List(list) if list.elements.is_empty()) {
        return;
    }
    let step = nodes(&inner.loop_step).saturating_add(nodes(&inner.loop_cond));
    let range = std::mem::take(&mut inner.iter_range);
    let args = vec![at(0, ident(BUDGET)), range, at(0, whole(step))];
    inner.iter_range = at(0, call(CHARGE, args));
    // A condition that is written out belongs to a loop that ends with its first error, and that the evaluator knows by it.
    if !matches!(&inner.loop_cond.expr, Expr::Literal(_)) {
        wrap(&mut inner.loop_cond, GOES_ON);
    }
}

/// Counts the steps of one evaluation; loops inside pay for their own rounds.
fn nodes(expr: &IdedExpr) -> i64 {
    let parts = match &expr.expr {
        Expr::Comprehension(inner) => vec![&inner.iter_range, &inner.accu_init, &inner.result],
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => crate::ast::children(expr),
    };
    parts.into_iter().map(nodes).fold(1, i64::saturating_add)
}

fn is_result(expr: Option<&IdedExpr>) -> bool {
    expr.and_then(crate::ast::bare_name) == Some(RESULT)
}

/// Wraps an expression in a charge for its value.
fn wrap(expr: &mut IdedExpr, charge: &str) {
    let id = expr.id;
    let value = std::mem::take(expr);
    *expr = at(id, call(charge, vec![at(0, ident(BUDGET)), value]));
}

/// Wraps an expression in a charge for its value, unless the value is known to be small or paid for.
fn weigh(expr: &mut IdedExpr) {
    let small = match &expr.expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => name == RESULT || name.starts_with(PATTERN),
        Expr::Call(call) => {
            matches!(call.func_name.as_str(), WEIGH | GROWN) || is_small_result(&call.func_name)
        }
        Expr::Select(select) => select.test,
        Expr::List(list) => list.elements.iter().all(|element| {
            matches!(
                element.expr,
                Expr::Literal(LiteralValue::Int(_) | LiteralValue::String(_))
            )
        }),
        Expr::Unspecified | Expr::Comprehension(_) | Expr::Map(_) | Expr::Struct(_) => false,
    };
    if !small {
        wrap(expr, WEIGH);
    }
}

/// Tells whether a function returns a truth value or a number.
fn is_small_result(function: &str) -> bool {
    names::is_boolean(function)
        || matches!(
            function,
            "size"
                | "hasValue"
                | "type"
                | "@matches"
                | "@indexOf"
                | "@lastIndexOf"
                | "@sets.contains"
                | "@sets.intersects"
                | "@sets.equivalent"
        )
}
