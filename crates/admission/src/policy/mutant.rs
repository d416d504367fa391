//! Mutation testing of policies: makes policies with one mistake, which the tests of the policy should detect.
//!
//! The mistakes are an inverted comparison, a bound that differs by one, a removed negation, "and" for "or", "all" for "exists", an empty
//! key, such as that of a label, and an empty pattern or prefix. They are made in the text, outside of comments and of other strings, so
//! that the position can be shown.

use serde_json::Value;

use super::document::is_policy;
use kubernetes::field::{Path, Segment};

/// A policy with one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Name of the policy.
    pub policy: String,
    /// The path of the changed expression.
    pub path: Path,
    /// Line in the expression, from one.
    pub line: usize,
    /// Column in the line, in characters from one.
    pub column: usize,
    /// The original text.
    pub was: String,
    /// The text of the mutant.
    pub instead: String,
    /// The policy with the mistake.
    pub document: Value,
}

/// Lists of a spec whose items have an expression, and the path of the expression in an item.
const EXPRESSIONS: [(&str, &str); 5] = [
    ("matchConditions", "/expression"),
    ("variables", "/expression"),
    ("validations", "/expression"),
    ("mutations", "/jsonPatch/expression"),
    ("mutations", "/applyConfiguration/expression"),
];

/// Returns every mutant of a policy, in the order of its text; none for another document.
pub fn mutants(document: &Value) -> Vec<Mutant> {
    let mut all = Vec::new();
    if !is_policy(document) {
        return all;
    }
    for (list, inner) in EXPRESSIONS {
        let items = document
            .pointer(&format!("/spec/{list}"))
            .and_then(Value::as_array);
        for (index, item) in items.into_iter().flatten().enumerate() {
            let Some(text) = item.pointer(inner).and_then(Value::as_str) else {
                continue;
            };
            let pointer = format!("/spec/{list}/{index}{inner}");
            let path = Path::parse("spec").key(list).index(index);
            let members = inner.split('/').skip(1);
            let path = members.fold(path, |path, member| {
                path.step(Segment::Key(member.to_owned().into()))
            });
            all.extend(mistakes(text).filter_map(|mistake| mistake.made(document, text, &pointer, &path)));
        }
    }
    all
}

/// A token that can be replaced.
struct Mistake {
    start: usize,
    end: usize,
    instead: String,
}

impl Mistake {
    fn made(&self, document: &Value, text: &str, pointer: &str, path: &Path) -> Option<Mutant> {
        let (head, was, tail) = (
            text.get(..self.start)?,
            text.get(self.start..self.end)?,
            text.get(self.end..)?,
        );
        let mut document = document.clone();
        *document.pointer_mut(pointer)? = Value::String(format!("{head}{}{tail}", self.instead));
        let last_line = head.rsplit('\n').next().unwrap_or_default();
        Some(Mutant {
            policy: document.pointer("/metadata/name")?.as_str()?.to_owned(),
            path: path.clone(),
            line: head.matches('\n').count().saturating_add(1),
            column: last_line.chars().count().saturating_add(1),
            was: was.to_owned(),
            instead: self.instead.clone(),
            document,
        })
    }
}

fn mistakes(text: &str) -> impl Iterator<Item = Mistake> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before: Vec<&str> = Vec::new();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = token(rest);
        let end = at.saturating_add(length);
        let word = rest.get(..length).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default().trim_start();
        if let Some(instead) = instead(&before, word, after) {
            found.push(Mistake {
                start: at,
                end,
                instead,
            });
        }
        if !word.trim().is_empty() {
            before.push(word);
        }
        at = end;
    }
    found.into_iter()
}

/// Returns the replacement of a token, given the tokens before it and the text after it.
fn instead(before: &[&str], word: &str, after: &str) -> Option<String> {
    let (is_member, is_called) = (before.last() == Some(&"."), after.starts_with('('));
    let other = match word {
        "&&" => "||",
        "||" => "&&",
        "==" => "!=",
        "!=" => "==",
        "<" => "<=",
        "<=" => "<",
        ">" => ">=",
        ">=" => ">",
        "!" => "",
        "true" if !is_member => "false",
        "false" if !is_member => "true",
        "all" if is_member && is_called => "exists",
        "exists" if is_member && is_called => "all",
        text if string(text).is_some_and(|length| length > EMPTY.len()) && is_key_or_pattern(before) => EMPTY,
        number => {
            return number
                .parse::<u32>()
                .ok()
                .map(|number| number.saturating_add(1).to_string());
        }
    };
    Some(other.to_owned())
}

/// An empty string: a key that no map has, and a pattern that every text matches.
const EMPTY: &str = "''";

