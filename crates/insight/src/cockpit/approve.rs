//! The approval of what waits for one: of the groups that wait now, and of the content that they wait with.
//!
//! Decides what is approved, and when nothing is: a group whose turn has not come is not approved in advance, because the
//! approver cannot have looked at those that go before it. Never approves of a content that the asker has not named where one was
//! named.

use serde_json::{Value, json};

use super::approval::{AskedApproval, WaveApproval};
use super::picture::{Picture, TargetKind};
use super::steer::{Steer, placement};
use super::writing::{Form, Writing};
use api::{approval_name, upgrade_approval_name};
use kubernetes::field::{counted, listed, quoted};
use store::Kind;

/// What a user decides about a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// The clusters can start.
    #[default]
    Approve,
    /// They keep their current configuration.
    Reject,
}

/// What is decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approve {
    /// Which decision it is.
    pub decision: Decision,
    /// Only of this placement.
    pub placement: Option<String>,
    /// Only of this decision group.
    pub group: Option<String>,
    /// Only of these contents, by their hashes; whatever waits where none is named.
    pub contents: Vec<String>,
}

/// Returns what approves of the groups that are meant, or why there are none.
pub(super) fn approve(ask: Steer<'_>, wish: &Approve) -> Result<Writing, String> {
    let place = wish
        .placement
        .as_deref()
        .map(|asked| placement(ask, asked))
        .transpose()?;
    let is_there = |one: &&AskedApproval| {
        place.as_ref().is_none_or(|place| one.placement == *place)
            && wish.group.as_ref().is_none_or(|group| one.group == *group)
    };
    let asked = &ask.picture.approvals;
    let there: Vec<&AskedApproval> = asked.iter().filter(is_there).collect();
    if there.is_empty() {
        return Err(nothing(ask.picture, wish));
    }
    let is_seen = |one: &AskedApproval| wish.contents.is_empty() || wish.contents.contains(&one.hash);
    let meant: Vec<&AskedApproval> = there.iter().copied().filter(|one| is_seen(one)).collect();
    if meant.is_empty() {
        let waits: Vec<String> = there.into_iter().map(AskedApproval::told).collect();
        return Err(format!(
            "different content is waiting for approval now: {}; check it first",
            waits.join("; ")
        ));
    }
    let waiting = meant
        .iter()
        .fold(0usize, |all, one| all.saturating_add(one.waiting));
    let groups: Vec<String> = meant.iter().map(|one| one.title()).collect();
    let clusters = counted(waiting, "cluster");
    let groups = groups.join(", ");
    let (result, note) = match wish.decision {
        Decision::Approve => ("Approved", format!("{clusters} can start: {groups}")),
        Decision::Reject => ("Rejected", format!("{clusters} will not start: {groups}")),
    };
    Ok(decided(ask, &meant, result).noting(Some(note)))
}

/// Each decision names the content, so that none is about another one. Who decides is recorded by the webhook.
fn decided(ask: Steer<'_>, meant: &[&AskedApproval], result: &str) -> Writing {
    let target = &ask.picture.target;
    let mut bodies = Vec::new();
    let mut says = Vec::new();
    for one in meant {
        let name = match target.kind {
            TargetKind::ClusterManagementAddOn => approval_name(&target.name, &one.placement, &one.group),
            TargetKind::ManagedClustersUpgrade => {
                upgrade_approval_name(&format!("{}/{}", target.namespace, target.name), &one.group)
            }
        };
        let reason = ask.reason.map_or(Value::Null, Value::from);
        // A decision replaces the last one as a whole.
        let decision =
            json!({"result": result, "content": one.hash, "reason": reason, "by": null, "at": null});
        says.push(format!(
            "spec.decision of RolloutApproval {name}: {result} (content {})",
            one.hash
        ));
        bodies.push(
            json!({"apiVersion": Kind::Approval.api_version(), "kind": Kind::Approval.address().kind,
            "metadata": {"name": name}, "spec": {"decision": decision}}),
        );
    }
    let mut bodies = bodies.into_iter();
    let first = bodies.next().unwrap_or_default();
    Writing {
        form: Form::Merge,
        more: bodies.collect(),
        ..Writing::apply(first, says)
    }
}

/// Why there is nothing to approve.
fn nothing(picture: &Picture, wish: &Approve) -> String {
    let asked = picture.approvals.iter();
    let asked: Vec<String> = asked.map(AskedApproval::path).collect();
    if !asked.is_empty() {
        let listed = listed(asked.iter().map(String::as_str));
        let meant = match (&wish.group, &wish.placement) {
            (Some(group), _) => format!("group {}", quoted(group)),
            (None, Some(placement)) => format!("placement {}", quoted(placement)),
            (None, None) => "it".to_owned(),
        };
        return format!("{meant} is not waiting for approval; the groups waiting for approval are {listed}");
    }
    let later = picture
        .waves
        .iter()
        .filter(|wave| wave.approval == Some(WaveApproval::Later));
    let later: Vec<String> = later
        .map(|wave| format!("{} of placement {}", wave.name, wave.placement))
        .collect();
    if later.is_empty() {
        return "no change is waiting for approval".to_owned();
    }
    if let Some(why) = &picture.paused {
        return format!(
            "no change is waiting for approval yet: the change stops before {}, and {why}; run `tidegate rollout resume` first",
            later.join(", ")
        );
    }
    format!(
        "no change is waiting for approval yet: the change stops before {}, and the earlier groups are not done",
        later.join(", ")
    )
}
