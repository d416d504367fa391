//! What came out against what should have.
//!
//! Decides what counts as expected: nothing is refused that is not listed, and a list that is given must be complete.

use std::fmt::Write as _;

use regex::Regex;
use serde_json::Value;

use super::suite::{Expect, Expected};
use admission::Trial;
use kubernetes::field::{Violation, Warning};

/// Returns what was not as expected; an error says that the expectation makes no sense.
pub(super) fn compare(
    expect: &Expect,
    trial: &Trial,
    again: &Trial,
    patched: Option<&Value>,
) -> Result<Vec<String>, String> {
    if expect.allow == Some(true) && expect.deny.as_ref().is_some_and(|list| !list.is_empty()) {
        return Err("expects both allow and deny".to_owned());
    }
    let refused: Vec<&Violation> = trial.findings.violations().iter().collect();
    let warned: Vec<&Violation> = trial.findings.warnings().iter().map(Warning::violation).collect();
    let recorded: Vec<&Violation> = trial.findings.audited().iter().collect();
    let mut faults = Vec::new();
    let deny = match (expect.allow, &expect.deny) {
        // Refused, whatever for.
        (Some(false), None) => {
            if refused.is_empty() {
                faults.push("should have been denied".to_owned());
            }
            None
        }
        (_, Some(list)) => Some(list.as_slice()),
        (Some(true) | None, None) => Some(&[][..]),
    };
    for (word, wanted, found) in [
        ("denied", deny, &refused),
        ("warned about", expect.warn.as_deref(), &warned),
        ("recorded", expect.audit.as_deref(), &recorded),
    ] {
        if let Some(wanted) = wanted {
            faults.extend(listed(word, wanted, found)?);
        }
    }
    if let Some(patched) = patched {
        missing(patched, &trial.object, "", &mut faults);
    }
    if expect.idempotent == Some(true) && !again.patch.0.is_empty() {
        let more = serde_json::to_string(&again.patch).unwrap_or_default();
        faults.push(format!("applying the policies again to the result adds {more}"));
    }
    Ok(faults)
}

fn listed(word: &str, wanted: &[Expected], found: &[&Violation]) -> Result<Vec<String>, String> {
    let mut left: Vec<&Violation> = found.to_vec();
    let mut faults = Vec::new();
    for expected in wanted {
        let pattern = expected.message_like.as_deref().map(Regex::new).transpose();
        let pattern = pattern.map_err(|error| format!("message~ is not a valid pattern: {error}"))?;
        match left.iter().position(|one| fits(expected, pattern.as_ref(), one)) {
            Some(position) => {
                left.swap_remove(position);
            }
            None => faults.push(format!("should have been {word}: {}", described(expected))),
        }
    }
    left.sort();
    faults.extend(left.iter().map(|one| {
        let text = if word == "denied" {
            one.to_string()
        } else {
            one.warning()
        };
        format!("should not have been {word}: {text}")
    }));
    Ok(faults)
}

fn fits(expected: &Expected, pattern: Option<&Regex>, found: &Violation) -> bool {
    let id = found.rule() == expected.id || found.rule().rsplit('/').next() == Some(expected.id.as_str());
    id && expected
        .field
        .as_deref()
        .is_none_or(|field| found.path().to_string() == field)
        && expected
            .message
            .as_deref()
            .is_none_or(|text| found.detail() == text)
        && pattern.is_none_or(|pattern| pattern.is_match(found.detail()))
}

fn described(expected: &Expected) -> String {
    let mut text = expected.id.clone();
    let parts = [
        ("field", &expected.field),
        ("message", &expected.message),
        ("message~", &expected.message_like),
    ];
    for (name, part) in parts {
        if let Some(part) = part {
            write!(text, ", {name} {part:?}").expect("writing to a string cannot fail");
        }
    }
    text
}

/// Tells of everything in `wanted` that `found` does not have; it may have more.
fn missing(wanted: &Value, found: &Value, path: &str, faults: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (name, value) in wanted {
                let path = format!("{path}/{name}");
                match found.get(name) {
                    Some(there) => missing(value, there, &path, faults),
                    None => faults.push(format!("{path}: should be {value}, is absent")),
                }
            }
        }
        (wanted, found) if wanted == found => {}
        (wanted, found) => faults.push(format!("{path}: should be {wanted}, is {found}")),
    }
}
