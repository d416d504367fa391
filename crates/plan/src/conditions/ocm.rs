//! The words of current Open Cluster Management's add-on manager, to the letter: `docs/ocm/compat.md` has the table.
//!
//! Decides `Configured` and `Progressing` of an instance where the operator chose them (`--compat ocm`), and which conditions name no
//! generation then. Never decides what happens: the state and the rollout do (`progressing.rs`, `rollout/`).

use super::Wish;
use super::available::AVAILABLE;
use super::configured::CONFIGURED;
use super::manifest_applied::{HOSTING_MANIFEST_APPLIED, MANIFEST_APPLIED};
use super::progressing::{self, PROGRESSING, carries, is_ready};
use super::state::{Outcome, Phase, State, Words};
use crate::rollout::Member;
use crate::work::deployed_works;
use api::names::conditions;
use api::reason::Reason;
use store::{ConfigType, Failures, Instance, Reference, Status, View, Vocabulary};

/// The conditions in which Open Cluster Management names no generation.
const BARE: [&str; 8] = [
    CONFIGURED,
    PROGRESSING,
    AVAILABLE,
    MANIFEST_APPLIED,
    HOSTING_MANIFEST_APPLIED,
    conditions::REGISTRATION_APPLIED,
    conditions::TOKEN_INFRASTRUCTURE_READY,
    conditions::HOOK_MANIFEST_COMPLETED,
];

/// Returns the wishes without `observedGeneration` where Open Cluster Management has none, if that is what the operator chose.
pub(crate) fn bared<'a>(view: &View<'_>, wishes: Vec<Wish<'a>>) -> Vec<Wish<'a>> {
    if !view.settings().is_ocm() {
        return wishes;
    }
    let bare = |wish: Wish<'a>| {
        let is_bare = BARE.contains(&wish.kind());
        wish.bare_if(is_bare)
    };
    wishes.into_iter().map(bare).collect()
}

/// Returns whether `Progressing` has exactly Open Cluster Management's messages.
pub(crate) fn tells_progress(view: &View<'_>) -> bool {
    view.settings().is_ocm() && view.settings().reasons == Vocabulary::Ocm
}

/// Returns `Configured`; `None` leaves what stands there: who is neither on the way nor there has nothing new to say.
pub(crate) fn configured(member: &Member<'_>) -> Option<Wish<'static>> {
    if member.notice.is_some() {
        let message = "Configurations updated and not configured yet";
        return Some(Wish::new(
            CONFIGURED,
            Status::False,
            Reason::ConfigurationsNotConfigured,
            message,
        ));
    }
    let is_theirs = |reason: &str| {
        *reason == Reason::ConfigurationsConfigured || *reason == Reason::ConfigurationsNotConfigured
    };
    let stated = member.instance.condition(CONFIGURED);
    let is_over = member.timed_out || member.failure.is_some();
    if is_over && stated.is_none_or(|stated| is_theirs(&stated.reason)) {
        return None;
    }
    Some(Wish::new(
        CONFIGURED,
        Status::True,
        Reason::ConfigurationsConfigured,
        "Configurations configured",
    ))
}

/// The facts from which `Progressing` is set.
#[derive(Debug)]
pub(crate) struct ProgressInputs<'s> {
    /// The first type of the instance's own configurations that it may not override.
    pub unsupported: Option<&'s ConfigType>,
    /// Whether `ManifestApplied` and `HostingManifestApplied` stand there after this plan.
    pub manifests: [bool; 2],
    /// The state, which knows what this plan writes.
    pub state: &'s State,
}

/// Returns the words of `Progressing`. The first thing that is not right gives them.
pub(crate) fn progressing(view: &View<'_>, member: &Member<'_>, seen: &ProgressInputs<'_>) -> Words {
    let told = |state: &State| state.progressing(Vocabulary::Ocm, None);
    let instance = member.instance;
    if let Some(of) = seen.unsupported {
        return told(&State::Unsupported(of.clone()));
    }
    let [manifests, hosting] = seen.manifests;
    if !manifests {
        return told(&State::WaitingForManifests);
    }
    if !instance.hosting_cluster.is_empty() && !hosting {
        return told(&State::WaitingForHostingManifests);
    }
    let running = |why: &str| told(&State::Phase(Phase::Upkeep, Outcome::Running(why.to_owned())));
    // Health counts as a failure where the operator chose that; Open Cluster Management never says it.
    if let State::Phase(_, Outcome::Failed(error)) = seen.state
        && member.failure.is_some()
    {
        return told(&State::Phase(Phase::Upkeep, Outcome::Failed(error.clone())));
    }
    let done = || told(&State::Phase(Phase::Upkeep, Outcome::Succeeded));
    if seen.state.is_done() {
        return done();
    }
    if let Some(why) = wrong(view, instance, &member.assigned) {
        return running(why);
    }
    // Who is about to write a work, or has yet to hear of it, is not done, whatever the works on the hub say.
    let is_there = member.assigned.iter().all(Reference::is_applied);
    if !is_there || matches!(seen.state, State::Phase(_, Outcome::Running(_))) {
        return running("work is not ready");
    }
    done()
}

/// What is wrong with the first work that is not right.
fn wrong(view: &View<'_>, instance: &Instance, assigned: &[Reference]) -> Option<&'static str> {
    let mut works = deployed_works(view, instance).peekable();
    if works.peek().is_none() {
        return Some("no addon works");
    }
    works.find_map(|work| match (carries(work, assigned), is_ready(work)) {
        (false, _) => Some("mca and work configs mismatch"),
        (true, false) => Some("work is not ready"),
        (true, true) => None,
    })
}

/// Returns what an agent says of a work that it could not apply, where that is no failure.
pub(crate) fn complaint(view: &View<'_>, instance: &Instance) -> Option<String> {
    if view.settings().failures == Failures::Health {
        return None;
    }
    let mut said = deployed_works(view, instance).filter_map(progressing::complaint);
    said.next().map(|words| format!("work is not ready: {words}"))
}
