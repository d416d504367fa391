//! What an unquoted word of YAML means.
//!
//! Decides it as the YAML reader of kubectl does, which speaks YAML 1.1: `yes` and `on` are true, `017` is fifteen. What
//! another reader would take for text is what kubectl would send, and so is what is judged here.

use serde_json::{Number, Value};

/// What an explicit tag asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing: the looks decide.
    Any,
    /// Text, whatever it looks like.
    Text,
}

/// Returns the value of an unquoted scalar, or why JSON cannot hold it.
pub(super) fn plain(text: &str, wanted: Wanted) -> Result<Value, String> {
    if wanted == Wanted::Text {
        return Ok(Value::String(text.to_owned()));
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Value::Bool(false));
        }
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(&unsigned) {
        return Err(format!("{text} is a number that JSON cannot represent"));
    }
    let looks_like_a_number = unsigned
        .strip_prefix('.')
        .unwrap_or(unsigned)
        .starts_with(|first: char| first.is_ascii_digit());
    let number = looks_like_a_number
        .then(|| integer(text).or_else(|| fraction(text)))
        .flatten();
    Ok(number.map_or_else(|| Value::String(text.to_owned()), Value::Number))
}

fn integer(text: &str) -> Option<Number> {
    let clean: String = text.chars().filter(|letter| *letter != '_').collect();
    let (negative, digits) = clean.strip_prefix('-').map_or_else(
        || (false, clean.strip_prefix('+').unwrap_or(&clean)),
        |rest| (true, rest),
    );
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0b", 2), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (radix, rest)))
        .unwrap_or_else(|| match lower.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (8, rest),
            Some(_) | None => (10, lower.as_str()),
        });
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        let negated = i64::try_from(-i128::from(size)).ok()?;
        return Some(Number::from(negated));
    }
    Some(Number::from(size))
}

fn fraction(text: &str) -> Option<Number> {
    let is_one = text
        .chars()
        .all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E' | '+' | '-'));
    let number: f64 = is_one.then(|| text.parse().ok()).flatten()?;
    Number::from_f64(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_mean_what_kubectl_reads() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("yes", json!(true)),
            ("off", json!(false)),
            ("true", json!(true)),
            ("25%", json!("25%")),
            ("25", json!(25)),
            ("-5", json!(-5)),
            ("+5", json!(5)),
            ("017", json!(15)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000.0)),
            ("1.2.3", json!("1.2.3")),
            ("089", json!(89.0)),
            ("5m", json!("5m")),
            ("2026-01-01", json!("2026-01-01")),
            ("-", json!("-")),
            (".", json!(".")),
            ("e5", json!("e5")),
            ("banana", json!("banana")),
        ] {
            assert_eq!(plain(text, Wanted::Any), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_json_cannot_hold_is_a_fault_and_a_tag_makes_text_of_anything() {
        for text in [".inf", "-.Inf", ".nan"] {
            assert!(plain(text, Wanted::Any).is_err(), "{text}");
        }
        assert_eq!(plain("25", Wanted::Text), Ok(json!("25")));
        assert_eq!(
            plain("99999999999999999999", Wanted::Any),
            Ok(json!(99_999_999_999_999_999_999_f64))
        );
    }
}
