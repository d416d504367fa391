//! The paths that a value sets: what an applier owns.
//!
//! Decides which paths are leaves. Never owns the maps on the way: who sets a member does not own its parent.

use std::collections::BTreeSet;

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::items;
use crate::set::{Path, Set};
use crate::types::{Atom, List, Map, Relation, Type};

/// Returns every path that a value sets; the value fits its type.
pub fn field_set(value: &Value, of: &Type) -> Set {
    let mut walk = Walk {
        set: Set::default(),
        path: Path::default(),
    };
    walk.value(value, of);
    walk.set
}

struct Walk {
    set: Set,
    path: Path,
}

impl Walk {
    fn own(&mut self) {
        self.set.insert(&self.path.0);
    }

    fn value(&mut self, value: &Value, of: &Type) {
        match (of.atom(Some(value)), value) {
            (Atom::Scalar(_), _) => self.own(),
            (Atom::Map(map), _) if map.atomic => self.own(),
            (Atom::List(list), _) if list.relation == Relation::Atomic => self.own(),
            (Atom::Map(map), Value::Object(members)) => self.members(members, map),
            (Atom::List(list), Value::Array(items)) => self.items(items, list),
            (Atom::Map(_) | Atom::List(_), _) => {}
        }
    }

    fn members(&mut self, members: &Members<String, Value>, map: &Map) {
        for (name, value) in members {
            self.path.0.push(Element::Field(name.clone()));
            self.value(value, map.member_or_opaque(name));
            let is_bare = value.is_null() || value.as_object().is_some_and(Members::is_empty);
            if is_bare || !map.fields.contains_key(name) {
                self.own();
            }
            self.path.0.pop();
        }
    }

    fn items(&mut self, items: &[Value], list: &List) {
        // No step leads to an item that lost its keys, but something is there still.
        let step = |position, item| {
            let step = items::step(&list.relation, item, position);
            (step.unwrap_or(Element::Value(Value::Null)), item)
        };
        let items = items.iter().enumerate();
        let steps: Vec<(Element, &Value)> = items.map(|(position, item)| step(position, item)).collect();
        let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for (step, _) in &steps {
            if !seen.insert(step) {
                twice.insert(step);
            }
        }
        for (step, item) in &steps {
            self.path.0.push(step.clone());
            // Items that cannot be told apart are owned together, and not what is in them.
            if !twice.contains(step) {
                self.value(item, &list.item);
            }
            self.own();
            self.path.0.pop();
        }
    }
}
