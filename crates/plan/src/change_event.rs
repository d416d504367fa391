//! Events: a change of state of one cluster, or of the add-on as a whole.
//!
//! Decides nothing; the words are those of the conditions. Events and the lines of `tidegate dev` are made from notes.

use crate::conditions::state::{Outcome, Phase, State};
use api::reason::Reason;
use store::{Name, Vocabulary};

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Normal,
    /// An administrator should look at it.
    Warning,
}

/// A change worth telling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// An add-on on a cluster has reached another state.
    Cluster {
        /// The add-on.
        addon: Name,
        /// The cluster.
        cluster: Name,
        /// Install, upgrade or rollback.
        phase: Phase,
        /// Running, succeeded or failed.
        outcome: Outcome,
    },
    /// An add-on on a cluster cannot go on until a user changes something.
    Stuck {
        /// The add-on.
        addon: Name,
        /// The cluster.
        cluster: Name,
        /// The reason of the condition `Stalled`.
        reason: Reason,
        /// Its message.
        message: String,
    },
    /// An upgrade of clusters, or one of its clusters.
    Upgrade {
        /// The upgrade, with its namespace.
        upgrade: Name,
        /// The cluster; absent when it is about the whole.
        cluster: Option<Name>,
        /// How much it matters.
        grade: Grade,
        /// What happened, in one word.
        reason: Reason,
        /// What happened.
        message: String,
    },
    /// The add-on as a whole.
    AddOn {
        /// The add-on.
        addon: Name,
        /// How much it matters.
        grade: Grade,
        /// What happened, in one word.
        reason: Reason,
        /// What happened.
        message: String,
    },
}

impl Note {
    /// Returns the add-on, or the upgrade.
    pub fn owner(&self) -> &Name {
        match self {
            Self::Cluster { addon, .. } | Self::Stuck { addon, .. } | Self::AddOn { addon, .. } => addon,
            Self::Upgrade { upgrade, .. } => upgrade,
        }
    }

    /// Returns the cluster; the add-on as a whole has none.
    pub fn cluster(&self) -> Option<&Name> {
        match self {
            Self::Cluster { cluster, .. } | Self::Stuck { cluster, .. } => Some(cluster),
            Self::Upgrade { cluster, .. } => cluster.as_ref(),
            Self::AddOn { .. } => None,
        }
    }

    /// Returns how much it matters.
    pub fn grade(&self) -> Grade {
        match self {
            Self::Cluster {
                outcome: Outcome::Running(_) | Outcome::Succeeded,
                ..
            } => Grade::Normal,
            Self::Cluster {
                outcome: Outcome::Failed(_),
                ..
            }
            | Self::Stuck { .. } => Grade::Warning,
            Self::AddOn { grade, .. } | Self::Upgrade { grade, .. } => *grade,
        }
    }

    /// Returns what happened in one word: always in the words that tell install, upgrade and rollback apart.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Cluster { phase, outcome, .. } => {
                State::Phase(*phase, outcome.clone())
                    .progressing(Vocabulary::Lifecycle, None)
                    .reason
            }
            Self::Stuck { reason, .. } | Self::AddOn { reason, .. } | Self::Upgrade { reason, .. } => *reason,
        }
    }

    /// Returns what happened.
    pub fn message(&self) -> String {
        match self {
            Self::Cluster { phase, outcome, .. } => State::Phase(*phase, outcome.clone())
                .progressing(Vocabulary::Lifecycle, None)
                .message
                .into_owned(),
            Self::Stuck { message, .. } | Self::AddOn { message, .. } | Self::Upgrade { message, .. } => {
                message.clone()
            }
        }
    }

    /// Returns what was being done, in one word.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Cluster { phase, .. } => match phase {
                Phase::Install => "Install",
                Phase::Upgrade => "Upgrade",
                Phase::Rollback => "Rollback",
                Phase::Upkeep => "Apply",
                Phase::Hook => "Uninstall",
            },
            Self::Stuck { .. } => "Configure",
            Self::AddOn { .. } => "Rollout",
            Self::Upgrade { .. } => "Upgrade",
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cluster {
                addon,
                cluster,
                phase,
                outcome,
            } => {
                let verb = phase.noun();
                match outcome {
                    Outcome::Running(why) => write!(f, "{cluster} {addon}: {verb} running ({why})"),
                    Outcome::Succeeded => write!(f, "{cluster} {addon}: {verb} succeeded"),
                    Outcome::Failed(error) => write!(f, "{cluster} {addon}: {verb} failed: {error}"),
                }
            }
            Self::Stuck {
                addon,
                cluster,
                reason,
                message,
            } => write!(f, "{cluster} {addon}: {reason}: {message}"),
            Self::AddOn {
                addon,
                reason,
                message,
                ..
            } => write!(f, "{addon}: {reason}: {message}"),
            Self::Upgrade {
                upgrade,
                reason,
                message,
                ..
            } => write!(f, "{upgrade}: {reason}: {message}"),
        }
    }
}
