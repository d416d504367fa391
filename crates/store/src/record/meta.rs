//! Identity, owners and conditions: what every object has.
//!
//! Decides nothing.

use std::sync::Arc;

use jiff::Timestamp;

use super::sparse::{SparseNumber, SparseTime};
use model::Name;

/// Identity and revision of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
    /// `metadata.generation`
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
}

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`, and every other text that stands there.
    Unknown,
}

impl Status {
    /// Returns the text that the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a condition says: thousands of instances say the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionText {
    /// `type`
    pub kind: Name,
    /// `status`
    pub status: Status,
    /// `reason`
    pub reason: Name,
    /// `message`
    pub message: Name,
}

/// A condition as it stands in a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it says.
    pub said: Arc<ConditionText>,
    since: SparseTime,
    generation: SparseNumber,
}

impl Condition {
    /// Returns a condition that says this since a time, about a generation.
    pub fn new(said: Arc<ConditionText>, since: Option<Timestamp>, generation: Option<i64>) -> Self {
        Self {
            said,
            since: since.into(),
            generation: generation.into(),
        }
    }

    /// Returns `lastTransitionTime`.
    pub fn since(&self) -> Option<Timestamp> {
        self.since.get()
    }

    /// Returns `observedGeneration`.
    pub fn generation(&self) -> Option<i64> {
        self.generation.get()
    }
}

impl std::ops::Deref for Condition {
    type Target = ConditionText;

    fn deref(&self) -> &ConditionText {
        &self.said
    }
}

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerReference {
    /// `apiVersion`
    pub api_version: Name,
    /// `kind`
    pub kind: Name,
    /// `name`
    pub name: Name,
    /// `uid`
    pub uid: Name,
    /// `controller`
    pub controller: Option<bool>,
    /// `blockOwnerDeletion`
    pub block: Option<bool>,
}
