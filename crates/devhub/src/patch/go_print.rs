//! How Go prints values in texts (`%v`, `%q`), because patch errors quote whole objects that way.
//!
//! Decides nothing but the form.

use serde_json::{Number, Value};

/// Returns `value` as Go's `%v` prints a decoded JSON value: `map[a:1 b:[x y]]`.
pub fn value(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&self::number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_value(out, item);
            }
            out.push(']');
        }
    }
}

/// Returns `number` as Go's `%v` prints it: shortest digits, exponent form from 1e21 on.
pub fn number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let size = float.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return format!("{float}");
    }
    // Rust writes 1e21 and 1e-7, Go writes 1e+21 and 1e-07.
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, power) = exponent
                .strip_prefix('-')
                .map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{power:0>2}")
        }
        None => text,
    }
}

/// Returns `text` in double quotes, escaped as Go's `%q` does it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '\u{7f}' => out.extend([format!("\\x{:02x}", u32::from(letter))]),
            '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{feff}' => {
                out.extend([format!("\\u{:04x}", u32::from(letter))]);
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_like_go() {
        for (input, expected) in [
            (
                json!({"data": {"$retainKeys": ["q"], "q": "1"}}),
                "map[data:map[$retainKeys:[q] q:1]]",
            ),
            (json!({"data": {"n": 1}}), "map[data:map[n:1]]"),
            (json!([1, null, true, "x y", {}]), "[1 <nil> true x y map[]]"),
            (json!([1.5, 2.0, 1e21, 1e-7]), "[1.5 2 1e+21 1e-07]"),
        ] {
            assert_eq!(value(&input), expected);
        }
    }

    #[test]
    fn quotes_escape_control_letters() {
        assert_eq!(quote("a\n\"b\"\\\u{1}ä"), r#""a\n\"b\"\\\x01ä""#);
    }
}
