//! How far the pre-delete hooks of one instance are, and the next step: make their work, wait for it, or try again.
//!
//! An attempt that has failed stays on the cluster for a pause that grows, so that its log can be read; then its work is
//! deleted and made again. Failures are counted on the instance, since a deleted work has no record. The timeout is
//! decided elsewhere.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::hook_body::{self, Hooks, Recipes};
use super::types::{Action, Revision};
use super::work::is_deploy_work;
use crate::conditions::manifest_applied::MANIFEST_APPLIED;
use crate::conditions::progressing::apply_failure;
use api::reason::Reason;
use store::{FailedHook, Instance, Kind, ObjectKey, Signal, Status, View, Work, terms};

/// So far ahead may the clock of another leader have been.
const AHEAD: SignedDuration = SignedDuration::from_secs(5);
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// How far the hooks of an instance are.
#[derive(Debug)]
pub(super) enum Run {
    /// Nothing has to run, and why.
    Unneeded(&'static str),
    /// Everything has run.
    Completed,
    /// Not yet.
    Pending(Pending),
}

/// Hooks that have not completed.
#[derive(Debug)]
pub(super) struct Pending {
    /// The next step.
    pub actions: Vec<Action>,
    /// What the condition should say; absent leaves what stands there.
    pub reason: Option<Reason>,
    /// What is the matter.
    pub why: String,
    /// When the next step is due although nothing happens.
    pub again: Option<Timestamp>,
}

impl Pending {
    fn waiting(why: impl Into<String>) -> Self {
        Self {
            actions: Vec::new(),
            reason: None,
            why: why.into(),
            again: None,
        }
    }

    fn because(mut self, reason: Reason) -> Self {
        self.reason = Some(reason);
        self
    }
}

/// Returns how far the hooks of a deleted instance are.
pub(super) fn run(view: &View<'_>, recipes: &mut Recipes, instance: &Instance, now: Timestamp) -> Run {
    match stored(view, instance) {
        Some(work) if work.meta.deleting => {
            Run::Pending(Pending::waiting("an earlier work is still being removed"))
        }
        // It goes with what it was made for.
        Some(work) if !is_for(instance, work) => Run::Pending(Pending::waiting(
            "the work of an earlier add-on is not deleted yet",
        )),
        Some(work) if has_completed(work) => Run::Completed,
        Some(work) => Run::Pending(match problem(work) {
            Some(problem) => failed(instance, work, &problem, now),
            None => {
                Pending::waiting("the hooks have not completed").because(Reason::HookManifestIsNotCompleted)
            }
        }),
        None => begin(view, recipes, instance, now),
    }
}

/// Returns the work of the instance's hooks, or one that is in its place.
pub(super) fn stored<'v>(view: &View<'v>, instance: &Instance) -> Option<&'v Work> {
    let mut works = view.works(&instance.cluster);
    works.find(|work| work.hook.is_some() && !work.hosted)
}

/// Returns whether a work of hooks was made for this very instance, by whatever program.
pub(super) fn is_for(instance: &Instance, work: &Work) -> bool {
    work.owners.iter().any(|owner| owner.uid == instance.meta.uid)
        || work
            .hook
            .as_ref()
            .is_some_and(|hook| hook.of == instance.meta.uid)
}

fn says(signal: Option<&Signal>, status: Status) -> bool {
    signal.is_some_and(|signal| signal.current && signal.status == status)
}

fn has_completed(work: &Work) -> bool {
    let all_have = work
        .hook
        .as_ref()
        .is_some_and(|hook| hook.completed >= hook.manifests);
    all_have && says(work.available.as_ref(), Status::True)
}

fn problem(work: &Work) -> Option<String> {
    if says(work.applied.as_ref(), Status::False) {
        return Some(apply_failure(work));
    }
    let said = work.hook.as_ref().map(|hook| &hook.failure)?;
    (!said.is_empty()).then(|| said.to_string())
}

fn failed(instance: &Instance, work: &Work, problem: &str, now: Timestamp) -> Pending {
    let noted = instance.farewell.failed();
    // A failure that lies ahead was noted by a clock that was wrong; waiting for it could take years.
    let is_past = |known: &FailedHook| known.at.duration_since(now) <= AHEAD;
    let known = noted.filter(|known| known.work == work.meta.uid && is_past(known));
    let noted = known.cloned().unwrap_or_else(|| FailedHook {
        times: noted.map_or(0, |earlier| earlier.times).saturating_add(1),
        at: now,
        work: work.meta.uid.clone(),
    });
    let next = next_attempt(&noted);
    let actions = if known.is_none() {
        vec![note(instance, &noted)]
    } else if next <= now {
        vec![delete(work, "the pre-delete hooks failed and are retried")]
    } else {
        Vec::new()
    };
    let times = noted.times;
    Pending {
        actions,
        again: (now < next).then_some(next),
        ..Pending::waiting(format!(
            "attempt {times} failed: {problem}; the next attempt begins at {next}"
        ))
        .because(Reason::HookFailed)
    }
}

