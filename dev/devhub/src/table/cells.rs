//! Cells of printer columns.
//!
//! Decides how a value looks in a column of a given type; `null` is an empty cell.

use jiff::Timestamp;
use kubernetes::json_path::JsonPath;
use serde_json::{Value, json};

use super::age::age;

/// Returns the cell of a column of type `kind` whose value is found by `path`.
pub(super) fn cell(object: &Value, path: Option<&JsonPath>, kind: &str, now: Timestamp) -> Value {
    let found = path.and_then(|path| path.find(object).ok()?.first().copied());
    let Some(value) = found else { return Value::Null };
    match (kind, value) {
        ("string", _) => Value::String(printed(value)),
        ("integer", Value::Number(number)) => number
            .as_i64()
            .or_else(|| truncated(number.as_f64()?))
            .map_or(Value::Null, Value::from),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(stamp)) => json!(age(stamp, now).unwrap_or_else(|| "<invalid>".to_owned())),
        _ => Value::Null,
    }
}

/// Prints any value as the text of a cell.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => kubernetes::print::number(number),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float in an integer column is cut off, as Kubernetes does it"
)]
fn truncated(float: f64) -> Option<i64> {
    float.is_finite().then(|| float.trunc() as i64)
}
