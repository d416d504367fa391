//! The report for code scanning: SARIF 2.1.0.
//!
//! Decides levels and addresses. Columns count characters, as everywhere in this crate, and the log says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::fingerprint::fingerprints;
use super::model::{Finding, Report, RuleDoc, Severity, Spot, Unreadable};
use kubernetes::field::json_escaped;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const FINGERPRINT: &str = "tidegateFinding/v1";

pub(super) fn render(report: &Report) -> String {
    let indices: BTreeMap<&str, usize> = report
        .rules
        .iter()
        .enumerate()
        .map(|(index, rule)| (rule.id.as_str(), index))
        .collect();
    let results: Vec<Value> = report
        .findings
        .iter()
        .zip(fingerprints(report))
        .map(|(finding, fingerprint)| result(finding, &fingerprint, &indices))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "tidegate",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": report.rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.unreadable.is_empty(),
                "toolExecutionNotifications": report.unreadable.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    });
    json_escaped(&format!("{log:#}\n"))
}

fn rule(rule: &RuleDoc) -> Value {
    let text = if rule.text.is_empty() {
        &rule.summary
    } else {
        &rule.text
    };
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": text},
        "help": {
            "text": format!("{}\n\n{}", rule.summary, rule.text),
            "markdown": format!("**{}**\n\n{}\n\n`tidegate explain {}`", rule.summary, rule.text, rule.id),
        },
    })
}

fn result(finding: &Finding, fingerprint: &str, indices: &BTreeMap<&str, usize>) -> Value {
    let mut text = match finding.path.as_str() {
        "" => finding.message.clone(),
        path => format!("{path}: {}", finding.message),
    };
    if let Some(hint) = &finding.hint {
        text.push_str("; hint: ");
        text.push_str(hint);
    }
    let logical = json!([{"fullyQualifiedName": finding.subject.to_string(), "kind": "object"}]);
    let mut location = location(&finding.spot);
    if let Some(fields) = location.as_object_mut() {
        fields.insert("logicalLocations".to_owned(), logical);
    }
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: fingerprint},
    });
    if let (Some(index), Some(fields)) = (indices.get(finding.rule.as_str()), result.as_object_mut()) {
        fields.insert("ruleIndex".to_owned(), json!(index));
    }
    if let (Severity::Unknown, Some(fields)) = (finding.severity, result.as_object_mut()) {
        // What cannot be told is no failure: the standard has a kind for it, which allows no other level.
        fields.insert("kind".to_owned(), json!("open"));
    }
    result
}

fn notification(fault: &Unreadable) -> Value {
    json!({
        "level": "error",
        "message": {"text": fault.message},
        "locations": [location(&fault.spot)],
    })
}

fn location(spot: &Spot) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(&spot.file)}});
    if let (true, Some(fields)) = (spot.line > 0, physical.as_object_mut()) {
        let region = json!({
            "startLine": spot.line,
            "startColumn": spot.column,
            "endLine": spot.line,
            "endColumn": spot.end.max(spot.column + 1),
            "snippet": {"text": spot.excerpt},
        });
        fields.insert("region".to_owned(), region);
    }
    json!({"physicalLocation": physical})
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Unknown => "none",
    }
}

/// Writes a path as a relative reference: what a URI cannot hold is written as its bytes.
fn uri(path: &str) -> String {
    let relative = path.strip_prefix("./").unwrap_or(path);
    let mut uri = String::new();
    for byte in relative.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    uri
}
