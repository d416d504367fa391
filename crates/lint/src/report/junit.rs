//! The report for CI systems that know test results: a suite a file, a case an object.
//!
//! Decides what counts as a failure: errors do, warnings and unknowns stand beside the case. What XML cannot hold, and what would
//! act on a terminal, is written as its number, whatever a file says.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::{Finding, ObjectReference, Report, Severity, Unreadable};

/// A case is known by the object and by where it begins: two of one name may stand in a file.
type Case<'a> = (usize, &'a ObjectReference);

#[derive(Default)]
struct Suite<'a> {
    cases: BTreeMap<Case<'a>, Vec<&'a Finding>>,
    unreadable: Vec<&'a Unreadable>,
}

pub(super) fn render(report: &Report) -> String {
    let suites = suites(report);
    let tests: usize = suites.values().map(Suite::tests).sum();
    let failures: usize = suites.values().map(Suite::failures).sum();
    let errors = report.unreadable.len();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    put(
        &mut out,
        &format!(
            "<testsuites name=\"tidegate check\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n"
        ),
    );
    for (file, suite) in &suites {
        suite.write(file, &mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suites(report: &Report) -> BTreeMap<&str, Suite<'_>> {
    let mut suites: BTreeMap<&str, Suite<'_>> = BTreeMap::new();
    let mut begins: BTreeMap<(&str, &ObjectReference), Vec<usize>> = BTreeMap::new();
    for checked in &report.checked {
        let (file, line) = (checked.spot.file.as_str(), checked.spot.line);
        let suite = suites.entry(file).or_default();
        suite.cases.entry((line, &checked.subject)).or_default();
        begins.entry((file, &checked.subject)).or_default().push(line);
    }
    for finding in &report.findings {
        let file = finding.spot.file.as_str();
        let starts = begins.get(&(file, &finding.subject)).into_iter().flatten();
        let line = starts.filter(|line| **line <= finding.spot.line).max().copied();
        let suite = suites.entry(file).or_default();
        let case = (line.unwrap_or_default(), &finding.subject);
        suite.cases.entry(case).or_default().push(finding);
    }
    for fault in &report.unreadable {
        suites.entry(&fault.spot.file).or_default().unreadable.push(fault);
    }
    suites
}

impl Suite<'_> {
    fn tests(&self) -> usize {
        self.cases.len() + self.unreadable.len()
    }

    fn failures(&self) -> usize {
        let cases = self.cases.values();
        cases
            .filter(|findings| findings.iter().any(|finding| fails(finding)))
            .count()
    }

    fn write(&self, file: &str, out: &mut String) {
        let (name, errors) = (attribute(file), self.unreadable.len());
        let (tests, failures) = (self.tests(), self.failures());
        put(
            out,
            &format!(
                "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n"
            ),
        );
        for fault in &self.unreadable {
            let (line, message) = (fault.spot.line, attribute(&fault.message));
            put(
                out,
                &format!(
                    "    <testcase classname=\"{name}\" name=\"line {line}\">\n      <error type=\"unreadable\" message=\"{message}\">{name}:{line}:{}</error>\n    </testcase>\n",
                    fault.spot.column
                ),
            );
        }
        for ((_, subject), findings) in &self.cases {
            case(file, subject, findings, out);
        }
        out.push_str("  </testsuite>\n");
    }
}

fn case(file: &str, subject: &ObjectReference, findings: &[&Finding], out: &mut String) {
    let (class, name) = (attribute(file), attribute(&subject.to_string()));
    put(
        out,
        &format!("    <testcase classname=\"{class}\" name=\"{name}\""),
    );
    if findings.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    let (failing, others): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|finding| fails(finding));
    // Readers of the format expect at most one failure a case; its text holds them all.
    if let [first, ..] = failing.as_slice() {
        let (rule, message) = (attribute(&first.rule), attribute(&said(first)));
        put(
            out,
            &format!("      <failure type=\"{rule}\" message=\"{message}\">"),
        );
        put(out, &escaped(&lines(&failing)));
        out.push_str("</failure>\n");
    }
    if !others.is_empty() {
        put(
            out,
            &format!("      <system-out>{}</system-out>\n", escaped(&lines(&others))),
        );
    }
    out.push_str("    </testcase>\n");
}

fn fails(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

fn said(finding: &Finding) -> String {
    if finding.path.is_empty() {
        return finding.message.clone();
    }
    format!("{}: {}", finding.path, finding.message)
}

fn lines(findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let spot = &finding.spot;
        let (place, word) = (
            format!("{}:{}:{}", spot.file, spot.line, spot.column),
            finding.severity.word(),
        );
        write!(text, "{place}: {word}: {}", said(finding)).expect("writing to a string cannot fail");
        if let Some(hint) = &finding.hint {
            write!(text, "; hint: {hint}").expect("writing to a string cannot fail");
        }
        writeln!(text, " [{}]", finding.rule).expect("writing to a string cannot fail");
    }
    text
}

fn put(out: &mut String, text: &str) {
    out.push_str(text);
}

/// A value of an attribute: a reader of XML makes a blank of a line break that is not written as a reference.
pub(super) fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;")
}

/// Text as it stands between tags and in values of attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in kubernetes::field::lines(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
    out
}
