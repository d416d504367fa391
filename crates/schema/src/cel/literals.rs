//! Objects in the text of a mutation: `JSONPatch{op: "add"}` and `Object.spec{replicas: 1}` become maps.
//!
//! Decides which types have literals and which fields those have; the value of an object literal is a map with the fields
//! that were written.

use super::program::{CompileError, Program, located, position};
use ::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, MapEntryExpr, MapExpr};
use ::cel::common::types::CelString;

const PATCH: &str = "JSONPatch";
const PATCH_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

impl Program {
    /// Compiles an expression that may write objects, as mutations do.
    pub fn compile_mutation(source: &str) -> Result<Self, String> {
        Self::build_from(source, |parsed| {
            let mut fault = None;
            let mut place = |id: u64, words: String| {
                fault.get_or_insert_with(|| located(position(parsed, source, id), &words, source));
            };
            let expr = plain(parsed.expression().clone(), &mut place);
            match fault {
                Some(words) => Err(CompileError::Wrong(words)),
                None => Ok(expr),
            }
        })
        .map_err(|error| match error {
            CompileError::Wrong(words) | CompileError::Unsupported(words) => words,
        })
    }
}

/// Replaces object literals by maps, at any depth.
fn plain(expr: IdedExpr, fault: &mut dyn FnMut(u64, String)) -> IdedExpr {
    let id = expr.id;
    let expr = match expr.expr {
        Expr::Struct(literal) => {
            if let Some(words) = type_fault(&literal.type_name) {
                fault(id, words);
            }
            let is_patch = literal.type_name == PATCH;
            let entries = literal.entries.into_iter().map(|mut entry| {
                entry.expr = match entry.expr {
                    EntryExpr::StructField(field) => {
                        if is_patch && !PATCH_FIELDS.contains(&field.field.as_str()) {
                            fault(id, format!("undefined field '{}'", field.field));
                        }
                        EntryExpr::MapEntry(MapEntryExpr {
                            key: text(id, &field.field),
                            value: plain(field.value, fault),
                            optional: field.optional,
                        })
                    }
                    EntryExpr::MapEntry(entry) => EntryExpr::MapEntry(entry),
                };
                entry
            });
            Expr::Map(MapExpr {
                entries: entries.collect(),
            })
        }
        Expr::List(mut list) => {
            list.elements = list.elements.into_iter().map(|item| plain(item, fault)).collect();
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    entry.value = plain(std::mem::take(&mut entry.value), fault);
                }
            }
            Expr::Map(map)
        }
        Expr::Call(mut call) => {
            call.args = call.args.into_iter().map(|arg| plain(arg, fault)).collect();
            call.target = call.target.map(|target| Box::new(plain(*target, fault)));
            Expr::Call(call)
        }
        Expr::Comprehension(mut inner) => {
            for part in [
                &mut inner.iter_range,
                &mut inner.accu_init,
                &mut inner.loop_cond,
                &mut inner.loop_step,
                &mut inner.result,
            ] {
                *part = plain(std::mem::take(part), fault);
            }
            Expr::Comprehension(inner)
        }
        Expr::Select(mut select) => {
            *select.operand = plain(std::mem::take(&mut *select.operand), fault);
            Expr::Select(select)
        }
        other @ (Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_)) => other,
    };
    IdedExpr { id, expr }
}

fn type_fault(name: &str) -> Option<String> {
    let known = name == PATCH || name == "Object" || name.starts_with("Object.");
    (!known).then(|| format!("undeclared reference to '{name}' (in container '')"))
}

fn text(id: u64, words: &str) -> IdedExpr {
    IdedExpr {
        id,
        expr: Expr::Literal(LiteralValue::String(CelString::from(words.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn object_literals_are_maps() {
        let source = "[JSONPatch{op: 'add', path: '/spec/a', value: Object.spec{b: 1, ?c: optional.none()}}]";
        let program = Program::compile_mutation(source).expect("it compiles");
        assert_eq!(
            program.eval(&[]),
            Ok(json!([{"op": "add", "path": "/spec/a", "value": {"b": 1}}]))
        );
    }

    #[test]
    fn unknown_types_and_fields_are_told_with_their_place() {
        for (source, words) in [
            ("Nope{a: 1}", "undeclared reference to 'Nope'"),
            ("[JSONPatch{op: 'add', pth: '/a'}]", "undefined field 'pth'"),
        ] {
            let fault = Program::compile_mutation(source).expect_err("it does not compile");
            assert!(
                fault.contains(words) && fault.starts_with("ERROR: <input>:1:"),
                "{fault}"
            );
        }
        assert!(
            Program::compile("JSONPatch{op: 'add'}").is_err(),
            "only mutations write objects"
        );
    }
}
