//! Patterns of schemas, in the dialect of Go.
//!
//! Decides how a Go (RE2) pattern is spelled for the `regex` crate; never decides what a mismatch means.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

/// Most memory that one compiled pattern may take, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// How many compiled patterns are shared.
const MOST_SHARED: usize = 64;

/// A pattern, as written and compiled.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern; the error reads as Go's `regexp.Compile` would put it, where that is known.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The versions of a CRD, and CRDs that share types, repeat their patterns.
        static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let regex = match compiled.get(text) {
            Some(regex) => regex.clone(),
            None => compile(text)?,
        };
        if compiled.len() < MOST_SHARED {
            compiled.insert(text.to_owned(), regex.clone());
        }
        drop(compiled);
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }

    /// Returns the pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Tells whether the pattern occurs in `subject`.
    pub fn matches(&self, subject: &str) -> bool {
        self.regex.is_match(subject)
    }
}

/// Compiles a Go pattern with the `regex` crate: ASCII `\d`, `\w`, `\s` and literal brackets inside classes.
pub fn compile(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translate(text))
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| explain(text, &error))
}

fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut letters = text.chars().peekable();
    // Position inside a class: 0 outside, 1 right after its start, 2 further in.
    let mut class = 0_u8;
    while let Some(letter) = letters.next() {
        let at_start = class == 1;
        match letter {
            '\\' => {
                push_escape(&mut out, letters.next(), class > 0);
                class = class.saturating_mul(2).min(2);
            }
            '[' if class == 0 => {
                out.push('[');
                if letters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                class = 1;
            }
            '[' if letters.peek() == Some(&':') => {
                out.push('[');
                push_posix_name(&mut out, &mut letters);
                class = 2;
            }
            ']' if class > 0 && !at_start => {
                out.push(']');
                class = 0;
            }
            '[' | ']' | '&' | '~' if class > 0 => {
                out.push('\\');
                out.push(letter);
                class = 2;
            }
            _ => {
                out.push(letter);
                class = class.saturating_mul(2).min(2);
            }
        }
    }
    out
}

/// Copies the rest of a POSIX name such as `[:alpha:]`, which ends with its own bracket.
fn push_posix_name(out: &mut String, letters: &mut impl Iterator<Item = char>) {
    for letter in letters {
        out.push(letter);
        if letter == ']' {
            return;
        }
    }
}

fn push_escape(out: &mut String, escaped: Option<char>, in_class: bool) {
    match escaped {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str("[\\t\\n\\x0C\\r ]"),
        Some('S') => out.push_str("[^\\t\\n\\x0C\\r ]"),
        Some('b') if !in_class => out.push_str("(?-u:\\b)"),
        Some(other) => {
            out.push('\\');
            out.push(other);
        }
        None => out.push('\\'),
    }
}

/// Returns the message that Go has for an error. The most frequent errors are distinguished; others keep the crate's message.
fn explain(text: &str, error: &regex::Error) -> String {
    let words = error.to_string();
    let tail_from = |bracket: char| {
        text.rfind(bracket)
            .and_then(|at| text.get(at..))
            .unwrap_or(text)
            .to_owned()
    };
    let (fault, part) = if words.contains("unclosed character class") {
        ("missing closing ]", tail_from('['))
    } else if words.contains("unclosed group") {
        ("missing closing )", text.to_owned())
    } else if words.contains("unopened group") {
        ("unexpected )", text.to_owned())
    } else if words.contains("repetition operator missing expression") {
        (
            "missing argument to repetition operator",
            text.chars().find(|c| "*+?".contains(*c)).into_iter().collect(),
        )
    } else if words.contains("look-around") {
        ("invalid or unsupported Perl syntax", tail_from('('))
    } else if words.contains("exceeds size limit") {
        ("expression too large", text.to_owned())
    } else {
        return words
            .lines()
            .last()
            .unwrap_or("invalid pattern")
            .trim()
            .to_owned();
    };
    format!("error parsing regexp: {fault}: `{part}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ascii_and_brackets_in_them_are_literal() {
        let rows = [
            (r"^\d+$", "42", true),
            (r"^\d+$", "\u{664}", false),
            (r"^[\w-]+$", "a-b_9", true),
            (r"^[[a]+$", "[a", true),
            (r"^[]a]+$", "]a", true),
            (r"^[a&&b]+$", "&", true),
            (r"^[[:alpha:]]+$", "az", true),
            (r"^[^\s]+$", "a b", false),
            (r"\bcat\b", "a cat.", true),
        ];
        for (pattern, subject, wanted) in rows {
            let pattern = Pattern::parse(pattern).expect(pattern);
            assert_eq!(
                pattern.matches(subject),
                wanted,
                "{} on {subject:?}",
                pattern.text()
            );
        }
    }

    #[test]
    fn refusals_read_like_go() {
        let rows = [
            ("[", "error parsing regexp: missing closing ]: `[`"),
            ("a(b", "error parsing regexp: missing closing ): `a(b`"),
            (
                "*a",
                "error parsing regexp: missing argument to repetition operator: `*`",
            ),
        ];
        for (pattern, text) in rows {
            assert_eq!(Pattern::parse(pattern).expect_err(pattern), text);
        }
    }
}
