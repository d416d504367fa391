//! The items of a list, told apart.
//!
//! Decides which step leads to an item. Never compares what is in it.

use serde_json::Value;

use crate::element::Element;
use crate::fault::Fault;
use crate::set::Path;
use crate::types::{KeyField, List};

/// Returns the step to an item.
pub(crate) fn step(list: &List, item: &Value, position: usize, at: &Path) -> Result<Element, Fault> {
    match list {
        List::Set => match item {
            Value::Null => Err(Fault::new(
                &below(at, position),
                "associative list without keys has an element that's explicitly null",
            )),
            Value::Array(_) | Value::Object(_) => Err(Fault::new(
                at,
                format!(
                    "associative list without keys has an element that's a {}",
                    kind(item)
                ),
            )),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Element::Value(item.clone())),
        },
        List::Keyed { keys, .. } => key(keys, item, &below(at, position)),
    }
}

fn key(keys: &[KeyField], item: &Value, at: &Path) -> Result<Element, Fault> {
    let Some(fields) = item.as_object() else {
        let what = match item {
            Value::Null => "associative list with keys may not have a null element",
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                "associative list with keys may not have non-map elements"
            }
        };
        return Err(Fault::new(at, what));
    };
    let mut pairs = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(value) = fields.get(&key.name).or(key.default.as_ref()) {
            pairs.push((key.name.clone(), value.clone()));
        }
    }
    if pairs.is_empty() {
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        let what = format!(
            "associative list with keys has an element that omits all key fields {names:?} (and doesn't have default values for any key fields)"
        );
        return Err(Fault::new(at, what));
    }
    pairs.sort_by(|(one, _), (two, _)| one.cmp(two));
    Ok(Element::Key(pairs))
}

fn below(at: &Path, position: usize) -> Path {
    let mut path = at.clone();
    path.0.push(Element::Index(position));
    path
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

/// Returns the steps of all items in their order. Items that cannot be told apart make a fault unless `duplicates` are let
/// through, as they are where they were stored before.
pub(crate) fn steps(
    list: &List,
    items: &[Value],
    at: &Path,
    duplicates: bool,
) -> Result<Vec<Element>, Fault> {
    let mut steps = Vec::with_capacity(items.len());
    let mut seen = std::collections::BTreeSet::new();
    for (position, item) in items.iter().enumerate() {
        let step = step(list, item, position, at)?;
        if !seen.insert(step.clone()) && !duplicates {
            let mut path = at.clone();
            path.0.push(step);
            return Err(Fault::new(
                at,
                format!("duplicate entries for key {}", last(&path)),
            ));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn last(path: &Path) -> String {
    path.0.last().map(ToString::to_string).unwrap_or_default()
}
