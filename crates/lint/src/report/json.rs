//! The report for programs.
//!
//! Decides field names; they only ever grow. One line a finding would be smaller, but unreadable for people.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fingerprint::fingerprints;
use super::model::{Checked, Finding, ObjectReference, Report, Severity, Spot, Unreadable};
use kubernetes::field::json_escaped;

pub(super) fn render(report: &Report) -> String {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .zip(fingerprints(report))
        .map(|(finding, fingerprint)| one(finding, &fingerprint))
        .collect();
    let page = json!({
        "apiVersion": api::names::OUTPUT_VERSION,
        "kind": "CheckReport",
        "summary": {
            "files": report.files,
            "objects": report.checked.len(),
            "errors": report.count(Severity::Error),
            "warnings": report.count(Severity::Warning),
            "unknown": report.count(Severity::Unknown),
            "unreadable": report.unreadable.len(),
            "ignored": report.ignored.iter().map(|(why, what)| (why, what.values().sum::<usize>())).collect::<BTreeMap<_, _>>(),
            "ignoredByComments": report.excused,
        },
        "ignored": report.ignored,
        "findings": findings,
        "unreadable": report.unreadable.iter().map(unreadable).collect::<Vec<_>>(),
        "objects": report.checked.iter().map(checked).collect::<Vec<_>>(),
    });
    json_escaped(&format!("{page:#}\n"))
}

fn one(finding: &Finding, fingerprint: &str) -> Value {
    let mut value = json!({
        "severity": finding.severity.word(),
        "rule": finding.rule,
        "object": subject(&finding.subject),
        "path": finding.path,
        "message": finding.message,
        "fingerprint": fingerprint,
    });
    put_spot(&mut value, &finding.spot);
    if let (Some(hint), Some(fields)) = (&finding.hint, value.as_object_mut()) {
        fields.insert("hint".to_owned(), json!(hint));
    }
    value
}

fn unreadable(fault: &Unreadable) -> Value {
    let mut value = json!({"message": fault.message});
    put_spot(&mut value, &fault.spot);
    value
}

fn checked(checked: &Checked) -> Value {
    let mut value = json!({"object": subject(&checked.subject), "additions": checked.additions});
    put_spot(&mut value, &checked.spot);
    value
}

fn put_spot(value: &mut Value, spot: &Spot) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    fields.insert("file".to_owned(), json!(spot.file));
    if spot.line > 0 {
        fields.insert("line".to_owned(), json!(spot.line));
        fields.insert("column".to_owned(), json!(spot.column));
        fields.insert("endColumn".to_owned(), json!(spot.end.max(spot.column + 1)));
    }
}

fn subject(subject: &ObjectReference) -> Value {
    json!({"kind": subject.kind, "namespace": subject.namespace, "name": subject.name})
}
