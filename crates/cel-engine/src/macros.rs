//! Macros beyond the standard ones: two-variable loops, `cel.bind`, `cel.block`.
//!
//! Decides what they expand to. Two-variable loops keep both variables (`iter_var2`) until
//! [`super::lower`], so that checks see them as written.

use super::ast::{self, RESULT, bare_name, call, ident, literal_whole};
use ::cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, operators};
use ::cel::parser::{Macro, MacroExprHelper, ParseError};
use ::cel::{DeclarationError, Env};

type Helper<'a> = MacroExprHelper<'a>;
type Expansion = Result<Option<IdedExpr>, ParseError>;

/// Adds the macros.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    for (name, steps) in [("all", ALL), ("exists", EXISTS)] {
        env.add_macro(Macro::receiver(name, 3, move |helper, target, args| {
            quantifier(helper, target, args, steps)
        }))?;
    }
    for name in ["existsOne", "exists_one"] {
        env.add_macro(Macro::receiver(name, 3, exists_one))?;
    }
    for (name, kind) in [
        ("transformList", Transform::List),
        ("transformMap", Transform::Map),
        ("transformMapEntry", Transform::Entries),
    ] {
        for arity in [3, 4] {
            env.add_macro(Macro::receiver(name, arity, move |helper, target, args| {
                transform(helper, target, args, kind)
            }))?;
        }
    }
    env.add_macro(Macro::receiver("bind", 3, bind))?;
    env.add_macro(Macro::receiver("block", 2, block))?;
    env.add_macro(Macro::receiver("index", 1, |helper, target, args| {
        numbered(helper, target.as_ref(), args, "@index")
    }))?;
    env.add_macro(Macro::receiver("iterVar", 2, |helper, target, args| {
        numbered(helper, target.as_ref(), args, "@it")
    }))?;
    env.add_macro(Macro::receiver("accuVar", 2, |helper, target, args| {
        numbered(helper, target.as_ref(), args, "@ac")
    }))
}

/// What tells `all` from `exists`.
#[derive(Clone, Copy)]
struct Quantifier {
    start: bool,
    step: &'static str,
}

const ALL: Quantifier = Quantifier {
    start: true,
    step: operators::LOGICAL_AND,
};
const EXISTS: Quantifier = Quantifier {
    start: false,
    step: operators::LOGICAL_OR,
};

/// What a transformation makes.
#[derive(Clone, Copy)]
enum Transform {
    List,
    Map,
    Entries,
}

/// A loop with two variables, before it has a body.
struct Loop {
    range: IdedExpr,
    first: String,
    second: String,
}

/// Takes the range and both variables out of a call.
fn take_loop(
    helper: &Helper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
) -> Result<Option<Loop>, ParseError> {
    let [first, second, ..] = args.as_slice() else {
        return Ok(None);
    };
    let names = match (bare_name(first), bare_name(second)) {
        (Some(left), Some(right)) if left == right => {
            return Err(helper.new_error(second.id, format!("duplicate iteration variable name: {left}")));
        }
        (Some(left), Some(right)) => (left.to_owned(), right.to_owned()),
        (None, _) => return Err(helper.new_error(first.id, "argument must be a simple name")),
        (Some(_), None) => return Err(helper.new_error(second.id, "argument must be a simple name")),
    };
    let Some(range) = target.take() else {
        return Ok(None);
    };
    args.drain(..2);
    Ok(Some(Loop {
        range,
        first: names.0,
        second: names.1,
    }))
}

/// The four parts of a loop that differ between macros.
struct Body {
    init: Expr,
    cond: IdedExpr,
    step: IdedExpr,
    result: IdedExpr,
}

fn finish(helper: &mut Helper<'_>, around: Loop, body: Body) -> IdedExpr {
    let accu_init = helper.next_expr(body.init);
    helper.next_expr(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: around.range,
        iter_var: around.first,
        iter_var2: Some(around.second),
        accu_var: RESULT.to_owned(),
        accu_init,
        loop_cond: body.cond,
        loop_step: body.step,
        result: body.result,
    })))
}

fn result(helper: &mut Helper<'_>) -> IdedExpr {
    helper.next_expr(ident(RESULT))
}

fn quantifier(
    helper: &mut Helper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
    kind: Quantifier,
) -> Expansion {
    let Some(around) = take_loop(helper, target, args)? else {
        return Ok(None);
    };
    let mut open = result(helper);
    if !kind.start {
        open = helper.next_expr(call(operators::LOGICAL_NOT, vec![open]));
    }
    let cond = helper.next_expr(call(operators::NOT_STRICTLY_FALSE, vec![open]));
    let mut terms = vec![result(helper)];
    terms.append(args);
    let step = helper.next_expr(call(kind.step, terms));
    let body = Body {
        init: ast::boolean(kind.start),
        cond,
        step,
        result: result(helper),
    };
    Ok(Some(finish(helper, around, body)))
}

