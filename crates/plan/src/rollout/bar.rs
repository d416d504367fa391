//! Why no change can travel.
//!
//! Decides the words.

use api::reason::Reason;
use store::Name;

/// Why no change can travel, or none of `spec.configuration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bar {
    /// The reason, in one word.
    pub reason: Reason,
    /// The whole sentence.
    pub message: Name,
}

impl Bar {
    /// A strategy that has no meaning.
    pub(super) fn fault(fault: &Name) -> Self {
        Self {
            reason: Reason::RolloutStrategyInvalid,
            message: fault.clone(),
        }
    }

    /// A placement that `spec.configuration` names and that does not exist.
    pub(super) fn nowhere(what: &str) -> Self {
        let message = format!(
            "{what} does not exist; changes of spec.configuration reach only its clusters, so nobody"
        );
        Self {
            reason: Reason::PlacementNotFound,
            message: Name::from(message),
        }
    }
}
