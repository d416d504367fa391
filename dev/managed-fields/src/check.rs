//! Whether a value fits its type.
//!
//! Decides what is refused before anything is merged, in the words of Kubernetes. Looks into what is owned as a whole as well.

use std::collections::BTreeSet;

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::fault::{Fault, Faults};
use crate::items;
use crate::set::Path;
use crate::types::{Atom, List, Map, Relation, Scalar, Type};

/// Whether a list may hold items that cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// What is stored may hold them.
    Allowed,
    /// What is applied may not hold them, nor what is seen in another version.
    Refused,
}

/// Checks that a value fits its type.
pub fn check(value: &Value, of: &Type, duplicates: Duplicates) -> Result<(), Faults> {
    let mut walk = Walk {
        duplicates,
        path: Path::default(),
        faults: Vec::new(),
    };
    walk.value(value, of);
    if walk.faults.is_empty() {
        Ok(())
    } else {
        Err(Faults(walk.faults))
    }
}

struct Walk {
    duplicates: Duplicates,
    path: Path,
    faults: Vec<Fault>,
}

impl Walk {
    fn refuse(&mut self, what: impl Into<String>) {
        self.faults.push(Fault::new(&self.path, what));
    }

    fn below(&mut self, step: Element, value: &Value, of: &Type) {
        self.path.0.push(step);
        self.value(value, of);
        self.path.0.pop();
    }

    fn value(&mut self, value: &Value, of: &Type) {
        match (of.atom(Some(value)), value) {
            (_, Value::Null) => {}
            (Atom::Scalar(scalar), _) => {
                if let Some(what) = misfit(scalar, value) {
                    self.refuse(what);
                }
            }
            (Atom::Map(map), Value::Object(members)) => self.members(members, map),
            (Atom::List(list), Value::Array(items)) => self.items(items, list),
            (Atom::Map(_), _) => self.refuse(format!(
                "expected map, got &{{{}}}",
                kubernetes::print::plain(value)
            )),
            (Atom::List(_), _) => self.refuse(format!(
                "expected list, got &{{{}}}",
                kubernetes::print::plain(value)
            )),
        }
    }

    fn members(&mut self, members: &Members<String, Value>, map: &Map) {
        for (name, value) in members {
            let step = Element::Field(name.clone());
            if let Some(of) = map.member(name) {
                self.below(step, value, of);
            } else {
                // One undeclared member is enough: the walk through this map ends with it.
                self.path.0.push(step);
                self.refuse("field not declared in schema");
                self.path.0.pop();
                return;
            }
        }
    }

    fn items(&mut self, items: &[Value], list: &List) {
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            let step = match items::step(&list.relation, item, position) {
                Ok(step) => step,
                Err(what) => return self.refuse(format!("element {position}: {what}")),
            };
            let is_new = list.relation == Relation::Atomic || seen.insert(step.clone());
            if !is_new && self.duplicates == Duplicates::Refused {
                self.refuse(format!("duplicate entries for key {step}"));
            }
            self.below(step, item, &list.item);
        }
    }
}

/// Returns why a value, which is not null, is no such scalar.
fn misfit(scalar: Scalar, value: &Value) -> Option<String> {
    let (fits, what) = match scalar {
        Scalar::Number => (value.is_number(), "numeric (int or float)"),
        Scalar::Text => (value.is_string(), "string"),
        Scalar::Boolean => (value.is_boolean(), "boolean"),
        Scalar::Any => (!value.is_array() && !value.is_object(), "any scalar"),
    };
    if fits {
        return None;
    }
    let got = match scalar {
        Scalar::Number => kubernetes::print::type_name(value).to_owned(),
        Scalar::Text => format!(
            "&value.valueUnstructured{{Value:{}}}",
            kubernetes::print::syntax(value)
        ),
        Scalar::Boolean | Scalar::Any => format!("&{{{}}}", kubernetes::print::plain(value)),
    };
    Some(format!("expected {what}, got {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::KeyField;
    use serde_json::json;
    use std::sync::Arc;

    fn list(relation: Relation, item: Type) -> Type {
        Type::List(Arc::new(List { relation, item }))
    }

    fn map(fields: &[(&str, Type)]) -> Type {
        Type::Map(Arc::new(Map {
            fields: fields
                .iter()
                .map(|(name, of)| ((*name).to_owned(), of.clone()))
                .collect(),
            ..Map::default()
        }))
    }

    #[test]
    fn says_what_does_not_fit_and_where() {
        let keys = ["a", "b"].map(|name| KeyField {
            name: name.to_owned(),
            default: None,
        });
        let keyed = list(Relation::Keyed(keys.to_vec()), Type::Opaque);
        let set = list(Relation::Set, Type::Scalar(Scalar::Text));
        let of = map(&[
            ("keyed", keyed),
            ("set", set),
            ("size", Type::Scalar(Scalar::Number)),
            (
                "whole",
                list(Relation::Atomic, map(&[("x", Type::Scalar(Scalar::Boolean))])),
            ),
        ]);
        let rows = [
            (json!({"zz": 1}), ".zz: field not declared in schema"),
            (
                json!({"size": "x"}),
                ".size: expected numeric (int or float), got string",
            ),
            (json!({"size": null}), ""),
            (
                json!({"set": ["a", "a"]}),
                r#".set: duplicate entries for key [="a"]"#,
            ),
            (
                json!({"set": [5]}),
                ".set[=5]: expected string, got &value.valueUnstructured{Value:5}",
            ),
            (
                json!({"set": [{}]}),
                ".set: element 0: associative list without keys has an element that's a map type",
            ),
            (
                json!({"set": {"a": [1, "b"]}}),
                ".set: expected list, got &{map[a:[1 b]]}",
            ),
            (
                json!({"whole": [{"x": 1}]}),
                ".whole[0].x: expected boolean, got &{1}",
            ),
            (
                json!({"keyed": [{"a": 1}, {}]}),
                r#".keyed: element 1: associative list with keys has an element that omits all key fields ["a" "b"] (and doesn't have default values for any key fields)"#,
            ),
            (
                json!({"keyed": 1, "size": true}),
                "errors:\n  .keyed: expected list, got &{1}\n  .size: expected numeric (int or float), got bool",
            ),
        ];
        for (value, wanted) in rows {
            let found = check(&value, &of, Duplicates::Refused)
                .map_or_else(|faults| faults.to_string(), |()| String::new());
            assert_eq!(found, wanted, "{value}");
        }
        assert_eq!(
            check(&json!({"set": ["a", "a"]}), &of, Duplicates::Allowed),
            Ok(())
        );
    }
}
