//! Whether an instance is in progress: its state, judged from its works.
//!
//! Decides phase and outcome. An agent that says it failed is believed at once; nothing is called done before the agent
//! has confirmed the very content that is assigned. Never writes words (`state.rs`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::manifest_applied::{HOSTING_MANIFEST_APPLIED, MANIFEST_APPLIED};
use super::state::{Outcome, Phase, State};
use crate::config::Trouble;
use crate::rollout::{Member, Step, Trial};
use crate::types::{Wait, WaitOn};
use crate::version::{self, goes_down};
use crate::work::{Body, Rendering, deployed_works};
use api::hash::{ConfigKey, parse_config_spec_hash};
use api::reason::{Class, Reason};
use store::{ConfigRef, Failures, Instance, Reference, Signal, Status, View, Vocabulary, Work};

/// Condition that reports the progress of the instance.
pub(crate) const PROGRESSING: &str = "Progressing";
const NOT_READY: &str = "work is not ready";

/// Returns the state of an instance.
pub(crate) fn state(
    view: &View<'_>,
    member: &Member<'_>,
    rendering: &Rendering<'_>,
    trouble: Option<&Trouble>,
) -> State {
    if let Some(of) = &member.effective.unsupported {
        return State::Unsupported(of.clone());
    }
    if let Some(bad) = version::invalid(member) {
        let failed = Outcome::Failed(String::new());
        let kept = version::is_present(member, bad).then(|| upkeep(view, member, &failed));
        let phase = kept.flatten().unwrap_or_else(|| phase(view, member, &failed));
        return State::Phase(phase, Outcome::Failed(version::refusal(phase, member, bad)));
    }
    if let Rendering::Waiting(on) = rendering
        && !keeps_on(view, member, on)
    {
        return waiting(member, on, trouble);
    }
    let outcome = match rendering {
        Rendering::NotOurs => match foreign(view, member) {
            Foreign::State(state) => return state,
            Foreign::Outcome(outcome) => outcome,
        },
        Rendering::Waiting(_) | Rendering::Refused(_) | Rendering::Bodies(_) => own(view, member, rendering),
    };
    // What counts as a failure in the rollout is shown as one.
    let outcome = match (outcome, &member.failure) {
        (Outcome::Failed(_), _) if only_late(view) && !matches!(rendering, Rendering::Refused(_)) => {
            running(NOT_READY)
        }
        (Outcome::Failed(error), _) => Outcome::Failed(error),
        (Outcome::Running(_) | Outcome::Succeeded, Some(error)) if member.step == Step::Settled => {
            Outcome::Failed(error.clone())
        }
        (outcome, _) => outcome,
    };
    let phase = upkeep(view, member, &outcome).unwrap_or_else(|| phase(view, member, &outcome));
    State::Phase(phase, outcome)
}

/// Whether only time makes a failure: then an agent that says it failed is not ready, and no more.
fn only_late(view: &View<'_>) -> bool {
    view.settings().failures == Failures::Deadline
}

fn own(view: &View<'_>, member: &Member<'_>, rendering: &Rendering<'_>) -> Outcome {
    let instance = member.instance;
    match rendering {
        Rendering::NotOurs => Outcome::Succeeded,
        // The works stay as they are, so what the agent says about them still holds.
        Rendering::Waiting(WaitOn::Content(_)) if has_assigned_works(view, member) => {
            worst(deployed_works(view, instance).map(reported))
        }
        Rendering::Refused(error) => Outcome::Failed(error.clone()),
        // What has failed does not begin again because the content it failed with was edited: it would count as being in progress.
        Rendering::Waiting(WaitOn::Content(_)) if let Some(words) = failed_before(member) => {
            Outcome::Failed(words)
        }
        Rendering::Waiting(on) => Outcome::Running(Wait::addon(on.clone()).to_string()),
        Rendering::Bodies(bodies) => worst(bodies.iter().map(|body| confirmed(instance, body))),
    }
}

/// Whether what is said of the works, or was said last, still holds while nothing can be made again.
fn keeps_on(view: &View<'_>, member: &Member<'_>, on: &WaitOn) -> bool {
    matches!(on, WaitOn::Content(_)) && (has_assigned_works(view, member) || failed_before(member).is_some())
}

