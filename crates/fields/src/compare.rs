//! What changed between two values, path by path.
//!
//! Decides what counts as added, modified and removed. A map that appears is added itself, with everything in it.

use std::collections::BTreeMap;

use serde_json::{Map as Members, Value};

use crate::element::{Element, equal};
use crate::fault::Fault;
use crate::items;
use crate::set::{Path, Set};
use crate::types::{List, Type};

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

/// Returns what changed from one value to the other.
pub fn compare(old: &Value, new: &Value, of: &Type) -> Result<Comparison, Fault> {
    let mut walk = Walk {
        found: Comparison::default(),
        path: Path::default(),
    };
    walk.values(Some(old), Some(new), of)?;
    Ok(walk.found)
}

struct Walk {
    found: Comparison,
    path: Path,
}

impl Walk {
    /// Compares what stands here; afterwards the path itself is noted where it appeared or went.
    fn values(&mut self, old: Option<&Value>, new: Option<&Value>, of: &Type) -> Result<(), Fault> {
        let is_leaf = match (of, shape(old, new)) {
            (Type::Leaf, _) | (_, Shape::Bare | Shape::Mixed) => true,
            (Type::Map(map), Shape::Maps) => {
                self.members(old, new, |name| map.member(name).unwrap_or_default())?;
                false
            }
            (Type::Deduced, Shape::Maps) => {
                self.members(old, new, |_| Type::Deduced)?;
                false
            }
            (Type::List(list), Shape::Lists) => {
                self.items(old, new, list)?;
                false
            }
            (Type::Map(_) | Type::List(_) | Type::Deduced, Shape::Maps | Shape::Lists) => true,
        };
        match (old, new) {
            (None, Some(_)) => self.found.added.insert(&self.path.0),
            (Some(_), None) => self.found.removed.insert(&self.path.0),
            (Some(old), Some(new)) if is_leaf && !equal(old, new) => {
                self.found.modified.insert(&self.path.0);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(())
    }

    fn members(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        of: impl Fn(&str) -> Type,
    ) -> Result<(), Fault> {
        let none = Members::new();
        let old = old.and_then(Value::as_object).unwrap_or(&none);
        let new = new.and_then(Value::as_object).unwrap_or(&none);
        let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            self.path.0.push(Element::Field(name.clone()));
            self.values(old.get(name), new.get(name), &of(name))?;
            self.path.0.pop();
        }
        Ok(())
    }

    fn items(&mut self, old: Option<&Value>, new: Option<&Value>, list: &List) -> Result<(), Fault> {
        let old = self.filed(old, list)?;
        let new = self.filed(new, list)?;
        let steps: std::collections::BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
        for step in steps {
            self.path.0.push(step.clone());
            match (old.get(step).map(Vec::as_slice), new.get(step).map(Vec::as_slice)) {
                (Some([old]), Some([new])) => self.values(Some(old), Some(new), &list.item())?,
                (None, Some([new])) => self.values(None, Some(new), &list.item())?,
                (Some([old]), None) => self.values(Some(old), None, &list.item())?,
                // Items that cannot be told apart change as one.
                (Some(old), Some(new)) => {
                    let same =
                        old.len() == new.len() && old.iter().zip(new).all(|(one, two)| equal(one, two));
                    if !same {
                        self.found.modified.insert(&self.path.0);
                    }
                }
                (None, Some(_)) => self.found.added.insert(&self.path.0),
                (Some(_), None) => self.found.removed.insert(&self.path.0),
                (None, None) => {}
            }
            self.path.0.pop();
        }
        Ok(())
    }

    fn filed<'v>(
        &self,
        value: Option<&'v Value>,
        list: &List,
    ) -> Result<BTreeMap<Element, Vec<&'v Value>>, Fault> {
        let items = value
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut filed: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
        for (step, item) in items::steps(list, items, &self.path, true)?
            .into_iter()
            .zip(items)
        {
            filed.entry(step).or_default().push(item);
        }
        Ok(filed)
    }
}

/// What two values have in common.
enum Shape {
    /// Maps on both sides, or on one with nothing on the other.
    Maps,
    /// Lists, likewise.
    Lists,
    /// Empty or null on both sides: the difference between the two is kept by comparing them as leaves.
    Bare,
    /// Anything else.
    Mixed,
}

fn shape(old: Option<&Value>, new: Option<&Value>) -> Shape {
    let empty = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => false,
    };
    let is_map = |value: Option<&Value>| value.is_none_or(|value| value.is_object() || value.is_null());
    let is_list = |value: Option<&Value>| value.is_none_or(|value| value.is_array() || value.is_null());
    if empty(old) && empty(new) {
        Shape::Bare
    } else if is_map(old) && is_map(new) {
        Shape::Maps
    } else if is_list(old) && is_list(new) {
        Shape::Lists
    } else {
        Shape::Mixed
    }
}
