//! From what a plan waits for to the cause.
//!
//! Waits that never end without an action come before waits that do.

use super::answer::{Cause, Grade};
use super::causes::{self, CauseDoc};
use super::command::{describe, get, list_placements};
use super::links::config_name;
use plan::{TurnSubject, Wait, WaitOn};
use store::Kind;

/// Returns the cause of a wait, without the cluster's name.
pub(super) fn cause(wait: &Wait) -> Cause {
    let text = Wait::addon(wait.on.clone()).to_string();
    let cause = Cause::new(doc(&wait.on), text).graded(grade(&wait.on));
    let command = if let WaitOn::Placement(namespace, _) = &wait.on {
        Some(list_placements(namespace))
    } else if let WaitOn::Decision(namespace, name) | WaitOn::MaySelect(namespace, name) = &wait.on {
        Some(describe("placement", namespace, name))
    } else if let WaitOn::Config(config, _) | WaitOn::Content(config) = &wait.on {
        Some(get(&config.of.to_string(), &config.namespace, &config.name))
    } else if let WaitOn::Reason(object, _) = &wait.on {
        Some(get(
            object.kind.address().resource,
            &object.namespace,
            &object.name,
        ))
    } else {
        None
    };
    Cause { command, ..cause }
}

/// Returns the link of the chain that a wait of an add-on is about.
pub(super) fn object(addon: &str, on: &WaitOn) -> Option<String> {
    let placement = |namespace: &str, name: &str| Some(format!("Placement {namespace}/{name}"));
    if let WaitOn::Placement(namespace, name)
    | WaitOn::Decision(namespace, name)
    | WaitOn::MaySelect(namespace, name) = on
    {
        placement(namespace, name)
    } else if let WaitOn::Config(config, _) | WaitOn::Content(config) = on {
        Some(config_name(config))
    } else if let WaitOn::Reason(object, _) = on {
        (object.kind == Kind::Placement)
            .then(|| placement(&object.namespace, &object.name))
            .flatten()
    } else if let WaitOn::Rollout(turn) = on {
        match &turn.about {
            TurnSubject::Placement(namespace, name) => placement(namespace, name),
            TurnSubject::Approval(approval) => Some(format!("Placement {}", approval.place)),
            TurnSubject::Config(config) => Some(config_name(config)),
            TurnSubject::AddOn => Some(format!("ClusterManagementAddOn {addon}")),
            TurnSubject::Dependency(_) => None,
        }
    } else {
        None
    }
}

/// Only what ends by itself is no fault.
fn grade(on: &WaitOn) -> Grade {
    if let WaitOn::Grace(due) = on {
        Grade::Waits(Some(*due))
    } else if matches!(on, WaitOn::ClusterDeletion) {
        Grade::Waits(None)
    } else if matches!(on, WaitOn::Adopted(_)) {
        Grade::Meant
    } else if matches!(on, WaitOn::OptedOut) {
        Grade::Absent
    } else {
        Grade::Fault
    }
}

/// Returns whether a wait of an add-on blocks all changes until an administrator acts.
pub(super) fn stalls(on: &WaitOn) -> bool {
    matches!(
        on,
        WaitOn::Placement(..)
            | WaitOn::InstallStrategy(_)
            | WaitOn::LabelSelector(_)
            | WaitOn::NoLabelSelector
    )
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
        // What is as it was meant hides nothing.
        WaitOn::Adopted(_) => 3,
        WaitOn::Agent(_) | WaitOn::Rendering(_) => 2,
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
        | WaitOn::RemovalBudget(..)
        | WaitOn::Reason(..)
        | WaitOn::MaySelect(..)
        | WaitOn::Absences(..)
        | WaitOn::Hook(_)
        | WaitOn::Creation(_) => 0,
    }
}

fn doc(on: &WaitOn) -> &'static CauseDoc {
    match on {
        WaitOn::Placement(..) => causes::PLACEMENT_MISSING,
        WaitOn::Decision(..) | WaitOn::MaySelect(..) => causes::PLACEMENT_UNDECIDED,
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
        WaitOn::Adopted(_) => causes::ADOPTED,
        WaitOn::Grace(_) => causes::GRACE,
        WaitOn::RemovalBudget(..) | WaitOn::Absences(..) => causes::REMOVAL_HELD,
        WaitOn::Reason(..) => causes::REMOVAL_UNCONFIRMED,
        WaitOn::Content(_) => causes::CONTENT,
        WaitOn::Agent(_) => causes::AGENT,
        WaitOn::Rendering(_) => causes::RENDERING,
        WaitOn::Hook(_) => causes::HOOK,
        WaitOn::Creation(_) => causes::CREATION,
        WaitOn::Label => causes::LABEL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ends_by_itself_is_no_fault() {
        let grade = |on: WaitOn| cause(&Wait::addon(on)).grade;
        let due = jiff::Timestamp::UNIX_EPOCH;
        assert_eq!(grade(WaitOn::Grace(due)), Grade::Waits(Some(due)));
        assert_eq!(grade(WaitOn::OptedOut), Grade::Absent);
        assert_eq!(grade(WaitOn::RemovalBudget(1, due)), Grade::Fault);
        assert_eq!(grade(WaitOn::Placement("n".into(), "p".into())), Grade::Fault);
    }
}
