//! The status that every instance should have: references, supported types and conditions.
//!
//! Decides how the state is shown: the columns of `kubectl get`, and what only a user can change; the roll-up for delivery tools
//! is made in `conditions/ready.rs`. Never removes what other programs wrote.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::change_event::Note;
use super::conditions::adopted::{self, ADOPTED};
use super::conditions::available::{AVAILABLE, available, unreachable};
use super::conditions::configured::configured;
use super::conditions::manifest_applied::{HOSTING_MANIFEST_APPLIED, MANIFEST_APPLIED, manifests, refused};
use super::conditions::progressing::{PROGRESSING, state};
use super::conditions::ready::{Aside, RollUpInput};
use super::conditions::reconciling::Arrival;
use super::conditions::stalled::{Stuck, stuck};
use super::conditions::state::{Outcome, State, Words};
use super::conditions::{Wish, assigned, merge, ocm};
use super::config::{Configs, trouble};
use super::registration::Registering;
use super::report::Report;
use super::rollout::{Member, Step};
use super::types::WaitOn;
use super::version;
use super::work::Rendering;
use api::reason::Reason;
use store::terms::MERGED;
use store::{Applied, Condition, ConfigType, Instance, Name, Reference, Status, View};

/// Makes the reports of one instance after the other.
#[derive(Debug)]
pub(super) struct Reporter<'v> {
    view: &'v View<'v>,
    configs: &'v Configs,
    kept: &'v BTreeSet<Name>,
    versions: version::Reader<'v>,
    now: Timestamp,
}

impl<'v> Reporter<'v> {
    /// `kept` are the clusters that nothing selects, and whose instance stays because another field manager applies it.
    pub(super) fn new(
        view: &'v View<'v>,
        configs: &'v Configs,
        kept: &'v BTreeSet<Name>,
        now: Timestamp,
    ) -> Self {
        Self {
            view,
            configs,
            kept,
            versions: version::Reader::new(view),
            now,
        }
    }

    /// Returns the report of one instance.
    pub(super) fn report(&mut self, member: &'v Member<'v>, rendering: &Rendering<'v>) -> Report<'v> {
        let Self {
            view, configs, now, ..
        } = *self;
        let instance = member.instance;
        let trouble = trouble(member, rendering);
        let state = state(view, member, rendering, trouble.as_ref());
        let (references, arrives) = confirmed(member, &state);
        let assigned_version = self.versions.assigned(member);
        let stuck = stuck(view, member, rendering, &state, trouble.as_ref());
        let arrival = arrival(view, instance, stuck.as_ref(), now);
        let version = version::moving_to(assigned_version, instance).map(|version| &**version);
        let words = state.progressing(view.settings().reasons, version);
        let mut wishes: Vec<Wish<'_>> = configured(view, member, trouble.as_ref()).into_iter().collect();
        wishes.extend(assigned::assigned(member, &state, now));
        wishes.extend(assigned::counting(member));
        wishes.extend(refused(view, instance, rendering).or_else(|| manifests(rendering)));
        let probed = unreachable(member.cluster).or_else(|| available(member, rendering));
        let up = up(member, probed.as_ref());
        wishes.extend(probed);
        let shown = self
            .shown(member, &state, &wishes)
            .unwrap_or_else(|| words.clone());
        let shown_message = shown.message.clone();
        wishes.push(Wish::new(PROGRESSING, shown.status, shown.reason, shown.message));
        let orphaned = orphaned(rendering, &state);
        let complaint = ocm::complaint(view, instance);
        let told = RollUpInput {
            notice: member.notice.as_deref(),
            state: &state,
            words: &words,
            stuck: stuck.as_ref(),
            arrival,
            up,
            orphaned: orphaned.as_deref(),
            undone: member.effective.undone,
            aside: Aside {
                is_ocm: view.settings().is_ocm(),
                shown: &shown_message,
                trouble: trouble.as_ref().map(|trouble| trouble.message.as_str()),
                complaint: complaint.as_deref(),
            },
        };
        wishes.extend(told.wishes());
        wishes.extend(adopted::adopted(view, instance, self.kept));
        let wishes = ocm::bared(view, wishes);
        let deployed = !matches!(rendering, Rendering::NotOurs);
        let news = note(member, &state, shown.reason, stuck.as_ref());
        let conditions = stated(instance, rendering, &wishes, now);
        Report {
            supported: deployed.then_some(&configs.supported),
            standing: told.standing(),
            arrives,
            probes: deployed,
            // What may still come is no news.
            note: news.filter(|_| arrival.is_none()),
            recheck_at: arrival.map(|arrival| arrival.until),
            waits: waits(member, rendering, &state),
            memory: version::memory(view, member, assigned_version, state.is_done()),
            instance,
            references,
            conditions,
            registering: Registering::default(),
        }
    }

    /// Returns the words of `Progressing` where they are Open Cluster Management's to the letter.
    fn shown(&self, member: &Member<'_>, state: &State, wishes: &[Wish<'_>]) -> Option<Words> {
        if !ocm::tells_progress(self.view) {
            return None;
        }
        let instance = member.instance;
        let stands = |kind: &str| {
            instance.condition(kind).is_some() || wishes.iter().any(|wish| *wish.kind() == *kind)
        };
        let is_unsupported = |of: &&ConfigType| {
            let is_declared = if member.effective.deployed {
                self.configs.supported.contains(*of)
            } else {
                instance.supported.contains(*of)
            };
            !is_declared
        };
        let mut own = instance.configs.iter().map(|config| &config.of);
        let seen = ocm::ProgressInputs {
            unsupported: own.find(is_unsupported),
            manifests: [MANIFEST_APPLIED, HOSTING_MANIFEST_APPLIED].map(stands),
            state,
        };
        Some(ocm::progressing(self.view, member, &seen))
    }
}

