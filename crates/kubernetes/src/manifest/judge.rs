//! One manifest, one aspect: who is asked.
//!
//! Decides nothing about values; the parts do.

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

/// Takes steps for what is looked at; tells whether there were enough.
pub type Effort<'e> = &'e dyn Fn(usize) -> bool;

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Every value has the type that its field has.
    Type,
    /// Every field exists.
    UnknownField,
    /// What has to be there is.
    Required,
    /// A workload selects the pods that it makes.
    Selector,
    /// The parts of a pod fit together.
    Pod,
}

impl Aspect {
    /// All aspects.
    pub const ALL: [Self; 5] = [
        Self::Type,
        Self::UnknownField,
        Self::Required,
        Self::Selector,
        Self::Pod,
    ];

    /// Returns the id of the rule that tells it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Type => "manifest/type",
            Self::UnknownField => "manifest/unknown-field",
            Self::Required => "manifest/required",
            Self::Selector => "manifest/selector",
            Self::Pod => "manifest/pod",
        }
    }

    /// Tells whether a cluster would refuse the manifest for it, always.
    pub fn is_refused(self) -> bool {
        match self {
            Self::Type | Self::Selector | Self::Pod => true,
            Self::UnknownField | Self::Required => false,
        }
    }
}
