//! Formats a report: a table for people, JSON for programs.
//!
//! A finding may contain text of other programs: the caller that prints the page makes it safe to show.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::output::OutputDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::finding::{Finding, Report, Severity};
use kubernetes::field::one_line;

/// Whether a page has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// For a terminal.
    On,
    /// For files and other programs.
    Off,
}

/// Returns the report as a table: the problems first, then the rest, then a line with the counts.
pub fn text(report: &Report, colours: Colours) -> String {
    let mut page = String::new();
    for finding in &report.findings {
        line(&mut page, finding, colours);
    }
    page.push_str(&summary(report));
    page.push('\n');
    page
}

fn line(page: &mut String, finding: &Finding, colours: Colours) {
    let word = finding.severity.word();
    let painted = match colours {
        Colours::On => format!("\u{1b}[{}m{word:<7}\u{1b}[0m", paint(finding.severity)),
        Colours::Off => format!("{word:<7}"),
    };
    // Writing into a string cannot fail.
    let _written = writeln!(page, "{painted}  {:<25}  {}", finding.id, one_line(&finding.seen)).is_ok();
    for (word, text) in [("fix", &finding.fix), ("run", &finding.command)] {
        if !text.is_empty() {
            let _written = writeln!(page, "{:9}{:<25}  {word}: {}", "", "", one_line(text)).is_ok();
        }
    }
}

const fn paint(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "32",
        Severity::Note => "36",
        Severity::Unknown => "35",
        Severity::Warning => "33",
        Severity::Error => "31",
    }
}

fn summary(report: &Report) -> String {
    let worst_first = Severity::ALL.into_iter().rev();
    let parts = worst_first.map(|severity| (severity.word(), report.count(severity)));
    let parts: Vec<String> = parts
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    if parts.is_empty() {
        return "no check was made".to_owned();
    }
    parts.join(", ")
}

/// The report for programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport<'a> {
    /// The exit status of the command.
    pub exit_status: u8,
    /// Number of findings of each severity.
    pub counts: BTreeMap<&'static str, usize>,
    /// The findings: problems first.
    pub findings: Vec<DoctorFinding<'a>>,
}

impl OutputDocument for DoctorReport<'_> {
    const KIND: &'static str = "DoctorReport";
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorFinding<'a> {
    /// The check.
    pub id: &'static str,
    /// `error`, `warning`, `unknown`, `note` or `ok`.
    pub severity: &'static str,
    /// What was observed.
    pub seen: &'a str,
    /// What to do, or "".
    pub fix: &'a str,
    /// A command that does it or shows more, or "".
    pub command: &'a str,
}

/// Returns the report for programs.
pub fn doctor_report(report: &Report, exit_status: u8) -> DoctorReport<'_> {
    let findings = report.findings.iter().map(|one| DoctorFinding {
        id: one.id,
        severity: one.severity.word(),
        seen: &one.seen,
        fix: &one.fix,
        command: &one.command,
    });
    let counts = Severity::ALL.map(|severity| (severity.word(), report.count(severity)));
    DoctorReport {
        exit_status,
        counts: counts.into_iter().collect(),
        findings: findings.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let bad = Finding::error("a/bad", "two\nlines")
            .fix("correct it")
            .command("fix --it");
        Report {
            findings: vec![bad, Finding::ok("b/good", "as it should be")],
        }
    }

    #[test]
    fn a_table_shows_what_was_seen_the_fix_and_the_command() {
        let page = text(&report(), Colours::Off);
        let expected = "error    a/bad                      two lines\n".to_owned()
            + "                                    fix: correct it\n"
            + "                                    run: fix --it\n"
            + "ok       b/good                     as it should be\n"
            + "1 error, 1 ok\n";
        assert_eq!(page, expected);
        assert!(text(&report(), Colours::On).starts_with("\u{1b}[31merror"));
        assert_eq!(text(&Report::default(), Colours::Off), "no check was made\n");
    }

    #[test]
    fn json_names_its_form_and_counts() {
        let value = api::output::document(&doctor_report(&report(), 1)).expect("JSON");
        assert_eq!(value["kind"], "DoctorReport");
        assert_eq!(value["exitStatus"], 1);
        assert_eq!(value["counts"]["error"], 1);
        assert_eq!(value["counts"]["warning"], 0);
        assert_eq!(value["findings"][0]["command"], "fix --it");
    }
}
