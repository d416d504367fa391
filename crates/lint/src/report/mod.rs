//! Findings about files, in the forms that people, CI systems and editors read.
//!
//! Decides how findings look: a table with carets, JSON, SARIF 2.1.0, JUnit and GitHub annotations. Never decides what is a
//! finding, prints nothing, and knows no rule.

mod cases;
mod fingerprint;
mod github;
mod json;
mod junit;
mod model;
mod sarif;
mod table;

pub use cases::{TestCase, TestEnd, TestSuite, junit_of_tests};
pub use fingerprint::fingerprints;
pub use json::{
    CheckReport, CheckSummary, CheckedObject, Position, ReportedFinding, ReportedObject, UnreadableFile,
};
pub use model::{Checked, Finding, Ignored, ObjectReference, Report, RuleDoc, Severity, Spot, Unreadable};
pub use table::{Style, summary};

/// A form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// For people: every finding with its line and a caret.
    Table,
    /// For programs.
    Json,
    /// For code scanning: SARIF 2.1.0.
    Sarif,
    /// For CI systems that know test results.
    Junit,
    /// For GitHub Actions: annotations of a pull request.
    Github,
}

/// Returns a report in one of its forms; only the table knows colours.
pub fn render(report: &Report, format: Format, style: Style) -> String {
    match format {
        Format::Table => table::render(report, style),
        Format::Json => json::render(report),
        Format::Sarif => sarif::render(report),
        Format::Junit => junit::render(report),
        Format::Github => github::render(report),
    }
}

#[cfg(test)]
mod tests;
