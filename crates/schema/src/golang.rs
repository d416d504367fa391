//! Prints values the way Go prints them inside Kubernetes' error texts.
//!
//! Decides quoting, number forms and member order; never decides what an error is.

use serde_json::{Number, Value};
use std::fmt::Write as _;

/// Quotes a string as Go's `%q` does.
pub(crate) fn quote(text: &str) -> String {
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
            control if control.is_control() => push_escape(&mut out, control),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn push_escape(out: &mut String, letter: char) {
    let code = u32::from(letter);
    // Writing to a String cannot fail.
    let _ = if code < 0x80 {
        write!(out, "\\x{code:02x}")
    } else {
        write!(out, "\\u{code:04x}")
    };
}

/// Prints a floating point number as Go's `%v` does: shortest form, exponent from 1e21 and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = match exponent.strip_prefix('-') {
            Some(power) => ('-', power),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{power:0>2}");
    }
    format!("{number}")
}

/// Prints a JSON number as Go prints the `int64` or `float64` that it decodes to.
pub(crate) fn number(value: &Number) -> String {
    match (value.as_i64(), value.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(real)) => float(real),
        (None, None) => value.to_string(),
    }
}

/// Prints a value as the `BadValue` of a field error: strings quoted, composites as JSON.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(digits) => number(digits),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => json(value),
    }
}

/// Encodes a value as Go's `encoding/json` does: members sorted, `<`, `>` and `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Value::Number(digits) => out.push_str(&number(digits)),
        Value::String(text) => write_json_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|left, right| left.0.cmp(right.0));
            out.push('{');
            for (at, (name, member)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json_string(out, name);
                out.push(':');
                write_json(out, member);
            }
            out.push('}');
        }
    }
}

fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_look_like_go() {
        let rows = [
            (1.1, "1.1"),
            (5.0, "5"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1.5e-7, "1.5e-07"),
        ];
        for (number, text) in rows {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn composites_are_sorted_json_with_html_escapes() {
        assert_eq!(
            value(&json!({"b": 1, "a": "x > y"})),
            r#"{"a":"x \u003e y","b":1}"#
        );
        assert_eq!(value(&json!("a\n\"b\"")), r#""a\n\"b\"""#);
        assert_eq!(value(&json!(null)), "null");
    }
}
