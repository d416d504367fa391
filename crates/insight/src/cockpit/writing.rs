//! What a verb writes.
//!
//! Decides nothing.

use serde_json::Value;

use super::ownership::OwnedField;
use crate::forecast::Difference;

/// What a verb writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writing {
    /// The object of a server-side apply or a creation, or a JSON merge patch.
    pub body: Value,
    /// Which of them.
    pub form: Form,
    /// The fields that a merge patch changes, with their owners.
    pub owners: Vec<OwnedField>,
    /// Written fields.
    pub says: Vec<String>,
    /// Removed fields.
    pub takes: Vec<String>,
    /// Merge patches of further objects of the same kind.
    pub more: Vec<Value>,
    /// Objects that get the content back that was kept of them, before anything else is written.
    pub restores: Vec<Value>,
    /// The fields that these contents change.
    pub changes: Vec<Difference>,
    /// What the user of the verb should know.
    pub note: Option<String>,
}

/// How something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Server-side apply.
    Apply,
    /// A JSON merge patch: it changes single fields, and removes those that another field manager owns.
    Merge,
    /// The object does not exist yet.
    Create,
}

impl Writing {
    pub(super) fn apply(fields: Value, says: Vec<String>) -> Self {
        Self {
            body: fields,
            form: Form::Apply,
            owners: Vec::new(),
            says,
            takes: Vec::new(),
            more: Vec::new(),
            restores: Vec::new(),
            changes: Vec::new(),
            note: None,
        }
    }

    pub(super) fn noting(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }
}
