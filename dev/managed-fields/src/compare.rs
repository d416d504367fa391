//! What changed between two values, path by path.
//!
//! Decides what counts as added, modified and removed. A map that appears is added itself, with everything in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Members, Value};

use crate::element::{Element, equal};
use crate::items;
use crate::set::{Path, Set};
use crate::types::{Atom, List, Map, Relation, Type};

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Paths that were not there.
    pub added: Set,
    /// Paths with another value.
    pub modified: Set,
    /// Paths that are gone.
    pub removed: Set,
}

impl Comparison {
    /// Returns whether nothing changed.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// Returns what changed from one value to the other; both fit their type.
pub fn compare(old: &Value, new: &Value, of: &Type) -> Comparison {
    let mut walk = Walk {
        found: Comparison::default(),
        path: Path::default(),
    };
    walk.values(Some(old), Some(new), of);
    walk.found
}

struct Walk {
    found: Comparison,
    path: Path,
}

impl Walk {
    /// Compares what stands here; the path itself is noted where it appeared or went.
    fn values(&mut self, old: Option<&Value>, new: Option<&Value>, of: &Type) {
        match (old, new) {
            (Some(_), Some(_)) => {
                // Where nothing is declared a value may change its form; then both forms are looked at.
                let (one, two) = (of.atom(old), of.atom(new));
                if !same_form(one, two) {
                    self.part(old, new, one);
                }
                self.part(old, new, two);
            }
            (None, Some(_)) => {
                self.part(old, new, of.atom(new));
                self.found.added.insert(&self.path.0);
            }
            (Some(_), None) => {
                self.part(old, new, of.atom(old));
                self.found.removed.insert(&self.path.0);
            }
            (None, None) => {}
        }
    }

    fn part(&mut self, old: Option<&Value>, new: Option<&Value>, atom: Atom<'_>) {
        match atom {
            Atom::Scalar(_) => self.leaf(old, new),
            Atom::Map(map) => {
                let (before, after) = (members_of(old), members_of(new));
                let is_bare = |members: Option<&Members<_, _>>| members.is_none_or(Members::is_empty);
                if map.atomic || (is_bare(before) && is_bare(after)) {
                    return self.leaf(old, new);
                }
                self.members(before, after, map);
            }
            Atom::List(list) => {
                let (before, after) = (items::of(old), items::of(new));
                if list.relation == Relation::Atomic || (before.is_empty() && after.is_empty()) {
                    return self.leaf(old, new);
                }
                self.items(before, after, list);
            }
        }
    }

    /// What appeared or went is noted by the caller.
    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if let (Some(old), Some(new)) = (old, new)
            && !equal(old, new)
        {
            self.found.modified.insert(&self.path.0);
        }
    }

    fn members(
        &mut self,
        old: Option<&Members<String, Value>>,
        new: Option<&Members<String, Value>>,
        map: &Map,
    ) {
        let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(Members::keys).collect();
        for name in names {
            self.path.0.push(Element::Field(name.clone()));
            let before = old.and_then(|members| members.get(name));
            let after = new.and_then(|members| members.get(name));
            self.values(before, after, map.member_or_opaque(name));
            self.path.0.pop();
        }
    }

    fn items(&mut self, old: &[Value], new: &[Value], list: &List) {
        let (old, new) = (filed(old, list), filed(new, list));
        let steps: BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
        for step in steps {
            self.path.0.push(step.clone());
            let before = old.get(step).map(Vec::as_slice).unwrap_or_default();
            let after = new.get(step).map(Vec::as_slice).unwrap_or_default();
            self.alike(before, after, &list.item);
            self.path.0.pop();
        }
    }

    /// Compares the items to which one step leads. Items that cannot be told apart change as one.
    fn alike(&mut self, old: &[&Value], new: &[&Value], of: &Type) {
        let (before, after) = (old.first().copied(), new.first().copied());
        match (old.len(), new.len()) {
            (0 | 1, 0 | 1) => self.values(before, after, of),
            (2.., 2..) => {
                let same = old.len() == new.len() && old.iter().zip(new).all(|(one, two)| equal(one, two));
                if !same {
                    self.found.modified.insert(&self.path.0);
                }
            }
            (2.., _) => {
                self.values(None, after, of);
                self.found.removed.insert(&self.path.0);
            }
            (_, 2..) => {
                self.values(before, None, of);
                self.found.added.insert(&self.path.0);
            }
        }
    }
}

fn members_of(value: Option<&Value>) -> Option<&Members<String, Value>> {
    value.and_then(Value::as_object)
}

const fn same_form(one: Atom<'_>, two: Atom<'_>) -> bool {
    matches!(
        (one, two),
        (Atom::Scalar(_), Atom::Scalar(_)) | (Atom::Map(_), Atom::Map(_)) | (Atom::List(_), Atom::List(_))
    )
}

fn filed<'v>(items: &'v [Value], list: &List) -> BTreeMap<Element, Vec<&'v Value>> {
    let mut filed: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for (step, item) in items::steps(&list.relation, items) {
        filed.entry(step).or_default().push(item);
    }
    filed
}
