//! The items of a list, told apart.
//!
//! Decides which step leads to an item. Never compares what is in it.

use serde_json::Value;

use crate::element::Element;
use crate::types::{KeyField, Relation};

/// Returns the step to an item of a list that is not atomic; the error says why there is none.
pub(crate) fn step(relation: &Relation, item: &Value, position: usize) -> Result<Element, String> {
    match relation {
        Relation::Atomic => Ok(Element::Index(position)),
        Relation::Set => match item {
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Element::Value(item.clone())),
        },
        Relation::Keyed(keys) => key(keys, item),
    }
}

fn key(keys: &[KeyField], item: &Value) -> Result<Element, String> {
    let Some(fields) = item.as_object() else {
        let what = if item.is_null() {
            "a null element"
        } else {
            "non-map elements"
        };
        return Err(format!("associative list with keys may not have {what}"));
    };
    let mut pairs: Vec<(String, Value)> = keys
        .iter()
        .filter_map(|key| {
            let value = fields.get(&key.name).or(key.default.as_ref())?;
            Some((key.name.clone(), value.clone()))
        })
        .collect();
    if pairs.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| format!("{:?}", key.name)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    pairs.sort_by(|(one, _), (two, _)| one.cmp(two));
    Ok(Element::Key(pairs))
}

/// Returns the items with their steps, in their order. Items to which no step leads are left out.
pub(crate) fn steps<'v>(relation: &Relation, items: &'v [Value]) -> Vec<(Element, &'v Value)> {
    let each = items.iter().enumerate();
    each.filter_map(|(position, item)| Some((step(relation, item, position).ok()?, item)))
        .collect()
}

/// Returns the items of a value that may be a list.
pub(crate) fn of(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}
