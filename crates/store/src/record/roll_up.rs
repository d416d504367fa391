//! What is remembered of an `AddOnRollout`: what it says, so that it is written only when that changes.
//!
//! Decides nothing.

use serde_json::{Map, Value};

use super::meta::{Condition, Meta, OwnerReference};
use model::Name;

/// An `AddOnRollout`: the roll-up of the add-on of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollUp {
    /// Identity and revision.
    pub meta: Meta,
    /// `spec.addon`
    pub addon: Name,
    /// `metadata.ownerReferences`
    pub owners: Vec<OwnerReference>,
    /// `status.conditions`
    pub conditions: Vec<Condition>,
    /// The status without its conditions, as it stands.
    pub status: Map<String, Value>,
}
