//! The status that every instance should have: references, supported types and conditions.
//!
//! Decides how the state is shown: the columns of `kubectl get`, one roll-up `Ready`, and `Reconciling`/`Stalled` for
//! delivery tools. Never removes what other programs wrote.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::available::{AVAILABLE, RENDERING_FAILED, available, manifests, refused};
use super::conditions::{Wish, merge};
use super::config::{Configs, Trouble, trouble};
use super::health::Standing;
use super::judge::{PROGRESSING, state};
use super::note::Note;
use super::registration::Registering;
use super::rollout::{Attention, Member, Notice, Step, assigned};
use super::state::{Outcome, State, Words};
use super::types::WaitOn;
use super::unreachable;
use super::version::{self, Memory};
use super::work::{Rendering, superseded};
use crate::snapshot::{Applied, Condition, ConfigType, Instance, Reference, Status, View};

/// What the status of one instance should be.
#[derive(Debug)]
pub(super) struct Report<'v> {
    /// The instance.
    pub instance: &'v Instance,
    /// `configReferences`
    pub references: Cow<'v, [Reference]>,
    /// `supportedConfigs`; absent when another program writes them.
    pub supported: Option<&'v BTreeSet<ConfigType>>,
    /// `currentVersion` and `lastVersion`
    pub memory: Memory,
    /// Whether the tide tells the health of the agent, so that nobody looks for a lease.
    pub probes: bool,
    /// `conditions`
    pub conditions: Cow<'v, [Condition]>,
    /// How it counts for the add-on.
    pub standing: Standing,
    /// What to tell a spectator.
    pub note: Option<Note>,
    /// What holds it.
    pub waits: Vec<WaitOn>,
    /// What registration adds.
    pub registering: Registering<'v>,
}

/// Makes the reports of one instance after the other.
#[derive(Debug)]
pub(super) struct Reporter<'v> {
    view: &'v View<'v>,
    configs: &'v Configs,
    versions: version::Reader<'v>,
    now: Timestamp,
}

impl<'v> Reporter<'v> {
    pub(super) fn new(view: &'v View<'v>, configs: &'v Configs, now: Timestamp) -> Self {
        Self {
            view,
            configs,
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
        let state = state(view, member, rendering);
        let mut references = member.assigned.clone();
        if state.is_done() && !references.iter().all(Reference::is_applied) {
            references.to_mut().iter_mut().for_each(confirm);
        }
        let assigned_version = self.versions.assigned(member);
        let trouble = trouble(member, rendering);
        let stuck = stuck(view, member, rendering, (&state, trouble.as_ref()));
        let version = version::moving_to(assigned_version, instance).map(|version| &**version);
        let words = state.progressing(view.settings().reasons, version);
        let mut wishes = vec![configured(member, trouble.as_ref())];
        wishes.extend(assigned(member, &state, now));
        wishes.extend(refused(view, instance, rendering).or_else(|| manifests(rendering)));
        let probed = unreachable::available(member.cluster).or_else(|| available(member, rendering));
        let up = up(member, probed.as_ref());
        wishes.extend(probed);
        wishes.push(Wish::new(
            PROGRESSING,
            words.status,
            words.reason,
            &*words.message,
        ));
        wishes.extend(rollup(turn(member), &state, &words, &stuck, up));
        let deployed = !matches!(rendering, Rendering::NotOurs);
        let conditions = stated(instance, rendering, &wishes, now);
        Report {
            supported: deployed.then_some(&configs.supported),
            standing: standing(turn(member), &state, &stuck, up),
            probes: deployed,
            note: note(member, &state, words.reason, &stuck),
            waits: waits(member, rendering, &state),
            memory: version::memory(view, member, assigned_version, state.is_done()),
            instance,
            references,
            conditions,
            registering: Registering::default(),
        }
    }
}

/// Whether the agent works, as far as anybody knows. What was said about a cluster that nobody can reach is out of date.
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
        matches!(rendering, Rendering::Bodies(_))
            && &*condition.reason == RENDERING_FAILED
            && !wishes.iter().any(|wish| *wish.kind() == *condition.kind)
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

const LATE: &str = "the agent has not confirmed the configuration within the progressDeadline of the rollout";

/// Something that only a human can change: reason and message.
type Stuck = Option<(&'static str, String)>;

fn stuck(
    view: &View<'_>,
    member: &Member<'_>,
    rendering: &Rendering<'_>,
    (state, trouble): (&State, Option<&Trouble>),
) -> Stuck {
    if let Some(trouble) = trouble.filter(|trouble| trouble.is_stuck) {
        return Some((trouble.reason, trouble.message.clone()));
    }
    if let Some(notice) = member
        .notice
        .as_ref()
        .filter(|notice| notice.attention == Attention::Act)
    {
        return Some((notice.reason, notice.message.to_string()));
    }
    if member.timed_out && matches!(state, State::Phase(_, Outcome::Running(_))) {
        return Some(("ProgressDeadlineExceeded", LATE.to_owned()));
    }
    match rendering {
        Rendering::Refused(error) => Some(("RenderingFailed", error.clone())),
        Rendering::NotOurs | Rendering::Bodies(_) => None,
        // Who runs with what it was assigned needs nothing anew, and whose turn comes gets the present content.
        Rendering::Waiting(_) if state.is_done() || turn(member).is_some() => None,
        Rendering::Waiting(_) => superseded(view, &member.assigned).map(|gone| {
            (
                "ContentSuperseded",
                format!("the assigned content of {} is no longer on the hub", gone.config),
            )
        }),
    }
}

/// Returns the turn that the member waits for.
fn turn<'a>(member: &'a Member<'_>) -> Option<&'a Notice> {
    let notice = member.notice.as_deref()?;
    (notice.attention == Attention::Wait).then_some(notice)
}

fn configured<'a>(member: &'a Member<'_>, trouble: Option<&'a Trouble>) -> Wish<'a> {
    if let Some(trouble) = trouble {
        return Wish::new(
            "Configured",
            Status::False,
            trouble.reason,
            trouble.message.as_str(),
        );
    }
    if let Some(notice) = &member.notice {
        return Wish::new("Configured", Status::False, notice.reason, &*notice.message);
    }
    Wish::new(
        "Configured",
        Status::True,
        "ConfigurationsConfigured",
        "Configurations configured",
    )
}

