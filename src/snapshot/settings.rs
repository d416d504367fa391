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
    /// How an edit of a cluster's own configuration travels.
    pub cluster_configs: ClusterConfigs,
}
