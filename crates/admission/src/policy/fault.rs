//! Faults of policies: the path of the field and, for an expression, the position in its text.

use api::v1alpha1::AddOnPolicySpec;
use kubernetes::field::{Path, one_line, same_width};
use std::fmt;

/// A position in the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caret {
    /// Line, from one.
    pub line: usize,
    /// Column, from one.
    pub column: usize,
    /// The line, and a second one whose `^` points at the position.
    pub text: String,
}

/// A fault of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyFault {
    /// The path of the field, such as `spec.validations[0].expression`.
    pub path: Path,
    /// What is wrong.
    pub message: String,
    /// The position in the expression, if it is a fault of an expression.
    pub caret: Option<Caret>,
}

impl PolicyFault {
    /// Returns a fault without a position in a text.
    pub(super) fn at(path: Path, message: impl Into<String>) -> Self {
        Self {
            path,
            message: message.into(),
            caret: None,
        }
    }

    /// Returns a fault at a position of an expression.
    pub(super) fn in_text(
        path: Path,
        (line, column): (isize, isize),
        message: impl Into<String>,
        source: &str,
    ) -> Self {
        let (line, column) = (
            usize::try_from(line).unwrap_or(1).max(1),
            usize::try_from(column).unwrap_or(1).max(1),
        );
        let shown = source.lines().nth(line - 1).unwrap_or_default();
        let dots = ".".repeat(column - 1);
        Self {
            path,
            message: message.into(),
            caret: Some(Caret {
                line,
                column,
                text: format!("{shown}\n{dots}^"),
            }),
        }
    }

    /// Parses the error of the compiler, which has a position for each fault.
    pub(super) fn of_compiler(path: &Path, words: &str, source: &str) -> Vec<Self> {
        let mut parts = words.split("ERROR: <input>:");
        let before = parts.next().unwrap_or_default().trim();
        let mut faults: Vec<Self> = parts.filter_map(|part| placed(path, part, source)).collect();
        if faults.is_empty() {
            faults.push(Self::at(path.clone(), before.to_owned()));
        }
        faults
    }

    /// Returns the fault on one line.
    pub fn one_line(&self) -> String {
        one_line(&match &self.caret {
            None => format!("{}: {}", self.path, self.message),
            Some(caret) => format!("{}:{}:{}: {}", self.path, caret.line, caret.column, self.message),
        })
    }
}

/// Returns the error of the parser without the list of all tokens that are possible at the position.
fn syntax(words: &str) -> String {
    let words = words
        .split_once(" expecting {")
        .map_or(words, |(before, _)| before);
    words
        .replace("mismatched input '<EOF>'", "unexpected end of the expression")
        .replace("'<EOF>'", "the end of the expression")
}

/// Parses `1:8: words`, and skips the lines below, which repeat the expression.
fn placed(path: &Path, part: &str, source: &str) -> Option<PolicyFault> {
    let first = part.lines().next()?;
    let mut pieces = first.splitn(3, ':');
    let line = pieces.next()?.parse().ok()?;
    let column = pieces.next()?.parse().ok()?;
    let words = syntax(pieces.next()?.trim());
    Some(PolicyFault::in_text(path.clone(), (line, column), words, source))
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.one_line())?;
        if let Some(caret) = &self.caret {
            for line in caret.text.lines() {
                write!(f, "\n | {}", same_width(line))?;
            }
        }
        Ok(())
    }
}

/// Returns the lines of a text as one; spaces within a line stay as they are.
pub(super) fn joined_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the ids of all checks.
pub(super) fn part_ids(spec: &AddOnPolicySpec) -> Vec<String> {
    let validations = spec.validations.iter().enumerate();
    let validations = validations.map(|(index, raw)| part_id(&raw.id, index));
    let schemas = spec.schemas.iter().enumerate();
    let schemas = schemas.map(|(index, raw)| schema_id(&raw.id, index));
    validations.chain(schemas).collect()
}

pub(super) fn schema_id(id: &str, index: usize) -> String {
    if id.is_empty() {
        format!("schema-{index}")
    } else {
        id.to_owned()
    }
}

pub(super) fn part_id(id: &str, index: usize) -> String {
    if id.is_empty() {
        index.to_string()
    } else {
        id.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_words_become_faults_with_a_caret() {
        let source = "object.";
        let words = "ERROR: <input>:1:8: Syntax error: x\n | object.\n | .......^";
        let faults = PolicyFault::of_compiler(&Path::parse("spec.a"), words, source);
        let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["spec.a:1:8: Syntax error: x\n | object.\n | .......^"]);
        let plain = PolicyFault::of_compiler(&Path::parse("spec.a"), "too long", source);
        assert_eq!(
            plain.first().map(PolicyFault::one_line).as_deref(),
            Some("spec.a: too long")
        );
    }
}
