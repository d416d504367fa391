//! How values and lists of values are written inside messages.
//!
//! Decides quoting and length. Never fails, whatever a value holds: one line comes out.

use serde_json::Value;

/// The longest rendered value; what is longer is cut, so that a message stays readable.
const VALUE_LIMIT: usize = 80;
/// The most values that a message lists.
const MOST_LISTED: usize = 8;

/// Returns a value as Kubernetes shows it in a field error: text in quotes and escaped, everything else as JSON.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            cut(&value.to_string(), VALUE_LIMIT)
        }
    }
}

/// Returns a number of things: `1 cluster`, `2 clusters`.
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Returns `text` in double quotes, on one line, cut when it is very long.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(VALUE_LIMIT) + 2);
    out.push('"');
    for (position, letter) in text.chars().enumerate() {
        if position == VALUE_LIMIT {
            out.push_str("...");
            break;
        }
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if breaks_the_line(letter) => out.extend(letter.escape_default()),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Returns `"a", "b" and 3 more` for a message that lists the legal values.
pub fn listed<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let values: Vec<&str> = values.into_iter().collect();
    let shown: Vec<String> = values
        .iter()
        .take(MOST_LISTED)
        .map(|value| quoted(value))
        .collect();
    let text = shown.join(", ");
    match values.len().checked_sub(MOST_LISTED) {
        None | Some(0) => text,
        Some(more) => format!("{text} and {more} more"),
    }
}

/// Cuts `text` to `limit` characters; a cut shows as three dots and counts.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(limit.saturating_sub(3)).collect();
    out.push_str("...");
    out
}

/// Returns `text` without anything that would break a line or a terminal.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if breaks_the_line(letter) { ' ' } else { letter })
        .collect()
}

// Besides the control characters these end a line (U+2028, U+2029) or turn the direction of what follows, which would
// let a value rewrite how the rest of the message looks.
fn breaks_the_line(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_stay_on_one_line_and_short() {
        assert_eq!(value(&json!("130%")), r#""130%""#);
        assert_eq!(value(&json!("a\n\"b\"")), r#""a\n\"b\"""#);
        assert_eq!(value(&json!(-1)), "-1");
        assert_eq!(value(&json!({"a": 1})), r#"{"a":1}"#);
        assert!(value(&json!("x".repeat(9000))).len() < 90);
        assert!(value(&json!(vec![7; 9000])).len() <= VALUE_LIMIT);
    }

    #[test]
    fn text_cannot_turn_the_rest_of_the_line_around() {
        assert_eq!(quoted("a\u{202e}b"), r#""a\u{202e}b""#);
    }

    #[test]
    fn long_lists_say_how_many_are_left_out() {
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert!(listed(names.iter().map(String::as_str)).ends_with(r#""7" and 2 more"#));
        assert_eq!(listed(["a", "b"]), r#""a", "b""#);
    }
}