/// Says that an instance runs with content from which its works cannot be made any more.
fn orphaned(rendering: &Rendering<'_>, state: &State) -> Option<String> {
    let Rendering::Waiting(WaitOn::Content(config)) = rendering else {
        return None;
    };
    state.is_done().then(|| {
        format!(
            "the add-on runs, but the content of {} that it uses is no longer on the hub, so its works cannot be rendered again",
            config.told()
        )
    })
}

/// Whether the agent works, as far as it is known. What was said about a cluster that is not reachable is out of date.
fn up(member: &Member<'_>, probed: Option<&Wish<'_>>) -> Option<Status> {
    if member
        .cluster
        .is_some_and(|cluster| cluster.available == Some(Status::Unknown))
    {
        return Some(Status::Unknown);
    }
    probed
        .map(Wish::status)
        .or_else(|| member.instance.condition(AVAILABLE).map(|found| found.status))
}

fn confirm(reference: &mut Reference) {
    reference.applied = Some(Applied {
        namespace: reference.config.namespace.clone(),
        name: reference.config.name.clone(),
        hash: reference.desired.clone(),
    });
}

/// Returns the conditions after `wishes`. A `ManifestApplied` that says "rendering failed" is out of date as soon as
/// rendering works again.
fn stated<'v>(
    instance: &'v Instance,
    rendering: &Rendering<'_>,
    wishes: &[Wish<'_>],
    now: Timestamp,
) -> Cow<'v, [Condition]> {
    let generation = Some(instance.meta.generation);
    let is_stale = |condition: &Condition| {
        let is_over =
            matches!(rendering, Rendering::Bodies(_)) && *condition.reason == Reason::ManifestWorkApplyFailed;
        let comes_and_goes = [ADOPTED, MERGED].contains(&&*condition.kind);
        (is_over || comes_and_goes) && !wishes.iter().any(|wish| *wish.kind() == *condition.kind)
    };
    if !instance.conditions.iter().any(is_stale) {
        return merge(&instance.conditions, wishes, generation, now);
    }
    let known = instance
        .conditions
        .iter()
        .filter(|condition| !is_stale(condition));
    let known: Vec<Condition> = known.cloned().collect();
    Cow::Owned(merge(&known, wishes, generation, now).into_owned())
}

/// Whether what only a user can change may still come by itself.
fn arrival(view: &View<'_>, instance: &Instance, stuck: Option<&Stuck>, now: Timestamp) -> Option<Arrival> {
    let generation = instance.meta.generation;
    Arrival::of(
        stuck?.reason,
        &instance.conditions,
        generation,
        view.settings(),
        now,
    )
}

/// Returns the references, confirmed if the cluster is done; and whether that is news.
fn confirmed<'v>(member: &'v Member<'v>, state: &State) -> (Cow<'v, [Reference]>, bool) {
    let mut references = member.assigned.clone();
    let arrives = state.is_done() && !references.iter().all(Reference::is_applied);
    if arrives {
        references.to_mut().iter_mut().for_each(confirm);
    }
    (references, arrives)
}

fn note(member: &Member<'_>, state: &State, reason: Reason, stuck: Option<&Stuck>) -> Option<Note> {
    let instance = member.instance;
    let was = |kind: &str, reason: Reason| instance.condition(kind).is_some_and(|one| *one.reason == reason);
    let (addon, cluster) = (instance.addon.clone(), instance.cluster.clone());
    // A failure has the words of its phase; whatever else only a user can change has the reason of `Stalled`.
    let failed = matches!(state, State::Phase(_, Outcome::Failed(_)));
    if let Some(stuck) = stuck.filter(|_| !failed) {
        return (!was("Stalled", stuck.reason)).then(|| Note::Stuck {
            addon,
            cluster,
            reason: stuck.reason,
            message: stuck.message.clone(),
        });
    }
    match state {
        State::Phase(phase, outcome) if !was(PROGRESSING, reason) || member.step == Step::Move => {
            Some(Note::Cluster {
                addon,
                cluster,
                phase: *phase,
                outcome: outcome.clone(),
            })
        }
        State::Phase(..)
        | State::Unsupported(_)
        | State::Waiting { .. }
        | State::WaitingForManifests
        | State::WaitingForHostingManifests => None,
    }
}

fn waits(member: &Member<'_>, rendering: &Rendering<'_>, state: &State) -> Vec<WaitOn> {
    let mut waits = Vec::new();
    waits.extend(
        member
            .notice
            .as_ref()
            .map(|notice| WaitOn::Rollout(notice.turn(&notice.wait))),
    );
    match (rendering, state) {
        (Rendering::Waiting(WaitOn::Rollout(_)), _)
        | (Rendering::Waiting(WaitOn::Content(_)), State::Phase(_, Outcome::Succeeded)) => {}
        (Rendering::Waiting(on), _) => waits.push(on.clone()),
        (Rendering::Refused(why), _) => waits.push(WaitOn::Rendering(why.clone())),
        (_, State::Unsupported(of)) => waits.push(WaitOn::UnsupportedType(of.clone())),
        (_, State::Phase(_, Outcome::Running(why) | Outcome::Failed(why))) => {
            waits.push(WaitOn::Agent(why.clone()));
        }
        (
            _,
            State::Phase(_, Outcome::Succeeded)
            | State::Waiting { .. }
            | State::WaitingForManifests
            | State::WaitingForHostingManifests,
        ) => {}
    }
    waits
}
