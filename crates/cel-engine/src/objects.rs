//! `Object{}` and `JSONPatch{}`: the types that mutations make.
//!
//! Decides which of them exist and whether their names follow the fields they stand in (`Object.spec` in `spec` of
//! `Object`). They are evaluated as plain maps.

use super::ast::{bare_name, children, literal_text};
use super::engine::{Misuse, Purpose};
use ::cel::common::ast::{EntryExpr, Expr, IdedExpr, operators};

/// The fields of a `JSONPatch`.
const PATCH_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// Returns the first misuse.
pub(super) fn check(expr: &IdedExpr, purpose: Purpose) -> Option<Misuse> {
    let here = if let Expr::Struct(literal) = &expr.expr {
        judge(expr.id, &literal.type_name, purpose).or_else(|| {
            literal
                .entries
                .iter()
                .find_map(|entry| field(&literal.type_name, &entry.expr, entry.id))
        })
    } else {
        None
    };
    here.or_else(|| children(expr).into_iter().find_map(|child| check(child, purpose)))
}

/// Returns where a list becomes the value of a field of the object that an expression makes, and the name of the field.
///
/// `is_list` returns whether a member of a variable is a list; it gets the names of both.
pub(super) fn first_list<'e>(
    expr: &'e IdedExpr,
    is_list: &dyn Fn(&str, &str) -> bool,
) -> Option<(u64, &'e str)> {
    match &expr.expr {
        Expr::Struct(literal) => literal.entries.iter().find_map(|entry| match &entry.expr {
            EntryExpr::StructField(field) => list_of(&field.value, &field.field, is_list),
            EntryExpr::MapEntry(_) => None,
        }),
        Expr::Map(map) => map.entries.iter().find_map(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => list_of(
                &entry.value,
                literal_text(&entry.key).unwrap_or_default(),
                is_list,
            ),
            EntryExpr::StructField(_) => None,
        }),
        Expr::Call(call) if call.func_name == operators::CONDITIONAL => call
            .args
            .iter()
            .skip(1)
            .find_map(|branch| first_list(branch, is_list)),
        // What a bound name stands for is not followed; its value is.
        Expr::Comprehension(inner) => first_list(&inner.result, is_list),
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Select(_) => None,
    }
}

fn list_of<'e>(
    value: &'e IdedExpr,
    name: &'e str,
    is_list: &dyn Fn(&str, &str) -> bool,
) -> Option<(u64, &'e str)> {
    if makes_a_list(value, is_list) {
        return Some((value.id, name));
    }
    first_list(value, is_list)
}

fn makes_a_list(expr: &IdedExpr, is_list: &dyn Fn(&str, &str) -> bool) -> bool {
    match &expr.expr {
        Expr::List(_) => true,
        Expr::Call(call) if call.func_name == operators::CONDITIONAL => call
            .args
            .iter()
            .skip(1)
            .any(|branch| makes_a_list(branch, is_list)),
        Expr::Call(call) if call.func_name == operators::ADD => {
            call.args.iter().any(|part| makes_a_list(part, is_list))
        }
        // `map` and `filter` collect in a list.
        Expr::Comprehension(inner) => {
            makes_a_list(&inner.accu_init, is_list)
                && bare_name(&inner.result) == Some(inner.accu_var.as_str())
                || makes_a_list(&inner.result, is_list)
        }
        Expr::Select(select) => bare_name(&select.operand).is_some_and(|name| is_list(name, &select.field)),
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Ident(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_) => false,
    }
}

fn is_object(name: &str) -> bool {
    name == "Object" || name.starts_with("Object.")
}

fn judge(id: u64, name: &str, purpose: Purpose) -> Option<Misuse> {
    let ours = is_object(name) || name == "JSONPatch";
    match (ours, purpose) {
        (true, Purpose::Mutation) => None,
        (true, Purpose::Judgement) => Some(Misuse {
            id,
            words: format!("undeclared reference to '{name}' (in container '')"),
            unsupported: false,
        }),
        (false, _) => Some(Misuse {
            id,
            words: format!("type '{name}' is not supported by this server"),
            unsupported: true,
        }),
    }
}

fn field(owner: &str, entry: &EntryExpr, id: u64) -> Option<Misuse> {
    let EntryExpr::StructField(field) = entry else {
        return None;
    };
    let wrong = |words: String| {
        Some(Misuse {
            id,
            words,
            unsupported: false,
        })
    };
    if owner == "JSONPatch" {
        if !PATCH_FIELDS.contains(&field.field.as_str()) {
            return wrong(format!("undefined field '{}'", field.field));
        }
        let known = |op: &str| ["add", "remove", "replace", "move", "copy", "test"].contains(&op);
        if field.field == "op" && literal_text(&field.value).is_some_and(|op| !known(op)) {
            return wrong("a JSON patch knows add, remove, replace, move, copy and test".to_owned());
        }
        return None;
    }
    let expected = format!("{owner}.{}", field.field);
    let found = misnamed(&field.value, &expected)?;
    wrong(format!(
        "unexpected type name \"{found}\", expected \"{expected}\", which matches field name path from root Object type"
    ))
}

/// Returns the name of an object literal that stands where another name belongs; lists are looked through.
fn misnamed<'e>(value: &'e IdedExpr, expected: &str) -> Option<&'e str> {
    match &value.expr {
        Expr::Struct(inner) if is_object(&inner.type_name) && inner.type_name != expected => {
            Some(&inner.type_name)
        }
        Expr::List(list) => list.elements.iter().find_map(|item| misnamed(item, expected)),
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => None,
    }
}
