//! Numbers in the form in which the server stores them.
//!
//! Decides that a whole float is an integer (`1.0` is stored and printed as `1`).

use serde_json::{Number, Value};

/// Largest whole float that is exact as an integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Turns every whole float inside `value` into an integer.
pub fn normalize(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Object(map) => map.values_mut().for_each(normalize),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and within the exact range of f64"
)]
fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_floats_become_integers() {
        let mut value = json!({"f": 1.0, "l": [2.5, -3.0, 1e300], "n": 7});
        normalize(&mut value);
        assert_eq!(value, json!({"f": 1, "l": [2.5, -3, 1e300], "n": 7}));
    }
}
