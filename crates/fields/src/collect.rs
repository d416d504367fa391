//! The paths that a value sets: what an applier owns.
//!
//! Decides which paths are leaves. Never owns the maps on the way: who sets a member does not own its parent.

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::fault::Fault;
use crate::items;
use crate::set::{Path, Set};
use crate::types::{List, Map, Type};

/// Returns every path that `value` sets.
pub fn field_set(value: &Value, of: &Type) -> Result<Set, Fault> {
    let mut walk = Walk {
        set: Set::default(),
        path: Path::default(),
    };
    walk.value(value, of)?;
    Ok(walk.set)
}

struct Walk {
    set: Set,
    path: Path,
}

impl Walk {
    fn own(&mut self) {
        self.set.insert(&self.path.0);
    }

    fn value(&mut self, value: &Value, of: &Type) -> Result<(), Fault> {
        match (of, value) {
            (Type::Map(map), Value::Object(members)) => self.members(members, map),
            (Type::List(list), Value::Array(items)) => self.items(items, list),
            (Type::Map(_) | Type::List(_), Value::Null) => Ok(()),
            (Type::Map(_), _) => Err(expected(&self.path, "map", value)),
            (Type::List(_), _) => Err(expected(&self.path, "list", value)),
            (Type::Deduced, Value::Object(members)) => {
                let map = Map {
                    others: Some(Type::Deduced),
                    ..Map::default()
                };
                self.members(members, &map)
            }
            (Type::Leaf | Type::Deduced, _) => {
                self.own();
                Ok(())
            }
        }
    }

    fn members(&mut self, members: &Members<String, Value>, map: &Map) -> Result<(), Fault> {
        for (name, value) in members {
            let Some(of) = map.member(name) else {
                self.path.0.push(Element::Field(name.clone()));
                return Err(Fault::new(&self.path, "field not declared in schema"));
            };
            self.path.0.push(Element::Field(name.clone()));
            self.value(value, &of)?;
            let is_bare = value.is_null() || value.as_object().is_some_and(Members::is_empty);
            if is_bare || !map.fields.contains_key(name) {
                self.own();
            }
            self.path.0.pop();
        }
        Ok(())
    }

    fn items(&mut self, items: &[Value], list: &List) -> Result<(), Fault> {
        // What is stored may hold items that cannot be told apart; they are owned together.
        let steps = items::steps(list, items, &self.path, true)?;
        for (step, item) in steps.into_iter().zip(items) {
            self.path.0.push(step);
            self.value(item, &list.item())?;
            self.own();
            self.path.0.pop();
        }
        Ok(())
    }
}

pub(crate) fn expected(at: &Path, what: &str, found: &Value) -> Fault {
    Fault::new(at, format!("expected {what}, got &{{{found}}}"))
}
