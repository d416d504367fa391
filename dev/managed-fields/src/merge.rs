//! One value laid over another: what an apply makes of the stored object before anything is pruned.
//!
//! Decides the order of merged lists. The applied value wins wherever both say something.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::items;
use crate::types::{Atom, List, Map, Relation, Type};

/// Returns `base` with `over` laid over it; both fit their type.
pub fn merge(base: &Value, over: &Value, of: &Type) -> Value {
    values(Some(base), Some(over), of).unwrap_or_default()
}

fn values(base: Option<&Value>, over: Option<&Value>, of: &Type) -> Option<Value> {
    match of.atom(over.or(base)) {
        Atom::Scalar(_) => over.or(base).cloned(),
        Atom::Map(map) => members(base, over, map),
        Atom::List(list) => all_items(base, over, list),
    }
}

fn members(base: Option<&Value>, over: Option<&Value>, map: &Map) -> Option<Value> {
    let own = base
        .and_then(Value::as_object)
        .filter(|members| !members.is_empty());
    let new = over
        .and_then(Value::as_object)
        .filter(|members| !members.is_empty());
    // Where both are bare, the difference between null and empty is kept.
    if map.atomic || (own.is_none() && new.is_none()) {
        return over.or(base).cloned();
    }
    let names: BTreeSet<&String> = own.into_iter().chain(new).flat_map(Members::keys).collect();
    let merged: Members<String, Value> = names
        .into_iter()
        .filter_map(|name| {
            let (own, new) = (
                own.and_then(|own| own.get(name)),
                new.and_then(|new| new.get(name)),
            );
            let value = values(own, new, map.member_or_opaque(name))?;
            Some((name.clone(), value))
        })
        .collect();
    (!merged.is_empty()).then_some(Value::Object(merged))
}

fn all_items(base: Option<&Value>, over: Option<&Value>, list: &List) -> Option<Value> {
    let (own, new) = (items::of(base), items::of(over));
    if list.relation == Relation::Atomic || (own.is_empty() && new.is_empty()) {
        return over.or(base).cloned();
    }
    let (own, new) = (
        items::steps(&list.relation, own),
        items::steps(&list.relation, new),
    );
    let mut by_step: BTreeMap<&Element, &Value> = BTreeMap::new();
    for (step, item) in &own {
        // Nothing is merged with items that cannot be told apart.
        let one = by_step.entry(step);
        one.and_modify(|item| *item = &Value::Null).or_insert(item);
    }
    let steps = |items: &[(Element, &'_ Value)]| -> Vec<Element> {
        items.iter().map(|(step, _)| step.clone()).collect()
    };
    let mut merged = Vec::with_capacity(own.len().max(new.len()));
    for place in order(&steps(&own), &steps(&new)) {
        let item = match place {
            // An item of the base alone is taken by position: those that cannot be told apart all stay.
            Place::Base(at) => own
                .get(at)
                .and_then(|(_, item)| values(Some(item), None, &list.item)),
            Place::Over(at) => new
                .get(at)
                .and_then(|(step, item)| values(by_step.get(step).copied(), Some(item), &list.item)),
        };
        merged.extend(item);
    }
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// Where an item of the merged list comes from.
#[derive(Clone, Copy)]
enum Place {
    Base(usize),
    Over(usize),
}

/// Both orders are kept as far as they agree; where they do not, the applied one wins for what both have, and items of
/// the base alone stay in front of the next shared one.
fn order(base: &[Element], over: &[Element]) -> Vec<Place> {
    let in_base: BTreeSet<&Element> = base.iter().collect();
    let in_over: BTreeSet<&Element> = over.iter().collect();
    let mut shared = over.iter().filter(|step| in_base.contains(step));
    let mut next_shared = shared.next();
    let mut taken = BTreeSet::new();
    let mut places = Vec::with_capacity(base.len().max(over.len()));
    let (mut left, mut right) = (0_usize, 0_usize);
    loop {
        let (own, new) = (base.get(left), over.get(right));
        if own.is_none() && new.is_none() {
            return places;
        }
        if let (Some(own), Some(new)) = (own, new) {
            if own == new {
                places.push(Place::Over(right));
                taken.insert(new);
                left = left.saturating_add(1);
                right = right.saturating_add(1);
                next_shared = shared.next();
                continue;
            }
            if in_over.contains(own) && next_shared.is_some_and(|next| next != own) {
                left = left.saturating_add(1);
                continue;
            }
        }
        if let Some(own) = own {
            if !in_over.contains(own) {
                places.push(Place::Base(left));
                left = left.saturating_add(1);
                continue;
            }
            if taken.contains(own) {
                left = left.saturating_add(1);
            }
        }
        if let Some(new) = new {
            places.push(Place::Over(right));
            taken.insert(new);
            right = right.saturating_add(1);
            if next_shared == Some(new) {
                next_shared = shared.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn set() -> Type {
        Type::List(Arc::new(List {
            relation: Relation::Set,
            item: Type::Opaque,
        }))
    }

    #[test]
    fn lists_keep_both_orders_as_far_as_they_agree() {
        let rows = [
            (json!(["a", "b", "c"]), json!(["b"]), json!(["a", "b", "c"])),
            (json!(["a", "b", "c"]), json!(["c", "a"]), json!(["b", "c", "a"])),
            (json!(["a", "b"]), json!(["x", "b"]), json!(["a", "x", "b"])),
            (json!([]), json!(["x"]), json!(["x"])),
            (json!(["a"]), json!([]), json!(["a"])),
        ];
        for (base, over, wanted) in rows {
            assert_eq!(merge(&base, &over, &set()), wanted, "{base} + {over}");
        }
    }

    #[test]
    fn undeclared_fields_are_merged_by_their_structure() {
        let rows = [
            (
                json!({"a": 1}),
                json!({"b": {"c": 2}}),
                json!({"a": 1, "b": {"c": 2}}),
            ),
            (json!({"a": 1}), json!([1]), json!([1])),
            (json!({"a": 1}), json!(null), json!({"a": 1})),
            (json!([1]), json!(null), json!(null)),
            (json!({}), json!(null), json!(null)),
        ];
        for (base, over, wanted) in rows {
            assert_eq!(merge(&base, &over, &Type::Deduced), wanted, "{base} + {over}");
        }
    }
}
