//! What the operator chose for all add-ons.
//!
//! Decides nothing; travels with the store so that every plan sees the same choice.

use std::time::Duration;

/// The words of the `Progressing` condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vocabulary {
    /// `Installing`, `InstallSucceed`, `UpgradeFailed`, …
    #[default]
    Lifecycle,
    /// `Progressing`, `Completed`, `Failed`: what current Open Cluster Management writes.
    Ocm,
}

/// What the operator chose for all add-ons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The words of the `Progressing` condition.
    pub reasons: Vocabulary,
    /// How long an agent may be unavailable after a change until that is a failure.
    pub startup: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            reasons: Vocabulary::default(),
            startup: Duration::from_mins(2),
        }
    }
}
