//! One value laid over another: what an apply makes of the stored object before anything is pruned.
//!
//! Decides the order of merged lists. The applied value wins wherever both say something.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Members, Value};

use crate::collect::expected;
use crate::element::Element;
use crate::fault::Fault;
use crate::items;
use crate::set::Path;
use crate::types::{List, Type};

/// Returns `base` with `over` laid over it.
pub fn merge(base: &Value, over: &Value, of: &Type) -> Result<Value, Fault> {
    let merged = Walk::default().values(Some(base), Some(over), of)?;
    Ok(merged.unwrap_or(Value::Null))
}

#[derive(Default)]
struct Walk {
    path: Path,
}

impl Walk {
    fn values(
        &mut self,
        base: Option<&Value>,
        over: Option<&Value>,
        of: &Type,
    ) -> Result<Option<Value>, Fault> {
        let is_bare = is_empty(base) && is_empty(over);
        match of {
            _ if is_bare => Ok(over.or(base).cloned()),
            Type::Leaf => Ok(over.or(base).cloned()),
            Type::Map(map) => {
                self.fits(over, Value::is_object, "map")?;
                self.members(base, over, |name| map.member(name))
            }
            Type::Deduced if over.or(base).is_some_and(Value::is_object) => {
                self.members(base, over, |_| Some(Type::Deduced))
            }
            Type::Deduced => Ok(over.or(base).cloned()),
            Type::List(list) => {
                self.fits(over, Value::is_array, "list")?;
                self.items(base, over, list)
            }
        }
    }

    fn fits(&self, value: Option<&Value>, fits: fn(&Value) -> bool, what: &str) -> Result<(), Fault> {
        match value {
            Some(value) if !value.is_null() && !fits(value) => Err(expected(&self.path, what, value)),
            Some(_) | None => Ok(()),
        }
    }

    fn members(
        &mut self,
        base: Option<&Value>,
        over: Option<&Value>,
        of: impl Fn(&str) -> Option<Type>,
    ) -> Result<Option<Value>, Fault> {
        let none = Members::new();
        let base = base.and_then(Value::as_object).unwrap_or(&none);
        let over = over.and_then(Value::as_object).unwrap_or(&none);
        let names: BTreeSet<&String> = base.keys().chain(over.keys()).collect();
        let mut merged = Members::new();
        for name in names {
            self.path.0.push(Element::Field(name.clone()));
            // What is stored may be older than the schema; only what is applied has to be declared.
            let member = match (of(name), over.get(name)) {
                (None, Some(_)) => return Err(Fault::new(&self.path, "field not declared in schema")),
                (member, _) => member.unwrap_or_default(),
            };
            let value = self.values(base.get(name), over.get(name), &member)?;
            self.path.0.pop();
            merged.extend(value.map(|value| (name.clone(), value)));
        }
        Ok((!merged.is_empty()).then_some(Value::Object(merged)))
    }

    fn items(
        &mut self,
        base: Option<&Value>,
        over: Option<&Value>,
        list: &List,
    ) -> Result<Option<Value>, Fault> {
        let base = base
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let over = over
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let over_steps = items::steps(list, over, &self.path, false)?;
        let base_steps = items::steps(list, base, &self.path, true)?;
        let order = order(&base_steps, &over_steps);
        let index = |steps: &[Element]| -> BTreeMap<Element, usize> {
            steps
                .iter()
                .cloned()
                .enumerate()
                .map(|(at, step)| (step, at))
                .rev()
                .collect()
        };
        let (in_base, in_over) = (index(&base_steps), index(&over_steps));
        let mut merged = Vec::with_capacity(order.len());
        for place in order {
            let (step, own, new) = match place {
                // An item of the base alone is taken by position: those that cannot be told apart all stay.
                Place::Base(at) => (base_steps.get(at), base.get(at), None),
                Place::Over(at) => {
                    let step = over_steps.get(at);
                    let old = step
                        .and_then(|step| in_base.get(step))
                        .and_then(|at| base.get(*at));
                    (
                        step,
                        old,
                        step.and_then(|step| in_over.get(step))
                            .and_then(|at| over.get(*at)),
                    )
                }
            };
            let Some(step) = step else { continue };
            self.path.0.push(step.clone());
            let value = self.values(own, new, &list.item())?;
            self.path.0.pop();
            merged.extend(value);
        }
        Ok((!merged.is_empty()).then_some(Value::Array(merged)))
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => false,
    }
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
        Type::List(Arc::new(List::Set))
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
            let merged = merge(&base, &over, &set()).expect("fits");
            assert_eq!(merged, wanted, "{base} + {over}");
        }
    }

    #[test]
    fn what_is_applied_twice_or_not_declared_is_a_fault() {
        let twice = merge(&json!([]), &json!(["a", "a"]), &set()).expect_err("twice");
        assert_eq!(twice.what, "duplicate entries for key [=\"a\"]");
        let of = Type::Map(Arc::default());
        let fault = merge(&json!({}), &json!({"zz": 1}), &of).expect_err("not declared");
        assert_eq!(fault.to_string(), ".zz: field not declared in schema");
    }
}