/// `Ready` sums up; `Reconciling` and `Stalled` tell "wait" from "act". Who waits for a turn is not ready for what it should
/// have; who is meant to keep what it has is.
fn rollup<'a>(
    turn: Option<&'a Notice>,
    state: &State,
    words: &'a Words,
    stuck: &'a Stuck,
    up: Option<Status>,
) -> [Wish<'a>; 3] {
    let failed = matches!(state, State::Phase(_, Outcome::Failed(_)));
    let stalled = match stuck {
        Some((reason, why)) => Wish::new("Stalled", Status::True, reason, why.as_str()),
        None if failed => Wish::new("Stalled", Status::True, words.reason, &*words.message),
        None => Wish::new("Stalled", Status::False, "NotStalled", ""),
    };
    let waits = stalled.status() == Status::False && !state.is_done();
    let reconciling = if let Some(notice) = turn.filter(|_| stalled.status() == Status::False) {
        Wish::new("Reconciling", Status::True, notice.reason, &*notice.message)
    } else if waits {
        Wish::new("Reconciling", Status::True, words.reason, &*words.message)
    } else {
        Wish::new("Reconciling", Status::False, "Settled", "")
    };
    let ready = match (stuck, up) {
        (Some((reason, why)), _) => Wish::new("Ready", Status::False, reason, why.as_str()),
        (None, _) if !state.is_done() => Wish::new("Ready", Status::False, words.reason, &*words.message),
        (None, _) if let Some(notice) = turn => {
            Wish::new("Ready", Status::False, notice.reason, &*notice.message)
        }
        (None, Some(Status::False)) => Wish::new(
            "Ready",
            Status::False,
            "Unavailable",
            "the agent is not available",
        ),
        (None, Some(Status::Unknown)) => Wish::new(
            "Ready",
            Status::False,
            "AvailabilityUnknown",
            "nobody knows whether the agent is available",
        ),
        (None, Some(Status::True) | None) => Wish::new("Ready", Status::True, "Ready", &*words.message),
    };
    [ready, reconciling, stalled]
}

/// How an instance counts for the add-on; the conditions above say the same in words.
fn standing(turn: Option<&Notice>, state: &State, stuck: &Stuck, up: Option<Status>) -> Standing {
    if stuck.is_some() || matches!(state, State::Phase(_, Outcome::Failed(_))) {
        return Standing::Stalled;
    }
    match up {
        _ if !state.is_done() || turn.is_some() => Standing::Moving,
        Some(Status::False) => Standing::Unavailable,
        Some(Status::Unknown) => Standing::Unreachable,
        Some(Status::True) | None => Standing::Ready,
    }
}

