//! Decoded JSON values.
//!
//! Decides the forms of `%v` and `%#v`, and the names of types.

use serde_json::{Number, Value};

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

/// Returns a floating point number as Go's `%v` prints it: shortest form, with an exponent from 1e21 and below 1e-4.
pub fn float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return number.to_string();
    }
    // Rust writes 1e21 and 1e-7, Go writes 1e+21 and 1e-07.
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |power| ('-', power));
    format!("{digits}e{sign}{power:0>2}")
}

/// Returns a JSON number as Go prints the `int64` or `float64` that Kubernetes decodes it to.
pub fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(real)) => float(real),
        (None, None) => number.to_string(),
    }
}

/// Returns a text as `%q` prints it: what cannot be printed is escaped, in Go's spelling.
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
            _ if is_printable(letter) => out.push(letter),
            _ => out.push_str(&escaped(letter)),
        }
    }
    out.push('"');
    out
}

fn escaped(letter: char) -> String {
    match u32::from(letter) {
        code @ ..0x80 => format!("\\x{code:02x}"),
        code @ 0x80..0x1_0000 => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Letters, marks, numbers, punctuation, symbols, and of all spaces the ASCII one: Rust and Go agree, but that Rust escapes a
/// mark that begins a text.
fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let after_another: String = ['a', letter].iter().collect();
    after_another.escape_debug().nth(1) == Some(letter)
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

#[cfg(test)]
mod number_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_look_as_in_go() {
        let rows = [
            (json!(1.1), "1.1"),
            (json!(5.0), "5"),
            (json!(-3), "-3"),
            (json!(0.0), "0"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "100000000000000000000"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(u64::MAX), "18446744073709552000"),
        ];
        for (value, text) in rows {
            assert_eq!(value.as_number().map(number).as_deref(), Some(text));
        }
    }
}

#[cfg(test)]
mod quote_tests {
    use super::*;

    #[test]
    fn what_cannot_be_printed_is_escaped() {
        let rows = [
            ("a\n\"b\"\\\u{1}\u{7f}ä'", r#""a\n\"b\"\\\x01\x7fä'""#),
            ("\u{7}\u{8}\t\u{b}\u{c}\r", r#""\a\b\t\v\f\r""#),
            (
                "\u{85}\u{a0}\u{ad}\u{200b}\u{feff}",
                r#""\u0085\u00a0\u00ad\u200b\ufeff""#,
            ),
            ("e\u{301} 名 🦀", "\"e\u{301} 名 🦀\""),
            ("\u{e0001}", r#""\U000e0001""#),
        ];
        for (text, wanted) in rows {
            assert_eq!(quote(text), wanted);
        }
    }
}
