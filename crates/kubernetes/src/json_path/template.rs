//! Templates of `-o jsonpath`, as `kubectl get` reads them.
//!
//! Text, paths in braces, quoted text in braces, and `{range …}{end}`. A missing field is empty text.

use std::fmt::Write as _;

use serde_json::Value;

use super::parse::JsonPath;

/// How deep ranges can be nested.
const DEEPEST: usize = 8;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Found(JsonPath),
    Each(JsonPath, Vec<Self>),
}

impl Template {
    /// Parses a template such as `{range .items[*]}{.target.name}{"\n"}{end}`. Without braces, all of it is a path.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('{') {
            let dot = if text.starts_with(['.', '[', '$']) {
                ""
            } else {
                "."
            };
            return Ok(Self(vec![Piece::Found(JsonPath::parse(&format!(
                "{dot}{text}"
            ))?)]));
        }
        let mut open: Vec<(JsonPath, Vec<Piece>)> = Vec::new();
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let (action, behind) = action(after)?;
            rest = behind;
            let action = action.trim();
            if let Some(path) = action.strip_prefix("range ") {
                if open.len() >= DEEPEST {
                    return Err(format!("more than {DEEPEST} ranges are nested"));
                }
                open.push((JsonPath::parse(path.trim())?, std::mem::take(&mut pieces)));
            } else if action == "end" {
                let (path, outer) = open.pop().ok_or("{end} without {range}")?;
                let inner = std::mem::replace(&mut pieces, outer);
                pieces.push(Piece::Each(path, inner));
            } else if action.starts_with(['"', '\'']) {
                pieces.push(Piece::Text(unquoted(action)));
            } else {
                pieces.push(Piece::Found(JsonPath::parse(action)?));
            }
        }
        if !open.is_empty() {
            return Err("{range} without {end}".to_owned());
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// Returns the text for a document.
    ///
    /// # Errors
    ///
    /// Fails if a path does not fit the document.
    pub fn render(&self, document: &Value) -> Result<String, String> {
        let mut out = String::new();
        put(&mut out, &self.0, document)?;
        Ok(out)
    }
}

/// Returns what is before the brace that closes an action, and what is behind it. A brace in quotes closes nothing.
fn action(text: &str) -> Result<(&str, &str), String> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', Some(_)) => is_escaped = true,
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            ('}', None) => {
                let (action, behind) = text.split_at(at);
                return Ok((action, behind.strip_prefix('}').unwrap_or(behind)));
            }
            (_, _) => {}
        }
    }
    Err("a brace is not closed".to_owned())
}

fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.trim_matches(['"', '\'']).chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(match letters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            }),
            letter => out.push(letter),
        }
    }
    out
}

fn put(out: &mut String, pieces: &[Piece], value: &Value) -> Result<(), String> {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Found(path) => {
                let found = path.find(value)?;
                for (at, one) in found.into_iter().enumerate() {
                    let between = if at == 0 { "" } else { " " };
                    let written = match one {
                        Value::Null => Ok(()),
                        Value::String(text) => write!(out, "{between}{text}"),
                        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                            write!(out, "{between}{one}")
                        }
                    };
                    written.map_err(|error| error.to_string())?;
                }
            }
            Piece::Each(path, inner) => {
                for one in path.find(value)? {
                    put(out, inner, one)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_select_as_in_kubectl() {
        let document = json!({"kind": "RolloutList", "items": [
            {"name": "a", "counts": {"done": 1}, "paused": null}, {"name": "b", "counts": {"done": 2}}]});
        for (template, expected) in [
            ("{.items[*].name}", "a b"),
            (".items[1].name", "b"),
            ("kind", "RolloutList"),
            ("{.items[0].counts}", "{\"done\":1}"),
            ("{.items[0].missing}", ""),
            ("{.items[0].paused}", ""),
            ("kind={.kind}!", "kind=RolloutList!"),
            (
                "{range .items[*]}{.name}{\"\\t\"}{.counts.done}{\"\\n\"}{end}",
                "a\t1\nb\t2\n",
            ),
            ("{'}'}{.items[?(@.name==\"b\")].counts.done}", "}2"),
        ] {
            let parsed = Template::parse(template).expect(template);
            assert_eq!(parsed.render(&document), Ok(expected.to_owned()), "{template}");
        }
    }

    #[test]
    fn a_wrong_template_is_an_error() {
        for (template, expected) in [
            ("{.items", "a brace is not closed"),
            ("{range .items[*]}{.name}", "{range} without {end}"),
            ("{end}", "{end} without {range}"),
        ] {
            assert_eq!(Template::parse(template), Err(expected.to_owned()));
        }
        assert!(Template::parse("{.items[}").is_err());
    }
}
