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

/// How an edit of a configuration that a cluster refers to by itself travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClusterConfigs {
    /// At once, to all clusters that refer to it, whatever their placement's rollout strategy is.
    #[default]
    AtOnce,
    /// By the rollout strategy of the cluster's placement, like every other change.
    Rollout,
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
    /// How an edit of a cluster's own configuration travels.
    pub cluster_configs: ClusterConfigs,
}
