//! How text of others is written where people and programs read it: values, lists, lines, pages.
//!
//! Decides quoting, length, and what is never shown as it is: whatever ends a line, moves a cursor, turns the direction of what
//! follows, or cannot be seen. Letters of every language stay. Never fails, whatever a value holds.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// The longest rendered value; what is longer is cut, so that a message stays readable.
const VALUE_LIMIT: usize = 80;
/// The most values that a message lists.
const MOST_LISTED: usize = 8;

/// Tells whether a letter does something to its reader instead of being one: all control characters (C0, DEL, C1), the
/// separators of lines and paragraphs, marks and turns of the writing direction, and what has no width. The two joiners
/// (U+200C, U+200D) stay: names of some languages cannot be written without them.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns a value as Kubernetes shows it in a field error: text in quotes and escaped, everything else as JSON.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            cut(&json_escaped(&value.to_string()), VALUE_LIMIT)
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
            _ if acts(letter) => out.extend(letter.escape_default()),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Returns `"a", "b" and 3 more` for a message that lists the legal values.
pub fn listed<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let values: Vec<&str> = values.into_iter().collect();
    listed_of(values.iter(), values.len())
}

/// Returns `"a", "b" and 3 more` of `count` values, of which no more are read than are shown.
pub fn listed_of<T: AsRef<str>>(values: impl Iterator<Item = T>, count: usize) -> String {
    let shown: Vec<String> = values
        .take(MOST_LISTED)
        .map(|value| quoted(value.as_ref()))
        .collect();
    let text = shown.join(", ");
    match count.checked_sub(MOST_LISTED) {
        None | Some(0) => text,
        Some(more) => format!("{text} and {more} more"),
    }
}

/// Cuts `text` to `limit` characters; a cut shows as three dots and counts.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(limit.saturating_sub(3)).collect();
    out.push_str("...");
    out
}

/// How much of a list a text shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// The first entries, and how many more there are.
    #[default]
    Short,
    /// Every entry.
    Whole,
}

impl Listing {
    /// Returns how many entries are shown where a short list has so many.
    pub const fn most(self, short: usize) -> usize {
        match self {
            Self::Short => short,
            Self::Whole => usize::MAX,
        }
    }
}

/// What stands for the middle of a text that is left out.
const GAP: &str = " ... ";
/// Hexadecimal digits of a digest that stay when it is shortened.
const DIGEST: usize = 8;

/// Returns `text` with at most `limit` bytes. Messages end with the cause, so the end stays: digests are shortened first, then the
/// middle is left out.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let text = short_digests(text);
    if text.len() <= limit {
        return text;
    }
    let kept = limit.saturating_sub(GAP.len());
    let head = text.floor_char_boundary(kept / 3);
    let tail = text.len().saturating_sub(kept.saturating_sub(kept / 3));
    let tail = text.ceil_char_boundary(tail);
    let part = |range: Option<&str>| range.unwrap_or_default().trim().to_owned();
    format!("{}{GAP}{}", part(text.get(..head)), part(text.get(tail..)))
}

/// Returns a text in which digests (`sha256:` and 64 digits) have their first digits only.
pub fn short_digests(text: &str) -> String {
    const MARK: &str = "sha256:";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        out.push_str(before);
        out.push_str(MARK);
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (digest, behind) = after.split_at(digits);
        match digest.get(..DIGEST).filter(|_| digits == 64) {
            Some(first) => out.extend([first, "..."]),
            None => out.push_str(digest),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Returns `text` on one line: what would end the line is a blank, what would act otherwise is written as its number.
pub fn one_line(text: &str) -> String {
    escaped(text, |letter| match letter {
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(" "),
        _ => None,
    })
    .into_owned()
}

/// Returns `text` with its lines, and nothing else that acts: that is written as its number.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| match letter {
        '\n' => Some("\n"),
        '\t' => Some(" "),
        _ => None,
    })
}

