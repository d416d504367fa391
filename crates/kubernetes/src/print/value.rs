//! Decoded JSON values.
//!
//! Decides the forms of `%v` and `%#v`, and the names of types.

use serde_json::Value;

use super::quote;

/// Returns a value as `%v` prints it: `map[a:1 b:[x y]]`.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => super::number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name}:{}", plain(value)))
                .collect();
            format!("map[{}]", members.join(" "))
        }
    }
}

/// Returns a value as `%#v` prints it.
pub fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => super::number(number),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(syntax).collect();
            format!("{}{{{}}}", type_name(value), items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", quote(name), syntax(value)))
                .collect();
            format!("{}{{{}}}", type_name(value), members.join(", "))
        }
    }
}

/// Returns the name of a value's type, as Kubernetes' messages spell it.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_in_go() {
        let rows = [
            (
                json!({"data": {"$retainKeys": ["q"], "q": "1"}}),
                "map[data:map[$retainKeys:[q] q:1]]",
            ),
            (json!([1, null, true, "x y", {}]), "[1 <nil> true x y map[]]"),
            (json!([1.5, 2.0, 1e21, 1e-7]), "[1.5 2 1e+21 1e-07]"),
        ];
        for (value, wanted) in rows {
            assert_eq!(plain(&value), wanted);
        }
        assert_eq!(
            syntax(&json!({"a": [1, null, "x"]})),
            r#"map[string]interface {}{"a":[]interface {}{1, interface {}(nil), "x"}}"#
        );
    }
}
