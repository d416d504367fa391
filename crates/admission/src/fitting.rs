//! Reading a spec of which some parts have a wrong type: the schema reports these, and the rules check the others nevertheless.

use kubernetes::field::Violation;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A spec without the parts whose type is wrong.
#[derive(Clone, Debug)]
pub(super) struct FittingSpec<T> {
    /// The spec.
    pub(super) spec: T,
    /// An object with what is left of the spec; absent if all of it fits.
    left: Option<Value>,
}

impl<T: DeserializeOwned + Default> FittingSpec<T> {
    /// Reads the spec of an object.
    pub(super) fn read(object: &Value) -> Self {
        let empty = Value::Object(Map::new());
        let written = object.get("spec").filter(|spec| spec.is_object());
        let written = written.unwrap_or(&empty);
        let fits = |part: &Value| T::deserialize(part).is_ok();
        if let Ok(spec) = T::deserialize(written) {
            return Self { spec, left: None };
        }
        let left = fitting(written, &fits).unwrap_or(empty);
        Self {
            spec: T::deserialize(&left).unwrap_or_default(),
            left: Some(member("spec", left)),
        }
    }

    /// Returns whether a fault is one of the object: not of a part that was left out.
    pub(super) fn has(&self, fault: &Violation, object: &Value) -> bool {
        let written = fault.path().lookup(object);
        self.left
            .as_ref()
            .is_none_or(|left| fault.path().lookup(left).is_some() || written.is_none_or(Value::is_null))
    }
}

/// Returns a value without the members of objects that do not fit; nothing if nothing of it fits. A list with another item that does
/// not fit is left out whole: the positions of its items would be others.
fn fitting(value: &Value, fits: &dyn Fn(&Value) -> bool) -> Option<Value> {
    if fits(value) {
        return Some(value.clone());
    }
    let left = match value {
        Value::Object(members) => {
            let kept = members.iter().filter_map(|(name, part)| {
                let fits = |part: &Value| fits(&member(name, part.clone()));
                Some((name.clone(), fitting(part, &fits)?))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => {
            let fits = |item: &Value| fits(&Value::Array(vec![item.clone()]));
            let kept: Option<Vec<Value>> = items.iter().map(|item| fitting(item, &fits)).collect();
            Value::Array(kept?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    fits(&left).then_some(left)
}

fn member(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}
