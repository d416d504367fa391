//! Finds the old value that belongs to a new one, and tells whether it is the same.
//!
//! Decides what "unchanged" means for ratcheting: lists with keys compare by key, everything else as a whole.

use crate::node::{ListType, Node};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// From this many items on, an index pays off.
const INDEX_FROM: usize = 16;

/// The items of an old list, found by their keys.
#[derive(Debug)]
pub(crate) struct ByKey<'a> {
    keys: &'a [String],
    items: &'a [Value],
    index: Option<BTreeMap<String, &'a Value>>,
}

impl<'a> ByKey<'a> {
    /// Looks at the old items of a list whose schema is `node`; lists without keys find nothing.
    pub(crate) fn new(node: &'a Node, items: &'a [Value]) -> Self {
        let keys = match &node.list {
            ListType::Map(keys) => keys.as_slice(),
            ListType::Atomic | ListType::Set => &[],
        };
        // Of items with the same keys the first one counts, so later ones must not overwrite it.
        let index = (items.len() >= INDEX_FROM).then(|| {
            items
                .iter()
                .rev()
                .filter_map(|item| Some((key_of(keys, item)?, item)))
                .collect()
        });
        Self { keys, items, index }
    }

    /// Returns the first old item with the keys of `item`; an item that lacks one finds nothing.
    pub(crate) fn find(&self, item: &Value) -> Option<&'a Value> {
        let wanted = item
            .as_object()
            .filter(|members| !self.keys.is_empty() && has_keys(self.keys, members))?;
        if let Some(index) = &self.index {
            return index.get(&key_of(self.keys, item)?).copied();
        }
        self.items.iter().find(|old| {
            old.as_object()
                .is_some_and(|old| self.keys.iter().all(|key| old.get(key) == wanted.get(key)))
        })
    }
}

fn has_keys(keys: &[String], members: &Map<String, Value>) -> bool {
    let is_scalar = |value: &Value| !value.is_null() && !value.is_array() && !value.is_object();
    keys.iter().all(|key| members.get(key).is_some_and(is_scalar))
}

/// Spells the key of an item; absent members differ from every value.
pub(crate) fn key_of(keys: &[String], item: &Value) -> Option<String> {
    let members = item.as_object()?;
    let mut out = String::new();
    for key in keys {
        if let Some(value) = members.get(key) {
            out.push_str(&kubernetes::print::json(value));
        }
        out.push('\u{0}');
    }
    Some(out)
}

/// Tells whether a value is the same as before, looking through the order of lists with keys.
pub(crate) fn unchanged(node: &Node, value: &Value, old: &Value) -> bool {
    match (value, old) {
        (Value::Array(items), Value::Array(olds)) if matches!(node.list, ListType::Map(_)) => {
            let by_key = ByKey::new(node, olds);
            let same = |item: &Value| {
                by_key.find(item).is_some_and(|old| match node.items.as_deref() {
                    Some(schema) => unchanged(schema, item, old),
                    None => item == old,
                })
            };
            items.len() == olds.len() && items.iter().all(same)
        }
        (Value::Object(members), Value::Object(olds)) => {
            let same = |(name, member): (&String, &Value)| {
                olds.get(name).is_some_and(|old| match node.member(name) {
                    Some(schema) => unchanged(schema, member, old),
                    // Kubernetes cannot correlate what no schema describes, and takes it for changed.
                    None => false,
                })
            };
            members.len() == olds.len() && members.iter().all(same)
        }
        (value, old) => value == old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::parse(&json!({"type": "object", "properties": {
            "m": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                  "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
            "l": {"type": "array", "items": {"type": "string"}},
        }}))
        .expect("a valid schema")
    }

    #[test]
    fn order_counts_only_in_lists_without_keys() {
        let rows = [
            (
                json!({"m": [{"k": "a"}, {"k": "b"}]}),
                json!({"m": [{"k": "b"}, {"k": "a"}]}),
                true,
            ),
            (
                json!({"m": [{"k": "a", "v": 1}]}),
                json!({"m": [{"k": "a", "v": 2}]}),
                false,
            ),
            (
                json!({"m": [{"k": "a"}]}),
                json!({"m": [{"k": "a"}, {"k": "b"}]}),
                false,
            ),
            (json!({"l": ["a", "b"]}), json!({"l": ["b", "a"]}), false),
        ];
        let schema = schema();
        for (new, old, wanted) in rows {
            assert_eq!(unchanged(schema.root(), &new, &old), wanted, "{new} {old}");
        }
    }
}
