//! Order of groups and versions, and the tag of a document.
//!
//! Decides which version of a group is preferred.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use sha2::{Digest as _, Sha512};

use crate::Resource;

/// Returns every named group with its versions, preferred version first. Built-in groups come first, then the others by name.
pub fn groups(resources: &[Resource]) -> Vec<(String, Vec<String>)> {
    let mut names: Vec<(bool, &str)> = resources
        .iter()
        .map(|resource| (resource.custom, resource.group.as_str()))
        .collect();
    names.sort_unstable();
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .filter(|(_, name)| !name.is_empty() && seen.insert(*name))
        .map(|(_, name)| (name.to_owned(), versions(resources, name)))
        .collect()
}

/// Returns the versions of a group, preferred version first.
pub(super) fn versions(resources: &[Resource], group: &str) -> Vec<String> {
    let mut versions: Vec<String> = resources
        .iter()
        .filter(|resource| resource.group == group)
        .map(|resource| resource.version.clone())
        .collect();
    versions.sort_by(|left, right| compare_versions(left, right));
    versions.dedup();
    versions
}

/// Orders versions as Kubernetes prefers them: stable before beta before alpha, newer first, then odd names alphabetically.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    match (parsed(left), parsed(right)) {
        (Some(left), Some(right)) => right.cmp(&left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Stability (2 = stable), major number, minor number.
fn parsed(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().ok())
            .flatten()
    };
    for (word, stability) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

/// Returns the strong entity tag of a document, quotes included.
pub fn entity_tag(document: &[u8]) -> String {
    format!("\"{}\"", hexadecimal(document))
}

/// Returns the SHA-512 of `document` as upper-case hexadecimal digits.
pub(crate) fn hexadecimal(document: &[u8]) -> String {
    let mut out = String::with_capacity(128);
    for byte in Sha512::digest(document) {
        out.extend([format!("{byte:02X}")]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_and_age() {
        let mut versions = [
            "foo1",
            "v1alpha1",
            "v11beta2",
            "v2",
            "v10",
            "v1beta1",
            "v3beta1",
            "v12alpha1",
            "foo10",
            "v1",
        ];
        versions.sort_by(|left, right| compare_versions(left, right));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v3beta1",
                "v1beta1",
                "v12alpha1",
                "v1alpha1",
                "foo1",
                "foo10"
            ]
        );
    }

    #[test]
    fn tags_follow_the_content() {
        assert_eq!(entity_tag(b"a"), entity_tag(b"a"));
        assert_ne!(entity_tag(b"a"), entity_tag(b"b"));
        assert_eq!(entity_tag(b"a").len(), 130);
    }
}
