//! From what a plan waits for to the cause.
//!
//! Decides the order in which waits count: what can never move before what only takes its time.

use super::answer::Cause;
use super::causes::{self, CauseDoc};
use crate::plan::{Wait, WaitOn};

/// Returns the cause of a wait, without the cluster's name.
pub(super) fn cause(wait: &Wait) -> Cause {
    let text = Wait::addon(wait.on.clone()).to_string();
    Cause {
        doc: doc(&wait.on),
        detail: text,
    }
}

/// Returns the wait that matters most.
pub(super) fn heaviest<'w>(waits: impl Iterator<Item = &'w Wait>) -> Option<&'w Wait> {
    waits.min_by_key(|wait| rank(&wait.on))
}

/// Tells whether works and conditions know more about it than the wait does.
pub(super) fn is_about_the_agent(on: &WaitOn) -> bool {
    rank(on) == 2
}

fn rank(on: &WaitOn) -> u8 {
    match on {
        WaitOn::Agent(_) => 2,
        WaitOn::Rollout(_) | WaitOn::Content(_) | WaitOn::Label => 1,
        WaitOn::Placement(..)
        | WaitOn::Decision(..)
        | WaitOn::Cluster
        | WaitOn::ClusterDeletion
        | WaitOn::Deletion
        | WaitOn::Config(..)
        | WaitOn::Version(_)
        | WaitOn::Template(_)
        | WaitOn::UnsupportedType(_)
        | WaitOn::InstallStrategy(_)
        | WaitOn::LabelSelector(_)
        | WaitOn::NoLabelSelector
        | WaitOn::Acceptance
        | WaitOn::OptedOut
        | WaitOn::Grace(_)
        | WaitOn::Hook(_) => 0,
    }
}

fn doc(on: &WaitOn) -> &'static CauseDoc {
    match on {
        WaitOn::Placement(..) => causes::PLACEMENT_MISSING,
        WaitOn::Decision(..) => causes::PLACEMENT_UNDECIDED,
        WaitOn::Cluster => causes::CLUSTER_MISSING,
        WaitOn::ClusterDeletion => causes::CLUSTER_LEAVING,
        WaitOn::Deletion => causes::DELETING,
        WaitOn::Config(..) => causes::CONFIG,
        WaitOn::Version(_) | WaitOn::Template(_) => causes::VERSION,
        WaitOn::UnsupportedType(_) => causes::UNSUPPORTED,
        WaitOn::Rollout(_) => causes::TURN,
        WaitOn::InstallStrategy(_) | WaitOn::LabelSelector(_) | WaitOn::NoLabelSelector => causes::STRATEGY,
        WaitOn::Acceptance => causes::NOT_ACCEPTED,
        WaitOn::OptedOut => causes::OPTED_OUT,
        WaitOn::Grace(_) => causes::GRACE,
        WaitOn::Content(_) => causes::CONTENT,
        WaitOn::Agent(_) => causes::AGENT,
        WaitOn::Hook(_) => causes::HOOK,
        WaitOn::Label => causes::LABEL,
    }
}