/// Nothing is made for it, so that no agent is at work: what it waits for is in `Configured`, or else here.
fn waiting(member: &Member<'_>, on: &WaitOn, trouble: Option<&Trouble>) -> State {
    let told = |reason: Reason| State::Waiting {
        reason,
        message: Cow::Borrowed(reason.cause()),
    };
    if let Some(trouble) = trouble {
        return told(trouble.reason);
    }
    if let Some(notice) = member.notice.as_deref() {
        return told(notice.reason);
    }
    let reason = if matches!(on, WaitOn::Content(_)) {
        Reason::ContentSuperseded
    } else {
        Reason::ClusterNotFound
    };
    State::Waiting {
        reason,
        message: Cow::Owned(Wait::addon(on.clone()).to_string()),
    }
}

/// Returns the failure that stands there, if the instance keeps what it is assigned.
fn failed_before(member: &Member<'_>) -> Option<String> {
    let said = member.instance.condition(PROGRESSING)?;
    (member.step != Step::Move && Reason::word_is(&said.reason, Class::Failed))
        .then(|| said.message.to_string())
}

/// Returns whether the works on the hub are those of the assigned content.
fn has_assigned_works(view: &View<'_>, member: &Member<'_>) -> bool {
    let mut works = deployed_works(view, member.instance).peekable();
    works.peek().is_some() && works.all(|work| carries(work, &member.assigned))
}

/// Returns whether the agents have confirmed the present generation of every work, and the works are of what is assigned. Where
/// there is no work, one that is `deployed` from a template has yet to get it, and for others no agent is waited for.
pub(crate) fn is_confirmed(view: &View<'_>, instance: &Instance, deployed: bool) -> bool {
    let mut works = deployed_works(view, instance).peekable();
    (works.peek().is_some() || !deployed)
        && works.all(|work| carries(work, &instance.references) && reported(work) == Outcome::Succeeded)
}

/// A work that this very plan writes cannot be ready; saying more would cost a second status write for every cluster.
/// Nor can one that is being deleted: its agent is cleaning up.
fn confirmed(instance: &Instance, body: &Body<'_>) -> Outcome {
    match body.work {
        Some(work) if !work.meta.deleting && body.equals(instance, work) => reported(work),
        Some(_) | None => running(NOT_READY),
    }
}

/// Returns whether the agent has applied the present generation of a work, and it is there.
pub(crate) fn is_ready(work: &Work) -> bool {
    reported(work) == Outcome::Succeeded
}

/// Returns why an agent could not apply the present generation of a work, in its words.
pub(crate) fn complaint(work: &Work) -> Option<String> {
    match reported(work) {
        Outcome::Failed(words) => Some(words),
        Outcome::Running(_) | Outcome::Succeeded => None,
    }
}

/// What the agent says about the present generation of a work.
pub(crate) fn reported(work: &Work) -> Outcome {
    let says = |signal: &Option<Signal>, status: Status| {
        signal
            .as_ref()
            .is_some_and(|signal| signal.current && signal.status == status)
    };
    if says(&work.applied, Status::False) {
        return Outcome::Failed(apply_failure(work));
    }
    if says(&work.applied, Status::True) && says(&work.available, Status::True) {
        return Outcome::Succeeded;
    }
    running(NOT_READY)
}

/// Returns why a work could not be applied, in the words of its agent.
pub(crate) fn apply_failure(work: &Work) -> String {
    let said = work
        .applied
        .as_ref()
        .map(|signal| &*signal.message)
        .unwrap_or_default();
    match (said.is_empty(), work.failure.is_empty()) {
        (false, true) => said.to_owned(),
        (true, true) => "failed to apply the manifests of addon".to_owned(),
        (true, false) => work.failure.to_string(),
        (false, false) if said.contains(&*work.failure) => said.to_owned(),
        (false, false) => format!("{said}: {}", work.failure),
    }
}

enum Foreign {
    State(State),
    Outcome(Outcome),
}

