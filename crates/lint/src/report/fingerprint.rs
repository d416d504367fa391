//! What makes a finding the same finding tomorrow.
//!
//! Decides by file, rule, object and field: lines may move, words of a message may get better. Two findings that are alike
//! in all of these are numbered in their order.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::model::{Finding, Report};

/// Returns the fingerprint of every finding, in their order: 32 hexadecimal digits.
pub fn fingerprints(report: &Report) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let all = report.findings.iter().map(|finding| {
        let identity = identity(finding);
        let number = seen.entry(identity.clone()).or_default();
        *number += 1;
        digest(&format!("{identity}\u{0}{number}"))
    });
    all.collect()
}

fn identity(finding: &Finding) -> String {
    let Finding {
        rule,
        spot,
        subject,
        path,
        ..
    } = finding;
    [
        &spot.file,
        rule,
        &subject.kind,
        &subject.namespace,
        &subject.name,
        path,
    ]
    .map(String::as_str)
    .join("\u{0}")
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    })
}
