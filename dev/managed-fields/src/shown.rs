//! Values as steps of a path.
//!
//! Decides nothing else; how Go prints values is `apimachinery`'s.

use kubernetes::print::quote;
use serde_json::Value;

/// Returns a value as steps of a path are written.
pub(crate) fn step(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(number) => kubernetes::print::number(number),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(step).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name}={}", step(value)))
                .collect();
            members.concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_spelled_as_go_spells_them() {
        let rows = [
            (json!(2.0), "2"),
            (json!(1.5), "1.5"),
            (json!("a\"\\\u{1}\u{7f}\n"), r#""a\"\\\x01\x7f\n""#),
            (json!({"a": 1, "b": [true, null]}), "a=1b=[true,null]"),
        ];
        for (value, wanted) in rows {
            assert_eq!(step(&value), wanted);
        }
    }
}
