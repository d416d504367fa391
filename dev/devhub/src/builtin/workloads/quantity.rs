//! Quantities such as `500m` and `2Gi` as fields of built-in kinds.
//!
//! Decides how they are read and written; the arithmetic is `kubernetes::quantity`.

use kubernetes::quantity::Quantity;
use serde_json::Value;

const FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Brings a quantity into the form in which the server writes it; the error is the text of its decoder.
pub(in crate::builtin) fn settle(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null => "0".to_owned(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(FORM.to_owned()),
    };
    let Some(quantity) = Quantity::parse(&text) else {
        let suffix =
            text.trim_start_matches(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter));
        let is_suffix = suffix.len() < text.len()
            && !suffix.is_empty()
            && suffix.chars().all(|letter| "eEinumkKMGTP".contains(letter));
        return Err(if is_suffix {
            "unable to parse quantity's suffix"
        } else {
            FORM
        }
        .to_owned());
    };
    *value = Value::String(quantity.to_string());
    Ok(())
}

/// Returns the size of a quantity in nanos; 0 for what is none.
pub(super) fn size(value: &Value) -> i128 {
    let text = value.as_str().unwrap_or_default();
    Quantity::parse(text).map_or(0, Quantity::nanos)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_written_as_the_server_writes_them() {
        for (given, written) in [
            (json!("0.5"), "500m"),
            (json!(1), "1"),
            (json!("1000m"), "1"),
            (json!("1536Mi"), "1536Mi"),
            (json!("1.5Gi"), "1536Mi"),
            (json!("128974848"), "128974848"),
            (json!("1000"), "1k"),
        ] {
            let mut value = given.clone();
            settle(&mut value).expect("a quantity");
            assert_eq!(value, written, "{given}");
        }
        for (given, fault) in [
            (json!("much"), FORM),
            (json!(true), FORM),
            (json!("1mm"), "unable to parse quantity's suffix"),
        ] {
            assert_eq!(settle(&mut given.clone()), Err(fault.to_owned()), "{given}");
        }
    }
}
