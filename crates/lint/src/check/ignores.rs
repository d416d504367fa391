//! Comments that say which findings are meant: `# tidegate:ignore RULE REASON`.
//!
//! Decides how far a comment reaches: behind something, its line; alone on a line, what stands below it, with all that is indented
//! deeper. One that ignores nothing, names a rule that is not there, or gives no reason is a finding itself.

use std::collections::BTreeSet;

use crate::report::{Finding, ObjectReference, Severity, Spot};
use admission::{Rulebook, catalogue};
use kubernetes::field::{cut, nearest, quoted};

/// What begins such a comment.
const WORD: &str = "tidegate:ignore";
const UNKNOWN: &str = "ignore/unknown-rule";
const REASONLESS: &str = "ignore/without-reason";
const UNUSED: &str = "ignore/unused";
/// Rules that no catalogue has: `check` tells them.
const OWN: &[&str] = &[
    "facts/unknown",
    "metadata/defined-twice",
    "metadata/no-namespace",
    "metadata/value",
    "policy/compile",
    "policy/former-group",
];

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comment<'f> {
    /// The line and the column of its word.
    line: usize,
    column: usize,
    /// The text of the line.
    text: &'f str,
    /// The rule, or `family/*`.
    rule: &'f str,
    reason: &'f str,
    /// The lines that it is about.
    first: usize,
    last: usize,
}

impl Comment<'_> {
    fn covers(&self, finding: &Finding) -> bool {
        let is_meant = match self.rule.strip_suffix('*') {
            Some(family) => finding.rule.starts_with(family),
            None => finding.rule == self.rule,
        };
        is_meant && (self.first..=self.last).contains(&finding.spot.line)
    }
}

/// Takes away what comments ignore; returns how many findings that are. What is wrong with the comments is added.
pub(super) fn apply<'f>(
    files: impl Iterator<Item = (&'f str, &'f str)>,
    rulebook: &Rulebook,
    findings: &mut Vec<Finding>,
) -> usize {
    let mut ignored = 0;
    let mut known: Option<BTreeSet<String>> = None;
    for (path, text) in files.filter(|(_, text)| text.contains(WORD)) {
        let known = known.get_or_insert_with(|| rules(rulebook));
        for comment in comments(text) {
            let before = findings.len();
            // Without a reason it ignores nothing: the reason is what a reviewer reads.
            if !comment.reason.is_empty() {
                findings.retain(|finding| finding.spot.file != path || !comment.covers(finding));
            }
            let taken = before - findings.len();
            ignored += taken;
            findings.extend(fault(&comment, taken, known).map(|(rule, message, hint)| {
                let severity = if rule == UNUSED {
                    Severity::Warning
                } else {
                    Severity::Error
                };
                told(path, &comment, rule, severity, message, hint)
            }));
        }
    }
    ignored
}

fn rules(rulebook: &Rulebook) -> BTreeSet<String> {
    let built_in = catalogue().into_iter().map(|entry| entry.id.to_owned());
    let own = OWN.iter().map(ToString::to_string);
    built_in.chain(rulebook.policies.rules()).chain(own).collect()
}

type Words = (&'static str, String, Option<String>);

fn fault(comment: &Comment<'_>, taken: usize, known: &BTreeSet<String>) -> Option<Words> {
    let rule = comment.rule;
    let is_known = match rule.strip_suffix('*') {
        Some(family) => known.iter().any(|id| id.starts_with(family)),
        None => known.contains(rule),
    };
    if rule.is_empty() || !is_known {
        let near = nearest(rule, known.iter().map(String::as_str));
        let message = format!("no rule has the name {}", quoted(rule));
        return Some((
            UNKNOWN,
            message,
            near.map(|near| format!("did you mean {}?", quoted(near))),
        ));
    }
    if comment.reason.is_empty() {
        let hint = format!("add it after the rule: # {WORD} {rule} because …");
        return Some((
            REASONLESS,
            "a finding is ignored only if the comment contains a reason".to_owned(),
            Some(hint),
        ));
    }
    let message = format!("there is no finding of rule {} here", quoted(rule));
    (taken == 0).then(|| (UNUSED, message, Some("remove the comment".to_owned())))
}

fn told(
    file: &str,
    comment: &Comment<'_>,
    rule: &str,
    severity: Severity,
    message: String,
    hint: Option<String>,
) -> Finding {
    Finding {
        severity,
        rule: rule.to_owned(),
        spot: Spot {
            file: file.to_owned(),
            line: comment.line,
            column: comment.column,
            end: comment.column.saturating_add(WORD.len()),
            excerpt: cut(comment.text, 400),
            begins: 1,
        },
        subject: ObjectReference {
            kind: "comment".to_owned(),
            namespace: String::new(),
            name: WORD.to_owned(),
        },
        path: String::new(),
        message,
        hint,
    }
}

/// Finds the comments of a text.
fn comments(text: &str) -> Vec<Comment<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((before, rest)) = comment_of(line) else {
            continue;
        };
        let mut words = rest.trim().splitn(2, char::is_whitespace);
        let (rule, reason) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default().trim(),
        );
        let line_number = index.saturating_add(1);
        let is_alone = before.trim().trim_end_matches('#').trim().is_empty();
        let (first, last) = if is_alone {
            below(&lines, line_number)
        } else {
            (line_number, line_number)
        };
        found.push(Comment {
            line: line_number,
            column: before.chars().count().saturating_add(1),
            text: line,
            rule,
            reason,
            first,
            last,
        });
    }
    found
}

/// Splits a line at the word, if a comment begins with it.
fn comment_of(line: &str) -> Option<(&str, &str)> {
    let (before, rest) = line.split_once(WORD)?;
    let sign = before.trim_end().strip_suffix('#')?;
    // A "#" within a word begins no comment.
    let begins = sign.is_empty() || sign.ends_with(char::is_whitespace);
    (begins && (rest.is_empty() || rest.starts_with(char::is_whitespace))).then_some((before, rest))
}

/// The lines of what stands below a line: the next one that says something, and all behind it that is indented deeper.
fn below(lines: &[&str], from: usize) -> (usize, usize) {
    let says = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let numbered = (1_usize..).zip(lines).skip(from);
    let mut rest = numbered.filter(|(_, line)| says(line)).peekable();
    let Some(&(first, line)) = rest.peek() else {
        return (from, from);
    };
    // The fields of an item stand deeper than its dash.
    let depth = indent(line);
    let inside = rest.skip(1).take_while(|(_, line)| indent(line) > depth);
    (first, inside.last().map_or(first, |(last, _)| last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(text: &str) -> Vec<(usize, usize, &str, &str)> {
        let all = comments(text).into_iter();
        all.map(|one| (one.first, one.last, one.rule, one.reason))
            .collect()
    }

    #[test]
    fn a_comment_reaches_its_line_or_what_stands_below() {
        let text = "\
a: 1 # tidegate:ignore x/y on purpose
# tidegate:ignore x/* all of it
# and why

spec:
  b: 2
  c:
  - d
e: 3
  # tidegate:ignore x/y
";
        assert_eq!(
            reaches(text),
            [
                (1, 1, "x/y", "on purpose"),
                (5, 8, "x/*", "all of it"),
                (10, 10, "x/y", "")
            ]
        );
    }

    #[test]
    fn the_word_elsewhere_is_no_comment() {
        assert_eq!(
            reaches("a: tidegate:ignore x/y z\nb: c#tidegate:ignore x/y z\n# tidegate:ignored x\n"),
            []
        );
    }
}
