//! The phase of a rollout.
//!
//! Only the type, and what each phase means for commands. Which phase a rollout has is decided with its picture.

use schemars::JsonSchema;
use serde::Serialize;

/// Phase of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Phase {
    /// Every cluster is up to date.
    Done,
    /// Clusters are being updated.
    Progressing,
    /// No cluster is being updated; the rollout continues without an action.
    Waiting,
    /// It is paused, and clusters are waiting.
    Paused,
    /// No cluster is being updated, and clusters are waiting for approval.
    Unapproved,
    /// More clusters failed than maxFailures allows: no other cluster starts.
    Stopped,
    /// Every cluster was updated and some have failed, or an administrator must act.
    Failed,
    /// It is being deleted.
    Deleting,
    /// No cluster has it, and no cluster is selected.
    Empty,
    /// Another program manages it.
    NotManaged,
}

impl Phase {
    /// Returns its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "Done",
            Self::Progressing => "Progressing",
            Self::Waiting => "Waiting",
            Self::Paused => "Paused",
            Self::Unapproved => "Unapproved",
            Self::Stopped => "Stopped",
            Self::Failed => "Failed",
            Self::Deleting => "Deleting",
            Self::Empty => "Empty",
            Self::NotManaged => "NotManaged",
        }
    }

    /// Returns whether it continues without an action: a command that waits for its end continues to wait.
    pub const fn goes_on(self) -> bool {
        match self {
            Self::Progressing | Self::Waiting | Self::Deleting => true,
            Self::Done
            | Self::Paused
            | Self::Unapproved
            | Self::Stopped
            | Self::Failed
            | Self::Empty
            | Self::NotManaged => false,
        }
    }

    /// Returns the exit status of `rollout status`: 0 done, 1 failed or stopped, 3 not over.
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Stopped | Self::Failed | Self::Empty | Self::NotManaged => 1,
            Self::Progressing | Self::Waiting | Self::Paused | Self::Unapproved | Self::Deleting => 3,
        }
    }

    /// Returns whether an administrator must act.
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Stopped | Self::Failed => true,
            Self::Done
            | Self::Progressing
            | Self::Waiting
            | Self::Paused
            | Self::Unapproved
            | Self::Deleting
            | Self::Empty
            | Self::NotManaged => false,
        }
    }
}