/// An add-on that another program deploys: it reports `ManifestApplied` and stamps its works with the hashes.
fn foreign(view: &View<'_>, member: &Member<'_>) -> Foreign {
    let instance = member.instance;
    if instance.condition(MANIFEST_APPLIED).is_none() {
        return Foreign::State(State::WaitingForManifests);
    }
    let hosted = !instance.hosting_cluster.is_empty();
    if hosted && instance.condition(HOSTING_MANIFEST_APPLIED).is_none() {
        return Foreign::State(State::WaitingForHostingManifests);
    }
    let works: Vec<&Work> = deployed_works(view, instance).collect();
    if works.is_empty() {
        return Foreign::Outcome(running("no addon works"));
    }
    Foreign::Outcome(worst(works.into_iter().map(|work| {
        if carries(work, &member.assigned) {
            reported(work)
        } else {
            running("mca and work configs mismatch")
        }
    })))
}

/// Returns whether the hashes that a work carries are the assigned ones, whichever program wrote them.
pub(crate) fn carries(work: &Work, assigned: &[Reference]) -> bool {
    let hashes = &*work.hashes;
    if hashes.is_empty() {
        return assigned.is_empty();
    }
    let Ok(carried) = parse_config_spec_hash(hashes) else {
        return false;
    };
    let wanted: BTreeMap<ConfigKey, String> = assigned.iter().map(key).collect();
    carried == wanted && carried.values().all(|hash| !hash.is_empty())
}

fn key(reference: &Reference) -> (ConfigKey, String) {
    let ConfigRef { of, namespace, name } = &reference.config;
    let key = ConfigKey {
        resource: of.resource.to_string(),
        group: of.group.to_string(),
        namespace: namespace.to_string(),
        name: name.to_string(),
    };
    (key, reference.desired.to_string())
}

/// A failure outweighs what is running, and that what is done; the first of a kind gives the words.
fn worst(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Failed(_) => 2,
        Outcome::Running(_) => 1,
        Outcome::Succeeded => 0,
    };
    outcomes.fold(Outcome::Succeeded, |worst, next| {
        if rank(&next) > rank(&worst) { next } else { worst }
    })
}

fn running(why: &str) -> Outcome {
    Outcome::Running(why.to_owned())
}

/// A phase that ended is not named again by what happens to the same content later: no install, upgrade or rollback is under way
/// then. While a change has yet to prove itself, a failure is still that of the change.
fn upkeep(view: &View<'_>, member: &Member<'_>, outcome: &Outcome) -> Option<Phase> {
    let reason = &member.instance.condition(PROGRESSING)?.reason;
    let has_ended = Reason::word_is(reason, Class::Succeeded)
        && member.trial == Trial::Over
        && *outcome != Outcome::Succeeded;
    let is_there = member.step != Step::Move && member.assigned.iter().all(Reference::is_applied);
    ((was_kept(view, reason) || has_ended) && is_there).then_some(Phase::Upkeep)
}

/// Whether a reason says that no change was under way. OCM's words say that of none.
fn was_kept(view: &View<'_>, reason: &str) -> bool {
    view.settings().reasons == Vocabulary::Lifecycle && Phase::of_reason(reason) == Some(Phase::Upkeep)
}

/// Install until something was applied once. A phase stays until the next change, so that its end is named like its begin.
fn phase(view: &View<'_>, member: &Member<'_>, outcome: &Outcome) -> Phase {
    let reason = member
        .instance
        .condition(PROGRESSING)
        .map(|condition| &*condition.reason)
        .unwrap_or_default();
    let previous = Phase::of_reason(reason).filter(|phase| *phase != Phase::Upkeep);
    let applied_before = member
        .instance
        .references
        .iter()
        .any(|reference| reference.applied.is_some());
    let done_before = Reason::word_is(reason, Class::Succeeded)
        || previous.is_some_and(|phase| phase != Phase::Install)
        || was_kept(view, reason);
    let starts = member.step == Step::Move
        || (*outcome != Outcome::Succeeded
            && member.assigned.iter().any(|reference| !reference.is_applied()));
    match previous {
        _ if !applied_before && !done_before => Phase::Install,
        Some(Phase::Rollback) if !matches!(member.step, Step::Move) => Phase::Rollback,
        // Who has yet to go back is still at what it went forth to.
        _ if starts && member.effective.undone && member.step != Step::Hold => Phase::Rollback,
        _ if starts && goes_down(view, member) => Phase::Rollback,
        _ if starts => Phase::Upgrade,
        Some(phase) => phase,
        None if member.assigned.iter().all(Reference::is_applied) => Phase::Install,
        None => Phase::Upgrade,
    }
}
