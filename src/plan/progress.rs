//! The status that every instance should have: references, supported types and conditions.
//!
//! Decides how the state is shown: the columns of `kubectl get`, one roll-up `Ready`, and `Reconciling`/`Stalled` for
//! delivery tools. Never removes what other programs wrote.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::available::{AVAILABLE, available, manifests};
use super::conditions::{Wish, merge};
use super::judge::{PROGRESSING, state};
use super::rollout::{Member, Step};
use super::state::{Outcome, State};
use super::types::{Note, not_driven};
use super::work::Rendering;
use super::{config, types::WaitOn};
use crate::snapshot::{
    Applied, Condition, ConfigType, Content, Instance, Reference, Status, View, Vocabulary,
};

/// What the status of one instance should be.
#[derive(Debug)]
pub(super) struct Report<'v> {
    /// The instance.
    pub instance: &'v Instance,
    /// Its state.
    pub state: State,
    /// `configReferences`
    pub references: Vec<Reference>,
    /// `supportedConfigs`; absent when another program writes them.
    pub supported: Option<BTreeSet<ConfigType>>,
    /// `conditions`
    pub conditions: Vec<Condition>,
    /// What to tell a spectator.
    pub note: Option<Note>,
    /// What holds it.
    pub waits: Vec<WaitOn>,
}

/// Returns the report of one instance.
pub(super) fn report<'v>(
    view: &View<'v>,
    member: &Member<'v>,
    rendering: &Rendering,
    now: Timestamp,
) -> Report<'v> {
    let instance = member.instance;
    let state = state(view, member, rendering);
    let mut references = member.assigned.clone();
    if state.is_done() {
        references.iter_mut().for_each(confirm);
    }
    let stuck = stuck(view, member, rendering);
    let words = state.progressing(view.settings().reasons);
    let mut wishes = vec![configured(view, member, &stuck)];
    wishes.extend(manifests(view, member, rendering));
    let probed = available(view, member, rendering);
    let up = probed
        .as_ref()
        .map(Wish::status)
        .or_else(|| instance.condition(AVAILABLE).map(|found| found.status));
    wishes.extend(probed);
    wishes.push(Wish::new(PROGRESSING, words.status, words.reason, &words.message));
    wishes.extend(rollup(&state, &stuck, up, view.settings().reasons));
    let deployed = !matches!(rendering, Rendering::NotOurs);
    let known = stale_failure(instance, rendering);
    let conditions = merge(&known, &wishes, Some(instance.meta.generation), now);
    Report {
        supported: deployed.then(|| config::supported_types(view.addon)),
        note: note(member, &state, words.reason),
        waits: waits(view, member, rendering, &state),
        instance,
        state,
        references,
        conditions,
    }
}

fn confirm(reference: &mut Reference) {
    reference.applied = Some(Applied {
        namespace: reference.config.namespace.clone(),
        name: reference.config.name.clone(),
        hash: reference.desired.clone(),
    });
}

/// A `ManifestApplied` that says "rendering failed" is out of date as soon as rendering works again.
fn stale_failure(instance: &Instance, rendering: &Rendering) -> Vec<Condition> {
    let is_stale = |condition: &Condition| {
        matches!(rendering, Rendering::Bodies(_)) && &*condition.reason == "ManifestWorkApplyFailed"
    };
    instance
        .conditions
        .iter()
        .filter(|condition| !is_stale(condition))
        .cloned()
        .collect()
}

