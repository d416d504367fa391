//! Changes of the settings in an AddOnRollout.

use serde_json::{Value, json};

/// Sets a field of the spec of an AddOnRollout, for all placements or for one as `namespace/name`; `null` removes it.
pub(crate) fn set_level(spec: &mut Value, place: Option<&str>, key: &str, value: &Value) {
    if spec.is_null() {
        *spec = json!({});
    }
    let level = match place {
        None => spec,
        Some(place) => {
            let (namespace, name) = place.split_once('/').expect("namespace/name");
            if spec.get("placements").is_none() {
                spec["placements"] = json!([]);
            }
            let list = spec["placements"].as_array_mut().expect("a list");
            let is_it = |one: &Value| one["namespace"] == namespace && one["name"] == name;
            let at = list.iter().position(is_it).unwrap_or_else(|| {
                list.push(json!({"namespace": namespace, "name": name}));
                list.len() - 1
            });
            &mut list[at]
        }
    };
    let fields = level.as_object_mut().expect("an object");
    match value {
        Value::Null => {
            fields.remove(key);
        }
        value => {
            fields.insert(key.to_owned(), value.clone());
        }
    }
}