/// Returns when the attempt after a failed one may begin.
fn next_attempt(failed: &FailedHook) -> Timestamp {
    let doublings = failed.times.saturating_sub(1).min(8);
    let pause = FIRST_PAUSE.checked_mul(1 << doublings).unwrap_or(LONGEST_PAUSE);
    let next = failed.at.checked_add(pause.min(LONGEST_PAUSE));
    next.unwrap_or(failed.at)
}

fn begin(view: &View<'_>, recipes: &mut Recipes, instance: &Instance, now: Timestamp) -> Run {
    if !was_deployed(view, instance) {
        return Run::Unneeded("no part of the add-on was deployed");
    }
    let lost = |why: String| {
        let mut works = view.works(&instance.cluster);
        if works.any(|work| is_deploy_work(&instance.addon, &work.name)) {
            Run::Pending(Pending::waiting(why).because(Reason::HookUnknown))
        } else {
            Run::Unneeded("no part of the add-on was deployed")
        }
    };
    let spec = match hook_body::of(view, recipes, instance) {
        Hooks::None => return Run::Unneeded("the template has no pre-delete hooks"),
        Hooks::Unassigned => {
            return lost("the template from which the add-on was deployed is not known".to_owned());
        }
        Hooks::Lost(config) => {
            return lost(format!(
                "{config} is no longer on the hub, and its content is not known"
            ));
        }
        Hooks::Refused(fault) => {
            return Run::Pending(
                Pending::waiting(format!("the hooks cannot be rendered: {fault}"))
                    .because(Reason::HookRenderingFailed),
            );
        }
        Hooks::Spec(spec) => spec,
    };
    let next = instance.farewell.failed().map(next_attempt);
    if let Some(next) = next.filter(|next| now < *next) {
        return Run::Pending(Pending {
            again: Some(next),
            ..Pending::waiting(format!("the next attempt begins at {next}"))
        });
    }
    let create = Action::Create {
        object: ObjectKey::new(
            Kind::Work,
            instance.cluster.clone(),
            terms::hook_work(&instance.addon),
        ),
        body: hook_body::work(instance, &spec).into(),
        why: "pre-delete hooks run before the add-on is removed",
    };
    Run::Pending(Pending {
        actions: vec![create],
        ..Pending::waiting("the hooks have not completed").because(Reason::HookManifestIsNotCompleted)
    })
}

/// Returns whether anything of an instance has reached its cluster: it has a work, or its status has something that no instance has
/// before its first work.
fn was_deployed(view: &View<'_>, instance: &Instance) -> bool {
    let mut works = view.works(&instance.cluster);
    let mut references = instance.references.iter();
    let manifests = instance.condition(MANIFEST_APPLIED);
    works.any(|work| is_deploy_work(&instance.addon, &work.name))
        || references.any(|one| one.applied.is_some())
        || manifests.is_some_and(|manifests| *manifests.reason != Reason::ManifestWorkApplyFailed)
}

fn note(instance: &Instance, failed: &FailedHook) -> Action {
    Action::Replace {
        object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
        before: Revision::from(&instance.meta),
        patch: json!({"metadata": {"annotations": {(terms::HOOK_FAILED): failed.render()}}}).into(),
        why: "the pre-delete hooks failed",
    }
}

/// Returns the deletion of a work of hooks.
pub(super) fn delete(work: &Work, why: &'static str) -> Action {
    Action::Delete {
        object: ObjectKey::new(Kind::Work, work.namespace.clone(), work.name.clone()),
        before: Revision::from(&work.meta),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_ten_seconds_to_five_minutes() {
        let at: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
        for (times, pause) in [
            (1, 10),
            (2, 20),
            (3, 40),
            (5, 160),
            (6, 300),
            (7, 300),
            (u32::MAX, 300),
        ] {
            let failed = FailedHook {
                times,
                at,
                work: "uid".into(),
            };
            let length = next_attempt(&failed).duration_since(at).as_secs();
            assert_eq!(length, pause, "after {times}");
        }
    }
}