fn note(member: &Member<'_>, state: &State, reason: &str, stuck: &Stuck) -> Option<Note> {
    let instance = member.instance;
    let was = |kind: &str, reason: &str| instance.condition(kind).is_some_and(|one| *one.reason == *reason);
    let (addon, cluster) = (instance.addon.clone(), instance.cluster.clone());
    // A failure has the words of its phase; whatever else only a human can change has the reason of `Stalled`.
    let failed = matches!(state, State::Phase(_, Outcome::Failed(_)));
    if let Some((reason, message)) = stuck.as_ref().filter(|_| !failed) {
        return (!was("Stalled", reason)).then(|| Note::Stuck {
            addon,
            cluster,
            reason,
            message: message.clone(),
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
            .map(|notice| WaitOn::Rollout(notice.wait.clone())),
    );
    match (rendering, state) {
        (Rendering::Waiting(WaitOn::Rollout(_)), _)
        | (Rendering::Waiting(WaitOn::Content(_)), State::Phase(_, Outcome::Succeeded)) => {}
        (Rendering::Waiting(on), _) => waits.push(on.clone()),
        (_, State::Unsupported(of)) => waits.push(WaitOn::UnsupportedType(of.clone())),
        (_, State::Phase(_, Outcome::Running(why) | Outcome::Failed(why))) => {
            waits.push(WaitOn::Agent(why.clone()));
        }
        (
            _,
            State::Phase(_, Outcome::Succeeded)
            | State::WaitingForManifests
            | State::WaitingForHostingManifests,
        ) => {}
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::super::state::Phase;
    use super::*;
    use crate::snapshot::Vocabulary;

    fn told(state: &State, stuck: &Stuck, up: Option<Status>) -> String {
        let words = state.progressing(Vocabulary::Lifecycle, None);
        let wishes = rollup(None, state, &words, stuck, up);
        let each = wishes.map(|wish| format!("{}={} {}", wish.kind(), wish.status().as_str(), wish.reason()));
        format!("{} → {:?}", each.join(", "), standing(None, state, stuck, up))
    }

    const TOLD: &str = "\
Ready=False Installing, Reconciling=True Installing, Stalled=False NotStalled → Moving
Ready=False Installing, Reconciling=True Installing, Stalled=False NotStalled → Moving
Ready=False UpgradeFailed, Reconciling=False Settled, Stalled=True UpgradeFailed → Stalled
Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled → Ready
Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled → Ready
Ready=False Unavailable, Reconciling=False Settled, Stalled=False NotStalled → Unavailable
Ready=False AvailabilityUnknown, Reconciling=False Settled, Stalled=False NotStalled → Unreachable
Ready=False ConfigurationNotFound, Reconciling=False Settled, Stalled=True ConfigurationNotFound → Stalled
Ready=False ConfigurationNotFound, Reconciling=False Settled, Stalled=True ConfigurationNotFound → Stalled
Ready=False WaitingForManifestApplied, Reconciling=True WaitingForManifestApplied, Stalled=False NotStalled → Moving
Ready=False WaitingForHostingManifestApplied, Reconciling=True WaitingForHostingManifestApplied, Stalled=False NotStalled → Moving";

    /// Delivery tools read: `Stalled` is a failure, `Reconciling` means wait, and `Ready` is the end. Never two of them.
    #[test]
    fn every_state_says_wait_act_or_done() {
        let running = State::Phase(Phase::Install, Outcome::Running("x".to_owned()));
        let failed = State::Phase(Phase::Upgrade, Outcome::Failed("x".to_owned()));
        let done = State::Phase(Phase::Install, Outcome::Succeeded);
        let (up, down) = (Some(Status::True), Some(Status::False));
        let missing = Some(("ConfigurationNotFound", "x".to_owned()));
        let rows = [
            told(&running, &None, None),
            told(&running, &None, down),
            told(&failed, &None, up),
            told(&done, &None, up),
            told(&done, &None, None),
            told(&done, &None, down),
            told(&done, &None, Some(Status::Unknown)),
            told(&running, &missing, up),
            told(&done, &missing, up),
            told(&State::WaitingForManifests, &None, None),
            told(&State::WaitingForHostingManifests, &None, None),
        ];
        assert_eq!(rows.join("\n"), TOLD);
    }
}