/// Returns a line of a file with a dot for all that acts: so columns stay where they are.
pub fn same_width(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '\t' => ' ',
            _ if acts(letter) => '\u{b7}',
            _ => letter,
        })
        .collect()
}

/// Returns a text of JSON in which nothing acts: only texts of JSON can hold such letters, where their numbers mean the same.
pub fn json_escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter == '\n' || !acts(letter) {
            out.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
        }
    }
    out
}

fn escaped(text: &str, instead: impl Fn(char) -> Option<&'static str>) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match instead(letter) {
            Some(other) => out.push_str(other),
            None if acts(letter) => out.extend(letter.escape_unicode()),
            None => out.push(letter),
        }
    }
    Cow::Owned(out)
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
        assert_eq!(value(&json!(["\u{9b}2J"])), r#"["\u009b2J"]"#);
        assert!(value(&json!("x".repeat(9000))).len() < 90);
        assert!(value(&json!(vec![7; 9000])).len() <= VALUE_LIMIT);
    }

    #[test]
    fn a_text_that_is_shortened_keeps_its_end() {
        let digest = "0123456789abcdef".repeat(4);
        let text = format!(
            "Preconditions failed for payload version=\"4.12.0\" image=\"r.example.com/ocp@sha256:{digest}\": Precondition \"X\" \
             failed because of \"AdminAckRequired\": operator foo blocks"
        );
        assert_eq!(shortened(&text, 500), text);
        let digests = shortened(&text, 180);
        assert!(
            digests.contains("ocp@sha256:01234567...\": Precondition")
                && digests.starts_with("Preconditions failed for payload"),
            "{digests}"
        );
        for limit in [60, 100, 150] {
            let short = shortened(&text, limit);
            assert!(short.chars().count() <= limit, "{short}");
            assert!(short.ends_with("operator foo blocks"), "{short}");
        }
        assert_eq!(short_digests("sha256:abc and sha256:"), "sha256:abc and sha256:");
        assert!(shortened(&"ä".repeat(9000), 100).len() <= 100);
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

    #[test]
    fn no_way_of_writing_lets_anything_act() {
        let every: String = (0..=0x000f_ffff)
            .filter_map(char::from_u32)
            .filter(|letter| acts(*letter))
            .collect();
        assert!(every.chars().count() > 200);
        for (way, text) in [
            (
                "quoted",
                every.chars().map(|letter| quoted(&letter.to_string())).collect(),
            ),
            ("one_line", one_line(&every)),
            ("same_width", same_width(&every)),
            ("lines", lines(&every).replace('\n', "")),
            ("json", json_escaped(&every).replace('\n', "")),
            ("value", value(&json!([every]))),
        ] {
            let left: Vec<char> = text.chars().filter(|letter| acts(*letter)).collect();
            assert_eq!(left, [], "{way}");
        }
    }

    #[test]
    fn letters_of_every_language_stay() {
        for text in [
            "Größe",
            "キルト",
            "हिन्दी",
            "عربى",
            "עברית",
            "می\u{200c}خواهم",
            "👩\u{200d}🚀",
            "é",
            "a\u{301}",
        ] {
            assert_eq!(one_line(text), text);
            assert_eq!(lines(text), text);
            assert_eq!(same_width(text), text);
            assert_eq!(quoted(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = json!({"a\u{1b}": "x\n\u{9b}\u{202e}\u{e0041}\u{feff} \u{7f}"});
        let text = json_escaped(&format!("{value:#}"));
        assert!(
            !text.chars().any(|letter| letter != '\n' && acts(letter)),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn line_breaks_become_blanks_and_the_rest_is_counted() {
        assert_eq!(
            one_line("a\r\nb\u{1b}[2Jc\u{2028}d\u{9b}e"),
            "a  b\\u{1b}[2Jc d\\u{9b}e"
        );
        assert_eq!(lines("a\nb\rc\td"), "a\nb\\u{d}c d");
        assert_eq!(same_width("a\u{1b}b\tc"), "a·b c");
    }
}
