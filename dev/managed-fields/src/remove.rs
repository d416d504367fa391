//! A value without some of its paths.
//!
//! Decides nothing about ownership. A map or list that loses everything stays as an empty one.

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::items;
use crate::set::Set;
use crate::types::{Atom, List, Map, Relation, Type};

/// Returns the value without the paths of the set.
pub fn remove(value: &Value, gone: &Set, of: &Type) -> Value {
    match (of.atom(Some(value)), value) {
        (Atom::Scalar(_), _) => value.clone(),
        (Atom::Map(map), Value::Object(members)) if !map.atomic => members_left(members, gone, map),
        (Atom::List(list), Value::Array(items)) if list.relation != Relation::Atomic => {
            items_left(items, gone, list)
        }
        (Atom::Map(_) | Atom::List(_), _) => Value::Null,
    }
}

fn members_left(members: &Members<String, Value>, gone: &Set, map: &Map) -> Value {
    let mut left = Members::new();
    for (name, value) in members {
        let step = Element::Field(name.clone());
        let value = part(value, &step, gone, map.member_or_opaque(name));
        left.extend(value.map(|value| (name.clone(), value)));
    }
    Value::Object(left)
}

fn items_left(items: &[Value], gone: &Set, list: &List) -> Value {
    let left = items.iter().enumerate().filter_map(|(position, item)| {
        // No path of the set can mean an item to which no step leads: it stays.
        match items::step(&list.relation, item, position) {
            Ok(step) => part(item, &step, gone, &list.item),
            Err(_) => Some(item.clone()),
        }
    });
    Value::Array(left.collect())
}

fn part(value: &Value, step: &Element, gone: &Set, of: &Type) -> Option<Value> {
    if gone.members.contains(step) {
        return None;
    }
    let below = gone.below(step).filter(|below| !below.is_empty());
    Some(below.map_or_else(|| value.clone(), |below| remove(value, below, of)))
}
