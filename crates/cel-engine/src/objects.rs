//! `Object{}` and `JSONPatch{}`: the types that mutations make.
//!
//! Decides which of them exist and whether their names follow the fields they stand in (`Object.spec` in `spec` of
//! `Object`). They are evaluated as plain maps.

use super::ast::{children, literal_text};
use super::misuse::{Misuse, Purpose};
use ::cel::common::ast::{EntryExpr, Expr, IdedExpr};

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
