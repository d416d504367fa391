//! The approval of what waits for one: of the groups that wait now, and of the content that they wait with.
//!
//! Decides what is approved, and when nothing is: a group whose turn has not come is not approved in advance, because the
//! approver cannot have looked at those that go before it. Never approves of a content that the asker has not named where one was
//! named.

use serde_json::Value;

use super::approval::{AskedApproval, WaveApproval};
use super::picture::Picture;
use super::steer::{Steer, annotated, annotation, is_placement, placement};
use super::writing::Writing;
use kubernetes::field::{counted, listed};
use model::{Approval, approval};
use store::terms;

/// So many approvals of a group stay: the last one, and the one before.
const KEPT: usize = 2;

/// What is to be approved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approve {
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
        return Err(nothing(ask.picture));
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
    let known = annotation(ask.object, terms::APPROVED).unwrap_or_default();
    let waiting = meant
        .iter()
        .fold(0usize, |all, one| all.saturating_add(one.waiting));
    let groups: Vec<String> = meant
        .iter()
        .map(|one| format!("{} of placement {}", one.group, one.placement))
        .collect();
    let note = format!(
        "{} can start: decision group {}",
        counted(waiting, "cluster"),
        groups.join(", ")
    );
    let all = joined(known, ask.object, &meant);
    Ok(annotated(terms::APPROVED, &all).noting(Some(note)))
}

/// The approvals with the new ones first. What a group was approved of last stays, so that the way back to it needs no second approval; what
/// was approved before that has gone by, and so has what was of a placement that the add-on no longer has.
fn joined(known: &str, object: &Value, meant: &[&AskedApproval]) -> String {
    let new = meant.iter().map(|one| Approval {
        place: one.placement.clone(),
        group: one.group.clone(),
        hash: one.hash.clone(),
    });
    let mut all: Vec<Approval> = new.collect();
    for old in known.split(',').filter_map(approval) {
        let is_same = |other: &&Approval| other.place == old.place && other.group == old.group;
        if is_placement(object, &old.place)
            && !all.contains(&old)
            && all.iter().filter(is_same).count() < KEPT
        {
            all.push(old);
        }
    }
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.join(",")
}

/// Why there is nothing to approve.
fn nothing(picture: &Picture) -> String {
    let asked = picture.approvals.iter();
    let asked: Vec<String> = asked
        .map(|one| format!("{}/{}", one.placement, one.group))
        .collect();
    if !asked.is_empty() {
        let listed = listed(asked.iter().map(String::as_str));
        return format!("it is not waiting for approval; the groups waiting for approval are {listed}");
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
