//! Where a field is in a document.
//!
//! Decides what a reader is shown for a path: the value; the key of a value that begins below it; and, for a field that is
//! not there, the key under which it is missing.

use super::node::{Content, Node, Span};
use kubernetes::field::{Path, Segment};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The value is wrong.
    Value,
    /// The key should not be there.
    Key,
}

/// Returns where a reader should look for a path.
pub fn place(root: &Node, path: &Path, aim: Aim) -> Span {
    let mut node = root;
    let mut shown = root.entry("kind").map_or(root.span, |entry| entry.value.span);
    for segment in path.segments() {
        let name = match segment {
            Segment::Index(index) => {
                let Some(item) = node.items().get(*index) else {
                    return shown;
                };
                shown = first_line(item.span);
                node = item;
                continue;
            }
            Segment::Key(name) => name.as_ref(),
            Segment::Entry(name) => name.as_str(),
        };
        let Some(entry) = node.entry(name) else {
            return shown;
        };
        shown = entry.key;
        node = &entry.value;
    }
    match (aim, path.segments().last()) {
        (Aim::Key, Some(_) | None) | (Aim::Value, None) => shown,
        (Aim::Value, Some(_)) if begins_below(node, shown) => shown,
        (Aim::Value, Some(_)) => first_line(node.span),
    }
}

/// Returns the value at a path, if there is one.
pub(super) fn find<'n>(root: &'n Node, path: &Path) -> Option<&'n Node> {
    let mut steps = path.segments().iter();
    steps.try_fold(root, |node, segment| match segment {
        Segment::Index(index) => node.items().get(*index),
        Segment::Key(name) => Some(&node.entry(name)?.value),
        Segment::Entry(name) => Some(&node.entry(name)?.value),
    })
}

/// A block of lines under a key is best shown by its key; a value without a letter has nothing else to show.
fn begins_below(node: &Node, key: Span) -> bool {
    let is_empty = node.span.start == node.span.end;
    let is_block = match &node.content {
        Content::Scalar(_) => false,
        Content::List(_) | Content::Map(_) => node.span.start.line != key.start.line,
    };
    is_empty || is_block
}

/// What spans several lines is shown by its beginning.
fn first_line(span: Span) -> Span {
    if span.start.line == span.end.line {
        return span;
    }
    Span {
        start: span.start,
        end: span.start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read;
    use expect_test::{Expect, expect};

    const TEXT: &str = "\
apiVersion: v1
kind: Thing
metadata:
  name: t
  annotations:
    example.com/team: blue   # why not
spec:
  configs:
  - group: g
    name: \"a \\\"x\" # quoted
    other: 'it''s' # too
  - {group: h, name: b}
  limit: 130%
  long: |
    one
    two
  empty:
";

    fn check(path: &str, aim: Aim, expected: &Expect) {
        let reading = read(TEXT);
        let span = place(&reading.documents[0], &Path::parse(path), aim);
        let lines: Vec<&str> = TEXT.lines().collect();
        let line: Vec<char> = lines[span.start.line - 1].chars().collect();
        let end = if span.end.line == span.start.line {
            span.end.column - 1
        } else {
            line.len()
        };
        let shown: String = line[span.start.column - 1..end.max(span.start.column - 1)]
            .iter()
            .collect();
        expected.assert_eq(&format!("{}:{} {shown}", span.start.line, span.start.column));
    }

    #[test]
    fn a_path_leads_to_its_value_or_to_the_key_where_it_is_missing() {
        use Aim::{Key, Value};
        check("", Value, &expect!["2:7 Thing"]);
        check("kind", Value, &expect!["2:7 Thing"]);
        check(
            "metadata.annotations[example.com/team]",
            Value,
            &expect!["6:23 blue"],
        );
        check("spec.limit", Value, &expect!["13:10 130%"]);
        check("spec.limit", Key, &expect!["13:3 limit"]);
        check("spec.configs", Value, &expect!["8:3 configs"]);
        check("spec.configs[0]", Value, &expect!["9:5 "]);
        check("spec.configs[0].name", Value, &expect![[r#"10:11 "a \"x""#]]);
        check("spec.configs[0].other", Value, &expect!["11:12 'it''s'"]);
        check("spec.configs[1]", Value, &expect!["12:5 {group: h, name: b}"]);
        check("spec.configs[1].name", Value, &expect!["12:22 b"]);
        check(
            "spec.configs[1].namespace",
            Value,
            &expect!["12:5 {group: h, name: b}"],
        );
        check("spec.configs[7].name", Value, &expect!["8:3 configs"]);
        check("spec.rollout.type", Value, &expect!["7:1 spec"]);
        check("spec.long", Value, &expect!["15:5 "]);
        check("spec.empty", Value, &expect!["17:3 empty"]);
        check("status.conditions", Value, &expect!["2:7 Thing"]);
    }
}