/// Something that only a human can change: reason and message.
type Stuck = Option<(&'static str, String)>;

fn stuck(view: &View<'_>, member: &Member<'_>, rendering: &Rendering) -> Stuck {
    if let Some(of) = &member.effective.unsupported {
        return Some((
            "ConfigurationUnsupported",
            format!("configurations of type {of} are not supported"),
        ));
    }
    if let Some((desired, fault)) = member
        .missing()
        .and_then(|desired| Some((desired, desired.fault?)))
    {
        let reason = match fault {
            config::ConfigFault::NotFound | config::ConfigFault::NoNamespace => "ConfigurationNotFound",
            config::ConfigFault::NotWatched => "ConfigurationUnsupported",
        };
        return Some((
            reason,
            format!("configuration {} {}", desired.config, fault.as_str()),
        ));
    }
    if let Step::Hold(kind) = &member.step {
        return Some(("RolloutTypeNotDriven", not_driven(kind.as_str())));
    }
    match rendering {
        Rendering::Refused(error) => Some(("RenderingFailed", error.clone())),
        Rendering::NotOurs | Rendering::Bodies(_) => None,
        Rendering::Waiting(_) => superseded(view, member),
    }
}

fn superseded(view: &View<'_>, member: &Member<'_>) -> Stuck {
    let gone = member
        .assigned
        .iter()
        .find(|one| view.content(&one.config, &one.desired).is_none())?;
    Some((
        "ContentSuperseded",
        format!("the assigned content of {} is no longer on the hub", gone.config),
    ))
}

fn configured(view: &View<'_>, member: &Member<'_>, stuck: &Stuck) -> Wish {
    match (stuck, &member.step) {
        (
            Some((
                reason @ ("ConfigurationNotFound" | "ConfigurationUnsupported" | "RolloutTypeNotDriven"),
                why,
            )),
            _,
        ) => Wish::new("Configured", Status::False, reason, why),
        (_, Step::Hold(_)) => Wish::new(
            "Configured",
            Status::False,
            "ConfigurationsNotConfigured",
            "Configurations updated and not configured yet",
        ),
        (_, Step::Settled | Step::Move) => {
            let fields = not_applied(view, member);
            let message = if fields.is_empty() {
                "Configurations configured".to_owned()
            } else {
                format!(
                    "Configurations configured; not applied by this version: {}",
                    fields.join(", ")
                )
            };
            Wish::new("Configured", Status::True, "ConfigurationsConfigured", &message)
        }
    }
}

/// Fields of the deployment configuration that rendering leaves out; silence would look like success.
fn not_applied(view: &View<'_>, member: &Member<'_>) -> Vec<&'static str> {
    if !config::deploys(view.addon, &member.effective) {
        return Vec::new();
    }
    let contents = member
        .assigned
        .iter()
        .filter_map(|one| view.content(&one.config, &one.desired));
    let mut fields = contents.map(|found| match &*found.content {
        Content::Deployment(config) => config.not_applied.clone(),
        Content::Template(_) | Content::Hub => Vec::new(),
    });
    fields.find(|fields| !fields.is_empty()).unwrap_or_default()
}

/// `Ready` sums up; `Reconciling` and `Stalled` tell "wait" from "act".
fn rollup(state: &State, stuck: &Stuck, up: Option<Status>, vocabulary: Vocabulary) -> [Wish; 3] {
    let words = state.progressing(vocabulary);
    let failed = matches!(state, State::Phase(_, Outcome::Failed(_)));
    let stalled = match stuck {
        Some((reason, why)) => Wish::new("Stalled", Status::True, reason, why),
        None if failed => Wish::new("Stalled", Status::True, words.reason, &words.message),
        None => Wish::new("Stalled", Status::False, "NotStalled", ""),
    };
    let waits = stalled.status() == Status::False && !state.is_done();
    let reconciling = if waits {
        Wish::new("Reconciling", Status::True, words.reason, &words.message)
    } else {
        Wish::new("Reconciling", Status::False, "Settled", "")
    };
    let ready = match (stuck, up) {
        (Some((reason, why)), _) => Wish::new("Ready", Status::False, reason, why),
        (None, _) if !state.is_done() => Wish::new("Ready", Status::False, words.reason, &words.message),
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
        (None, Some(Status::True) | None) => Wish::new("Ready", Status::True, "Ready", &words.message),
    };
    [ready, reconciling, stalled]
}

fn note(member: &Member<'_>, state: &State, reason: &str) -> Option<Note> {
    let instance = member.instance;
    let same = instance
        .condition(PROGRESSING)
        .is_some_and(|before| *before.reason == *reason);
    match state {
        State::Phase(phase, outcome) if !same || member.step == Step::Move => Some(Note {
            addon: instance.addon.clone(),
            cluster: instance.cluster.clone(),
            phase: *phase,
            outcome: outcome.clone(),
        }),
        State::Phase(..)
        | State::Unsupported(_)
        | State::WaitingForManifests
        | State::WaitingForHostingManifests => None,
    }
}

fn waits(view: &View<'_>, member: &Member<'_>, rendering: &Rendering, state: &State) -> Vec<WaitOn> {
    let mut waits = Vec::new();
    if let Step::Hold(kind) = &member.step {
        waits.push(WaitOn::Rollout(kind.as_str().to_owned()));
    }
    match (rendering, state) {
        (Rendering::Waiting(WaitOn::Rollout(_)), _) => {}
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
    let fields = not_applied(view, member);
    if !fields.is_empty() {
        waits.push(WaitOn::NotApplied(fields));
    }
    waits
}
