//! Reading a spec of which some parts have a wrong type: the schema reports these, and the rules check the others nevertheless.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns the spec of an object without the parts whose type is wrong.
pub(super) fn fitting_spec<T: DeserializeOwned + Default>(object: &Value) -> T {
    let written = object.get("spec").and_then(Value::as_object);
    let fits = |part: &str, value: &Value| {
        let alone = Value::Object(Map::from_iter([(part.to_owned(), value.clone())]));
        serde_json::from_value::<T>(alone).is_ok()
    };
    let kept = written
        .into_iter()
        .flatten()
        .filter(|(part, value)| fits(part, value));
    let kept = kept.map(|(part, value)| (part.clone(), value.clone())).collect();
    serde_json::from_value(Value::Object(kept)).unwrap_or_default()
}