/// Returns whether a string is a key of a map, or the pattern of a test of a text, given the tokens before it.
fn is_key_or_pattern(before: &[&str]) -> bool {
    let of_map =
        |map: &str| map != "in" && map.ends_with(|last: char| last.is_alphanumeric() || "_)]".contains(last));
    match before {
        [.., map, "["] | [.., map, "[", "?"] => of_map(map),
        [.., ".", call, "("] => ["matches", "startsWith", "endsWith", "contains"].contains(call),
        _ => false,
    }
}

/// Returns the length of the first token of a non-empty text, in bytes; at least 1.
fn token(text: &str) -> usize {
    let length_while = |belongs: fn(char) -> bool| text.find(|c| !belongs(c)).unwrap_or(text.len());
    if text.starts_with("//") {
        return length_while(|c| c != '\n');
    }
    if let Some(length) = string(text) {
        return length;
    }
    let Some(first) = text.chars().next() else {
        return 0;
    };
    if first.is_ascii_alphanumeric() || first == '_' {
        // A number with a fraction or a unit is one token, and is not changed.
        let is_number = first.is_ascii_digit();
        let word = length_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let fraction = text
            .get(word..)
            .filter(|_| is_number)
            .and_then(|rest| rest.strip_prefix('.'));
        let digits = fraction.map_or(0, |rest| {
            rest.find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len())
        });
        return if digits > 0 {
            word.saturating_add(digits).saturating_add(1)
        } else {
            word
        };
    }
    let pair = ["&&", "||", "==", "!=", "<=", ">="]
        .into_iter()
        .find(|pair| text.starts_with(pair));
    pair.map_or_else(|| first.len_utf8(), str::len)
}

/// Returns the length of a string at the beginning of a text, with its prefix and its quotes.
fn string(text: &str) -> Option<usize> {
    let quotes = text.find(['\'', '"'])?;
    let prefix = text.get(..quotes)?;
    let raw = prefix.contains(['r', 'R']);
    if prefix.len() > 2 || !prefix.chars().all(|c| "rRbB".contains(c)) {
        return None;
    }
    let body = text.get(quotes..)?;
    let mark = ["'''", "\"\"\"", "'", "\""]
        .into_iter()
        .find(|mark| body.starts_with(mark))?;
    let mut at = quotes.saturating_add(mark.len());
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(mark) {
            return Some(at.saturating_add(mark.len()));
        }
        let escaped = usize::from(!raw && rest.starts_with('\\'));
        let taken: usize = rest
            .chars()
            .take(escaped.saturating_add(1))
            .map(char::len_utf8)
            .sum();
        at = at.saturating_add(taken);
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the mutants of one expression.
    fn of(expression: &str) -> Vec<String> {
        let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": "p"}, "spec": {"validations": [{"expression": expression}]}});
        let made = mutants(&document).into_iter();
        made.map(|mutant| {
            mutant.document["spec"]["validations"][0]["expression"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
    }

    #[test]
    fn every_operator_is_mistaken_once() {
        for (expression, expected) in [
            ("a && b", vec!["a || b"]),
            ("a == 'x'", vec!["a != 'x'"]),
            ("a.size() <= 10", vec!["a.size() < 10", "a.size() <= 11"]),
            (
                "!a || b < 2.5",
                vec!["a || b < 2.5", "!a && b < 2.5", "!a || b <= 2.5"],
            ),
            ("x.all(y, y.exists)", vec!["x.exists(y, y.exists)"]),
            ("has(a.b) ? true : a.true", vec!["has(a.b) ? false : a.true"]),
            ("a1.b2", vec![]),
            ("a.?b[?'c'].orValue('')", vec!["a.?b[?''].orValue('')"]),
            ("a['b'] in ['c', d]", vec!["a[''] in ['c', d]"]),
            ("a.b().matches(r'^c$')", vec!["a.b().matches('')"]),
            (
                "a.startsWith('') && f(a, 'b')",
                vec!["a.startsWith('') || f(a, 'b')"],
            ),
        ] {
            assert_eq!(of(expression), expected, "{expression}");
        }
    }

    #[test]
    fn strings_and_comments_are_left_alone() {
        for expression in [
            "'a && b'",
            r#""it\"s == 1""#,
            r"r'\' ",
            "b'!true'",
            "'''x\n'<' '''",
            "a // && 1 == 2",
            "\"never closed == 1",
        ] {
            assert_eq!(of(expression), Vec::<String>::new(), "{expression}");
        }
        assert_eq!(of("'é' == a // <"), ["'é' != a // <"]);
    }

    #[test]
    fn a_mutant_has_a_position() {
        let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": "p"}, "spec": {"mutations": [{"jsonPatch": {"expression": "[a,\n b == c]"}}]}});
        let made = mutants(&document);
        let found: Vec<String> = made
            .iter()
            .map(|one| format!("{} {}:{} {}", one.path, one.line, one.column, one.was))
            .collect();
        assert_eq!(found, ["spec.mutations[0].jsonPatch.expression 2:4 =="]);
        assert!(mutants(&json!({"kind": "ConfigMap"})).is_empty());
    }
}
