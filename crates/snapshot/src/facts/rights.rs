//! What the user of a request may do on the hub, as far as the hub has been asked: whether the user may give a role away.
//!
//! Decides nothing. Answers are about one request and its user; they are never kept beyond it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kind::ObjectKey;
use model::Name;

/// Whether the user may bind a role: the verb `bind`, as for a user who writes a role binding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MayBind {
    /// The role.
    pub role: ObjectKey,
    /// In which namespace; "" asks for all of them.
    pub namespace: Name,
}

/// What the hub has said about such questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights(Arc<BTreeMap<MayBind, bool>>);

impl Rights {
    /// Returns the hub's answers.
    pub fn of(answers: BTreeMap<MayBind, bool>) -> Self {
        Self(Arc::new(answers))
    }

    /// Returns the hub's answer to a question, if it was asked and has answered.
    pub fn word_about(&self, question: &MayBind) -> Option<bool> {
        self.0.get(question).copied()
    }
}
