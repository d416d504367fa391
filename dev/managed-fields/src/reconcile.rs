//! Sets of paths that were written under an older type.
//!
//! Decides what becomes of paths into something that is owned as a whole now: its owner owns it as a whole.

use std::collections::BTreeSet;

use crate::element::Element;
use crate::set::{Path, Set};
use crate::types::{Map, Relation, Type};

/// Returns the set as it reads under a type.
pub(crate) fn reconcile(set: &Set, of: &Type) -> Set {
    let mut walk = Walk::default();
    walk.below(set, of);
    if walk.whole.is_empty() {
        return set.clone();
    }
    set.recursive_difference(&walk.whole).union(&walk.whole)
}

#[derive(Default)]
struct Walk {
    path: Path,
    /// Paths that are owned as a whole now.
    whole: Set,
}

impl Walk {
    fn below(&mut self, set: &Set, of: &Type) {
        let steps: BTreeSet<&Element> = set.members.iter().chain(set.children.keys()).collect();
        for step in steps {
            if is_step_of(step, of) {
                self.path.0.push(step.clone());
                self.at(set.below(step), of.step(step));
                self.path.0.pop();
            }
        }
    }

    /// Looks at what is owned below a path; nothing is where the path is owned as a whole already.
    fn at(&mut self, below: Option<&Set>, of: &Type) {
        let Some(below) = below else { return };
        let is_whole = match of {
            Type::List(list) => list.relation == Relation::Atomic,
            // Nothing tells how these were owned before.
            Type::Map(map) | Type::Free(map) if map.is_undeclared() => return,
            Type::Map(map) | Type::Free(map) => map.atomic && !below.is_empty(),
            Type::Scalar(_) | Type::Deduced | Type::Opaque => return,
        };
        if is_whole {
            self.whole.insert(&self.path.0);
        } else {
            self.below(below, of);
        }
    }
}

fn is_step_of(step: &Element, of: &Type) -> bool {
    let has = |map: &Map, name: &str| map.member(name).is_some();
    match (of, step) {
        (Type::Map(map) | Type::Free(map), Element::Field(name)) => has(map, name),
        (Type::List(_), _) => true,
        (Type::Map(_) | Type::Free(_) | Type::Scalar(_) | Type::Deduced | Type::Opaque, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::List;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn what_became_atomic_is_owned_as_a_whole() {
        let list = |relation| {
            Type::List(Arc::new(List {
                relation,
                item: Type::Opaque,
            }))
        };
        let of = |relation| {
            Type::Map(Arc::new(Map {
                fields: [("l".to_owned(), list(relation)), ("x".to_owned(), Type::Opaque)].into(),
                ..Map::default()
            }))
        };
        let set = Set::from_wire(&json!({"f:l": {"v:\"a\"": {}}, "f:x": {}})).expect("a set");
        let atomic = reconcile(&set, &of(Relation::Atomic)).to_wire();
        assert_eq!(atomic, json!({"f:l": {}, "f:x": {}}));
        assert_eq!(reconcile(&set, &of(Relation::Set)), set);
    }
}
