//! The report for programs.
//!
//! Decides field names; they only ever grow. One line a finding would be smaller, but unreadable for people.

use std::collections::BTreeMap;

use api::output::{OutputDocument, document};
use schemars::JsonSchema;
use serde::Serialize;

use super::fingerprint::fingerprints;
use super::model::{Finding, Ignored, ObjectReference, Report, Severity, Spot};
use kubernetes::field::json_escaped;

/// The report for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckReport<'a> {
    /// Numbers.
    pub summary: CheckSummary<'a>,
    /// What was not checked, by reason: kinds of documents or names of files, each with a number.
    pub ignored: &'a Ignored,
    /// The findings.
    pub findings: Vec<ReportedFinding<'a>>,
    /// Files that cannot be read.
    pub unreadable: Vec<UnreadableFile<'a>>,
    /// The objects that were checked.
    pub objects: Vec<CheckedObject<'a>>,
}

impl OutputDocument for CheckReport<'_> {
    const KIND: &'static str = "CheckReport";
}

/// Numbers of a report.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckSummary<'a> {
    /// Files.
    pub files: usize,
    /// Objects that were checked.
    pub objects: usize,
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Findings that depend on objects that are not in the files.
    pub unknown: usize,
    /// Files that cannot be read.
    pub unreadable: usize,
    /// What was not checked, by reason.
    pub ignored: BTreeMap<&'a str, usize>,
    /// Findings that comments in the files ignore.
    pub ignored_by_comments: usize,
}

/// An object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportedObject<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace, or "".
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// A position in a file; lines and columns count from 1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Position<'a> {
    /// The file.
    pub file: &'a str,
    /// The line; absent if only the file is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The first column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The column after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportedFinding<'a> {
    /// `error`, `warning` or `unknown`.
    pub severity: &'static str,
    /// The rule.
    pub rule: &'a str,
    /// The object.
    pub object: ReportedObject<'a>,
    /// The field; "" for the whole object.
    pub path: &'a str,
    /// The value, and what would be valid.
    pub message: &'a str,
    /// Identifies the finding in later reports.
    pub fingerprint: String,
    /// The position.
    #[serde(flatten)]
    pub position: Position<'a>,
    /// The fix, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'a str>,
}

/// A file that cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableFile<'a> {
    /// Why.
    pub message: &'a str,
    /// The position.
    #[serde(flatten)]
    pub position: Position<'a>,
}

/// An object that was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckedObject<'a> {
    /// The object.
    pub object: ReportedObject<'a>,
    /// What the webhook would add to it.
    pub additions: &'a [String],
    /// Its position.
    #[serde(flatten)]
    pub position: Position<'a>,
}

pub(super) fn render(report: &Report) -> String {
    let page = document(&of(report)).unwrap_or_default();
    json_escaped(&format!("{page:#}\n"))
}

fn of(report: &Report) -> CheckReport<'_> {
    let findings = report.findings.iter().zip(fingerprints(report));
    let ignored = report.ignored.iter();
    CheckReport {
        summary: CheckSummary {
            files: report.files,
            objects: report.checked.len(),
            errors: report.count(Severity::Error),
            warnings: report.count(Severity::Warning),
            unknown: report.count(Severity::Unknown),
            unreadable: report.unreadable.len(),
            ignored: ignored
                .map(|(why, what)| (why.as_str(), what.values().sum()))
                .collect(),
            ignored_by_comments: report.excused,
        },
        ignored: &report.ignored,
        findings: findings
            .map(|(finding, fingerprint)| one(finding, fingerprint))
            .collect(),
        unreadable: report
            .unreadable
            .iter()
            .map(|fault| UnreadableFile {
                message: &fault.message,
                position: Position::of(&fault.spot),
            })
            .collect(),
        objects: report
            .checked
            .iter()
            .map(|checked| CheckedObject {
                object: ReportedObject::of(&checked.subject),
                additions: &checked.additions,
                position: Position::of(&checked.spot),
            })
            .collect(),
    }
}

fn one(finding: &Finding, fingerprint: String) -> ReportedFinding<'_> {
    ReportedFinding {
        severity: finding.severity.word(),
        rule: &finding.rule,
        object: ReportedObject::of(&finding.subject),
        path: &finding.path,
        message: &finding.message,
        fingerprint,
        position: Position::of(&finding.spot),
        hint: finding.hint.as_deref(),
    }
}

impl<'a> Position<'a> {
    fn of(spot: &'a Spot) -> Self {
        let known = |value: usize| (spot.line > 0).then_some(value);
        Self {
            file: &spot.file,
            line: known(spot.line),
            column: known(spot.column),
            end_column: known(spot.end.max(spot.column.saturating_add(1))),
        }
    }
}

impl<'a> ReportedObject<'a> {
    fn of(subject: &'a ObjectReference) -> Self {
        Self {
            kind: &subject.kind,
            namespace: &subject.namespace,
            name: &subject.name,
        }
    }
}
