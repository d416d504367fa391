//! What the operator chose for all add-ons.
//!
//! Decides nothing; travels with the store so that every plan sees the same choice.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The words of the `Progressing` condition.
    pub reasons: Vocabulary,
}