fn exists_one(helper: &mut Helper<'_>, target: &mut Option<IdedExpr>, args: &mut Vec<IdedExpr>) -> Expansion {
    let Some(around) = take_loop(helper, target, args)? else {
        return Ok(None);
    };
    let one = helper.next_expr(ast::whole(1));
    let sum = vec![result(helper), one];
    let more = helper.next_expr(call(operators::ADD, sum));
    let mut choice = std::mem::take(args);
    choice.push(more);
    choice.push(result(helper));
    let step = helper.next_expr(call(operators::CONDITIONAL, choice));
    let one = helper.next_expr(ast::whole(1));
    let same = vec![result(helper), one];
    let body = Body {
        init: ast::whole(0),
        cond: helper.next_expr(ast::boolean(true)),
        step,
        result: helper.next_expr(call(operators::EQUALS, same)),
    };
    Ok(Some(finish(helper, around, body)))
}

fn transform(
    helper: &mut Helper<'_>,
    target: &mut Option<IdedExpr>,
    args: &mut Vec<IdedExpr>,
    kind: Transform,
) -> Expansion {
    let Some(around) = take_loop(helper, target, args)? else {
        return Ok(None);
    };
    let (Some(made), guard) = (args.pop(), args.pop()) else {
        return Ok(None);
    };
    // Maps are made from a list of pairs: appending to a list is cheap, growing a map copies it.
    let item = match kind {
        Transform::List | Transform::Entries => made,
        Transform::Map => {
            let key = helper.next_expr(ident(&around.first));
            helper.next_expr(ast::list(vec![key, made]))
        }
    };
    let item = helper.next_expr(ast::list(vec![item]));
    let sum = vec![result(helper), item];
    let mut step = helper.next_expr(call(operators::ADD, sum));
    if let Some(guard) = guard {
        let otherwise = result(helper);
        step = helper.next_expr(call(operators::CONDITIONAL, vec![guard, step, otherwise]));
    }
    let body = Body {
        init: ast::list(Vec::new()),
        cond: helper.next_expr(ast::boolean(true)),
        step,
        result: result(helper),
    };
    let list = finish(helper, around, body);
    Ok(Some(match kind {
        Transform::List => list,
        Transform::Map => helper.next_expr(call("@mapOfPairs", vec![list])),
        Transform::Entries => helper.next_expr(call("@mapOfMaps", vec![list])),
    }))
}

/// Tells whether a call is one of the `cel.…` macros.
fn on_cel(target: Option<&IdedExpr>) -> bool {
    target.and_then(bare_name) == Some("cel")
}

fn bind(helper: &mut Helper<'_>, target: &mut Option<IdedExpr>, args: &mut Vec<IdedExpr>) -> Expansion {
    if !on_cel(target.as_ref()) {
        return Ok(None);
    }
    let (Some(body), Some(init), Some(name)) = (args.pop(), args.pop(), args.pop()) else {
        return Ok(None);
    };
    let Some(bound) = bare_name(&name) else {
        return Err(helper.new_error(name.id, "cel.bind() variable names must be simple identifiers"));
    };
    let place = helper.next_expr(Expr::Unspecified).id;
    Ok(Some(ast::bind(place, bound, init, body)))
}

/// `cel.block([a, b], cel.index(1))`: every entry sees the ones before it.
fn block(helper: &mut Helper<'_>, target: &mut Option<IdedExpr>, args: &mut Vec<IdedExpr>) -> Expansion {
    if !on_cel(target.as_ref()) {
        return Ok(None);
    }
    let (Some(body), Some(entries)) = (args.pop(), args.pop()) else {
        return Ok(None);
    };
    let id = entries.id;
    let Expr::List(entries) = entries.expr else {
        return Err(helper.new_error(id, "cel.block() requires the first arg to be a list literal"));
    };
    let place = helper.next_expr(Expr::Unspecified).id;
    let numbered = entries.elements.into_iter().enumerate().rev();
    Ok(Some(numbered.fold(body, |body, (number, entry)| {
        ast::bind(place, &format!("@index{number}"), entry, body)
    })))
}

/// `cel.index(0)` and its like become names with `@`, which an expression cannot write.
fn numbered(
    helper: &mut Helper<'_>,
    target: Option<&IdedExpr>,
    args: &mut Vec<IdedExpr>,
    prefix: &str,
) -> Expansion {
    if !on_cel(target) {
        return Ok(None);
    }
    let mut name = prefix.to_owned();
    for (place, arg) in args.iter().enumerate() {
        let Some(number) = literal_whole(arg).filter(|number| *number >= 0) else {
            return Err(helper.new_error(arg.id, "argument must be a non-negative int"));
        };
        let separator = if place == 0 && args.len() == 1 { "" } else { ":" };
        name.push_str(separator);
        name.push_str(&number.to_string());
    }
    args.clear();
    Ok(Some(helper.next_expr(ident(&name))))
}
