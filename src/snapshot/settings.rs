//! What the operator chose for all add-ons.
//!
//! Decides nothing; travels with the store so that every plan sees the same choice.

use super::farewell::{HookTimeout, TimeoutPolicy};

/// The words of the `Progressing` condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vocabulary {
    /// `Installing`, `InstallSucceed`, `UpgradeFailed`, …
    #[default]
    Lifecycle,
    /// `Progressing`, `Completed`, `Failed`: what current Open Cluster Management writes.
    Ocm,
}

/// Whether clusters are labelled with the add-ons that they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiscoveryLabels {
    /// `feature.open-cluster-management.io/addon-<name>` on every cluster, as the registration of a hub writes it.
    #[default]
    On,
    /// Labels are left alone.
    Off,
}

/// What the operator chose for all add-ons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The words of the `Progressing` condition.
    pub reasons: Vocabulary,
    /// How long pre-delete hooks may take.
    pub hook_timeout: HookTimeout,
    /// What happens to an instance whose hooks have not completed in time.
    pub hook_timeout_policy: TimeoutPolicy,
    /// Whether clusters are labelled with the add-ons that they have.
    pub discovery_labels: DiscoveryLabels,
}
