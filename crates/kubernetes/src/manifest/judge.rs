//! One manifest, one aspect: who is asked.
//!
//! Decides nothing about values; the parts do.

use super::aspect::{Aspect, Effort};
use super::schema::root_of;
use super::{pods, selector, walk};
use crate::field::{Path, Violation};
use serde_json::Value;

/// Tells whether a manifest is of a kind that is judged.
pub fn is_known(manifest: &Value) -> bool {
    root_of(manifest).is_some()
}

/// Returns what is wrong with a manifest in one aspect; nothing of a kind that is not judged. `at` is where it stands.
pub fn check(manifest: &Value, aspect: Aspect, at: &Path, effort: Effort<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(root) = root_of(manifest) {
        match aspect {
            Aspect::Type | Aspect::UnknownField | Aspect::Required => {
                walk::check(manifest, root, aspect, at, effort, &mut found);
            }
            Aspect::Selector => selector::check(manifest, at, effort, &mut found),
            Aspect::Pod => pods::check(manifest, at, effort, &mut found),
        }
    }
    found
}
