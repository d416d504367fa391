//! The expression tree: its parts, and short ways to build new ones.
//!
//! Decides nothing about meaning.

use ::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapEntryExpr,
};
use ::cel::common::types::{CelBool, CelInt, CelString};

/// Name under which comprehensions keep their result.
pub(super) const RESULT: &str = "@result";

/// Returns the direct parts of an expression.
pub fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(inner) => {
            vec![
                &inner.iter_range,
                &inner.accu_init,
                &inner.loop_cond,
                &inner.loop_step,
                &inner.result,
            ]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Struct(fields) => fields
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Select(select) => vec![&select.operand],
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Changes the direct parts of an expression in place.
pub(super) fn each_part(expr: &mut Expr, change: &mut dyn FnMut(&mut IdedExpr)) {
    match expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                change(target);
            }
            call.args.iter_mut().for_each(change);
        }
        Expr::Comprehension(inner) => {
            change(&mut inner.iter_range);
            change(&mut inner.accu_init);
            change(&mut inner.loop_cond);
            change(&mut inner.loop_step);
            change(&mut inner.result);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(change),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                each_entry_part(&mut entry.expr, change);
            }
        }
        Expr::Struct(fields) => {
            for entry in &mut fields.entries {
                each_entry_part(&mut entry.expr, change);
            }
        }
        Expr::Select(select) => change(&mut select.operand),
    }
}

fn each_entry_part(entry: &mut EntryExpr, change: &mut dyn FnMut(&mut IdedExpr)) {
    match entry {
        EntryExpr::StructField(field) => change(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            change(&mut entry.key);
            change(&mut entry.value);
        }
    }
}

/// Returns the name of a bare identifier.
pub fn bare_name(expr: &IdedExpr) -> Option<&str> {
    if let Expr::Ident(name) = &expr.expr {
        Some(name)
    } else {
        None
    }
}

/// Returns a text that is written out in the expression.
pub(super) fn literal_text(expr: &IdedExpr) -> Option<&str> {
    if let Expr::Literal(LiteralValue::String(text)) = &expr.expr {
        Some(text.inner())
    } else {
        None
    }
}

/// Returns a whole number that is written out in the expression.
pub(super) fn literal_whole(expr: &IdedExpr) -> Option<i64> {
    if let Expr::Literal(LiteralValue::Int(whole)) = &expr.expr {
        Some(*whole.inner())
    } else {
        None
    }
}

/// Makes a name.
pub(super) fn ident(name: &str) -> Expr {
    Expr::Ident(name.to_owned())
}

/// Makes a truth value.
pub(super) fn boolean(yes: bool) -> Expr {
    Expr::Literal(LiteralValue::Boolean(CelBool::from(yes)))
}

/// Makes a whole number.
pub(super) fn whole(number: i64) -> Expr {
    Expr::Literal(LiteralValue::Int(CelInt::from(number)))
}

/// Makes a text.
pub(super) fn text(text: &str) -> Expr {
    Expr::Literal(LiteralValue::String(CelString::from(text.to_owned())))
}

/// Makes a call of a global function.
pub(super) fn call(name: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    })
}

/// Makes a list.
pub(super) fn list(elements: Vec<IdedExpr>) -> Expr {
    Expr::List(ListExpr::new(elements))
}

/// Gives an expression the place in the source that another one has.
pub(super) fn at(id: u64, expr: Expr) -> IdedExpr {
    IdedExpr { id, expr }
}

/// Makes an entry of a map literal whose key is a text.
pub(super) fn named_entry(id: u64, name: &str, value: IdedExpr, optional: bool) -> EntryExpr {
    EntryExpr::MapEntry(MapEntryExpr {
        key: at(id, text(name)),
        value,
        optional,
    })
}

/// Makes `result` with `name` standing for the value of `init`, which is evaluated once.
pub(super) fn bind(id: u64, name: &str, init: IdedExpr, result: IdedExpr) -> IdedExpr {
    at(
        id,
        Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: at(id, list(Vec::new())),
            iter_var: "#unused".to_owned(),
            iter_var2: None,
            accu_var: name.to_owned(),
            accu_init: init,
            loop_cond: at(id, boolean(false)),
            loop_step: at(id, ident(name)),
            result,
        })),
    )
}
