//! A value without some of its paths, or with nothing but them.
//!
//! Decides nothing about ownership. A map or list that loses everything goes as well.

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::items;
use crate::set::{Path, Set};
use crate::types::{List, Type};

/// Returns the value without the paths of the set.
pub fn remove(value: &Value, gone: &Set, of: &Type) -> Value {
    walk(value, gone, of, Keep::Others).unwrap_or(Value::Null)
}

/// Returns the value with nothing but the paths of the set.
pub fn extract(value: &Value, kept: &Set, of: &Type) -> Value {
    walk(value, kept, of, Keep::Named).unwrap_or(Value::Null)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// What the set does not name.
    Others,
    /// What the set names.
    Named,
}

fn walk(value: &Value, set: &Set, of: &Type, keep: Keep) -> Option<Value> {
    match (of, value) {
        (Type::Map(map), Value::Object(members)) => {
            members_of(members, set, keep, |name| map.member(name).unwrap_or_default())
        }
        (Type::Deduced, Value::Object(members)) => members_of(members, set, keep, |_| Type::Deduced),
        (Type::List(list), Value::Array(items)) => items_of(items, set, list, keep),
        (Type::Leaf | Type::Map(_) | Type::List(_) | Type::Deduced, _) => Some(value.clone()),
    }
}

fn members_of(
    members: &Members<String, Value>,
    set: &Set,
    keep: Keep,
    of: impl Fn(&str) -> Type,
) -> Option<Value> {
    let mut kept = Members::new();
    for (name, value) in members {
        let step = Element::Field(name.clone());
        let value = part(value, &step, set, &of(name), keep);
        kept.extend(value.map(|value| (name.clone(), value)));
    }
    (!kept.is_empty()).then_some(Value::Object(kept))
}

fn items_of(items: &[Value], set: &Set, list: &List, keep: Keep) -> Option<Value> {
    let kept: Vec<Value> = items
        .iter()
        .enumerate()
        .filter_map(|(position, item)| {
            // An item that fits no step is nobody's: it stays where others stay.
            match items::step(list, item, position, &Path::default()) {
                Ok(step) => part(item, &step, set, &list.item(), keep),
                Err(_) => (keep == Keep::Others).then(|| item.clone()),
            }
        })
        .collect();
    (!kept.is_empty()).then_some(Value::Array(kept))
}

fn part(value: &Value, step: &Element, set: &Set, of: &Type, keep: Keep) -> Option<Value> {
    let below = set.below(step).filter(|below| !below.is_empty());
    match (keep, set.members.contains(step), below) {
        (Keep::Others, true, _) | (Keep::Named, false, None) => None,
        (Keep::Others, false, None) | (Keep::Named, true, None) => Some(value.clone()),
        // What loses everything below it leaves a null, as upstream's removal does.
        (Keep::Others, false, Some(below)) | (Keep::Named, _, Some(below)) => {
            Some(walk(value, below, of, keep).unwrap_or(Value::Null))
        }
    }
}
