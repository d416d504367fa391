//! What our schema has that a hub's has not.
//!
//! Decides what is an addition: a property that is absent. Other differences are reported and not changed: clients that
//! read the hub's objects rely on its definition.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::live::{COLUMNS, SCHEMA, below, path_of};

/// Keys of a schema that are compared by themselves, and prose.
const OWN_COMPARISON: [&str; 7] = [
    "additionalProperties",
    "description",
    "example",
    "externalDocs",
    "items",
    "properties",
    "title",
];
/// What the API server itself knows of every object.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];
const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";

/// Something that our definition says otherwise than the hub's, and that stays as the hub has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field, or the column.
    pub path: String,
    /// What is said of it, such as `enum`.
    pub key: String,
    /// What the hub's definition says; `None` for nothing.
    pub live: Option<Value>,
    /// What ours says; `None` for nothing.
    pub ours: Option<Value>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Pointers into the version, and what has to stand there, in order.
    pub(super) fields: Vec<(String, Value)>,
    /// Columns that are absent, in order.
    pub(super) columns: Vec<Value>,
    pub(super) differences: Vec<Difference>,
}

/// Compares the hub's version of a definition with ours.
pub(super) fn compare(live: &Value, ours: &Value) -> Comparison {
    let mut found = Comparison::default();
    if let (Some(live), Some(ours)) = (live.pointer(SCHEMA), ours.pointer(SCHEMA)) {
        found.schema(SCHEMA, live, ours);
    }
    found.columns(columns(live), columns(ours));
    found
}

/// Returns the columns of a version.
pub(super) fn columns(version: &Value) -> &[Value] {
    let columns = version.pointer(COLUMNS).and_then(Value::as_array);
    columns.map_or(&[], Vec::as_slice)
}

/// Returns the name of a column.
pub(super) fn column_name(column: &Value) -> &str {
    let name = column.get("name").and_then(Value::as_str);
    name.unwrap_or_default()
}

impl Comparison {
    fn schema(&mut self, pointer: &str, live: &Value, ours: &Value) {
        let (Some(live), Some(ours)) = (live.as_object(), ours.as_object()) else {
            return;
        };
        // Nothing is lost here, and a schema would begin to refuse what was free.
        if live.get(PRESERVES) == Some(&Value::Bool(true)) && !ours.contains_key(PRESERVES) {
            return;
        }
        let before = self.differences.len();
        self.keys(pointer, live, ours);
        let told = self.differences.iter().skip(before);
        if told.clone().any(|difference| difference.key == "type") {
            return;
        }
        self.properties(pointer, live, ours);
        for key in ["items", "additionalProperties"] {
            let (live, ours) = (live.get(key), ours.get(key));
            match (live, ours) {
                (Some(live @ Value::Object(_)), Some(ours @ Value::Object(_))) => {
                    self.schema(&below(pointer, key), live, ours);
                }
                (_, None) => {}
                (_, Some(_)) => self.differs(pointer, key, live, ours),
            }
        }
    }

    fn keys(&mut self, pointer: &str, live: &Map<String, Value>, ours: &Map<String, Value>) {
        let keys: BTreeSet<&String> = live.keys().chain(ours.keys()).collect();
        for key in keys {
            let is_own = OWN_COMPARISON.contains(&key.as_str());
            if !is_own && !same_said(key, live.get(key), ours.get(key)) {
                self.differs(pointer, key, live.get(key), ours.get(key));
            }
        }
    }

    fn properties(&mut self, pointer: &str, live: &Map<String, Value>, ours: &Map<String, Value>) {
        let Some(Value::Object(wanted)) = ours.get("properties") else {
            return;
        };
        let place = below(pointer, "properties");
        let known = match live.get("properties") {
            Some(Value::Object(known)) => known,
            Some(_) => return self.differs(pointer, "properties", live.get("properties"), None),
            None if live.contains_key("additionalProperties") => {
                let map = live.get("additionalProperties");
                return self.differs(pointer, "additionalProperties", map, None);
            }
            None => {
                self.fields.push((place, Value::Object(wanted.clone())));
                return;
            }
        };
        for (name, ours) in wanted {
            match known.get(name) {
                Some(live) => self.schema(&below(&place, name), live, ours),
                None if pointer == SCHEMA && OF_EVERY_OBJECT.contains(&name.as_str()) => {}
                None => self.fields.push((below(&place, name), ours.clone())),
            }
        }
    }

    fn columns(&mut self, live: &[Value], ours: &[Value]) {
        for column in ours {
            let name = column_name(column);
            match live.iter().find(|one| column_name(one) == name) {
                None => self.columns.push(column.clone()),
                Some(known) => {
                    for key in ["jsonPath", "type"] {
                        if known.get(key) != column.get(key) {
                            self.differences.push(Difference {
                                path: format!("column {name}"),
                                key: key.to_owned(),
                                live: known.get(key).cloned(),
                                ours: column.get(key).cloned(),
                            });
                        }
                    }
                }
            }
        }
    }

    fn differs(&mut self, pointer: &str, key: &str, live: Option<&Value>, ours: Option<&Value>) {
        self.differences.push(Difference {
            path: path_of(pointer),
            key: key.to_owned(),
            live: live.cloned(),
            ours: ours.cloned(),
        });
    }
}

/// Tells whether two schemas say the same: API servers write `0` for `0.0`, and leave `false` out.
fn same_said(key: &str, live: Option<&Value>, ours: Option<&Value>) -> bool {
    canonical(key, live) == canonical(key, ours)
}

fn canonical(key: &str, said: Option<&Value>) -> Option<Value> {
    match said? {
        Value::Bool(false) if key != "default" => None,
        Value::Array(names) if key == "required" => {
            let sorted: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
            (!sorted.is_empty()).then(|| sorted.into_iter().collect())
        }
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => Some(plain(other)),
    }
}

/// Returns a value with whole numbers as integers, as an API server gives them back.
pub(super) fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15);
            let whole = whole.and_then(|float| format!("{float:.0}").parse::<i64>().ok());
            whole.map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), plain(value)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}
