//! What the user of a request may do on the hub, as far as the hub has been asked: give a role away, or use a placement.
//!
//! Decides nothing. Answers are about one request and its user; they are never kept beyond it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kind::ObjectKey;
use model::Name;

/// Whether the user may bind a role, as a user who writes a role binding, or get another object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserRight {
    /// The role, or the other object.
    pub object: ObjectKey,
    /// In which namespace; "" asks for all of them.
    pub namespace: Name,
}

impl UserRight {
    /// Returns the verb.
    pub fn verb(&self) -> &'static str {
        if self.object.kind.is_hub_role() {
            "bind"
        } else {
            "get"
        }
    }
}

/// What the hub has said about such questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights(Arc<BTreeMap<UserRight, bool>>);

impl Rights {
    /// Returns the hub's answers.
    pub fn of(answers: BTreeMap<UserRight, bool>) -> Self {
        Self(Arc::new(answers))
    }

    /// Returns the hub's answer to a question, if it was asked and has answered.
    pub fn word_about(&self, question: &UserRight) -> Option<bool> {
        self.0.get(question).copied()
    }
}
