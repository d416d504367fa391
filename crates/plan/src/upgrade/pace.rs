//! Which clusters may start now.
//!
//! Decides the order: canary clusters before all others, slots, tolerated failures, windows and pauses. The slots are the rollout
//! engine's; the canary rule is not. In the engine a held unit does not keep its group from completing, but a canary cluster that
//! cannot start must hold all others, otherwise the first failure would affect all of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use api::reason::Reason;
use model::Name;
use model::engine::{Course, Group, Unit, UnitState, Verdict, decide};
use model::upgrade::{UpgradeSpec, WindowState};
use model::{Freeze, Selector};
use store::FreezeRecord;
use store::upgrade::View;

use crate::types::earliest;
use crate::upgrade::cluster_standing::{ClusterStanding, Want};
use crate::upgrade::order::natural;
use crate::upgrade::record::{Phase, State};
use crate::upgrade::run_memory::Memory;

/// The cause for which a cluster that could start does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Only a preview is requested.
    Preview,
    /// A user has paused the upgrade.
    Paused,
    /// What is asked has changed, and clusters are being updated to what was asked before.
    Changing,
    /// A placement has no complete PlacementDecision yet.
    Undecided,
    /// None of the selected clusters is a canary cluster.
    NoCanary,
    /// A canary cluster has failed.
    CanaryFailed,
    /// More clusters failed than maxFailures allows.
    Failures,
    /// A RolloutFreeze applies to the cluster.
    Frozen,
    /// The window is closed.
    Window,
    /// The canary clusters are not complete.
    Canary,
    /// All slots are in use.
    Slot,
}

impl Hold {
    /// Returns its reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Preview => "Preview",
            Self::Paused => "Paused",
            Self::Changing => "Changing",
            Self::Undecided => Reason::PlacementNotDecided.as_str(),
            Self::NoCanary => "NoCanary",
            Self::CanaryFailed => "CanaryFailed",
            Self::Failures => "Failures",
            Self::Frozen => Reason::RolloutFrozen.as_str(),
            Self::Window => "Window",
            Self::Canary => "Canary",
            Self::Slot => "Slot",
        }
    }

    /// Returns its message.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Preview => "only a preview is requested (spec.preview)",
            Self::Paused => "the upgrade is suspended (spec.suspend)",
            Self::Changing => "the spec has changed, and clusters are still upgrading to the previous target",
            Self::Undecided => {
                "a placement has no complete PlacementDecision yet, and a missing cluster may be a canary cluster"
            }
            Self::NoCanary => "spec.upgradeStrategy.canaryClusters matches none of the selected clusters",
            Self::CanaryFailed => "a canary cluster has failed",
            Self::Failures => "more clusters failed than spec.upgradeStrategy.maxFailures allows",
            Self::Frozen => "a RolloutFreeze stops upgrades (kubectl get rolloutfreezes)",
            Self::Window => "the window is closed (spec.upgradeStrategy.window)",
            Self::Canary => "the canary clusters are not complete (spec.upgradeStrategy.canaryClusters)",
            Self::Slot => "as many clusters are upgrading as spec.upgradeStrategy.maxConcurrency allows",
        }
    }
}

/// The clusters that may start, and the causes for which the others wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Turns {
    /// The clusters that start.
    pub(crate) start: BTreeSet<Name>,
    /// The clusters whose action before the upgrade is complete and that upgrade now.
    pub(crate) upgrade: BTreeSet<Name>,
    /// The clusters that could start, and the causes for which they wait.
    pub(crate) waits: BTreeMap<Name, Hold>,
    /// What holds every cluster.
    pub(crate) closed: Option<Hold>,
    /// Whether the canary clusters are complete, or there are none.
    pub(crate) gate_is_open: bool,
    /// When time alone changes that.
    pub(crate) until: Option<Timestamp>,
}

/// What holds for the whole upgrade.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) spec: &'a UpgradeSpec,
    pub(crate) memory: &'a Memory,
    /// Whether the canary clusters have succeeded in this run.
    pub(crate) passed: bool,
    /// Whether some placement has no complete PlacementDecision yet.
    pub(crate) undecided: bool,
    /// The clusters on which a freeze stops upgrades.
    pub(crate) frozen: &'a Frozen,
}

/// The clusters on which freezes stop upgrades now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frozen {
    clusters: BTreeSet<Name>,
    until: Option<Timestamp>,
}

impl Frozen {
    /// Finds them among these clusters.
    pub(crate) fn of<'n>(view: &View<'_>, among: impl Iterator<Item = &'n Name>, now: Timestamp) -> Self {
        let mut frozen = Self::default();
        let is_in_force =
            |record: &&&FreezeRecord| record.freeze.as_ref().map_or(true, |one| one.is_in_force(now));
        let in_force: Vec<&FreezeRecord> = view.freezes.iter().filter(is_in_force).copied().collect();
        if in_force.is_empty() {
            return frozen;
        }
        for name in among {
            let labels = view.clusters.get(name).map(|cluster| &cluster.labels);
            for record in &in_force {
                let selector = record.freeze.as_ref().ok().and_then(|one| one.clusters.as_ref());
                let is_selected =
                    |selector: &Selector| labels.is_some_and(|labels| selector.matches_map(labels));
                if selector.is_none_or(is_selected) {
                    let until = record.freeze.as_ref().ok().and_then(Freeze::until);
                    frozen.until = earliest(frozen.until, until);
                    frozen.clusters.insert(name.clone());
                }
            }
        }
        frozen
    }
}

/// Returns the clusters that may start now.
pub(crate) fn turns(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>, now: Timestamp) -> Turns {
    let gate_is_open = run.spec.strategy.canary.is_none() || run.passed || are_through(stands);
    let (window, until) = window(run.spec, now);
    let mut closed = closed(run, stands)
        .or_else(|| freeze(run.frozen, stands))
        .or(window);
    let ordered: Vec<(&Name, &ClusterStanding)> = natural(stands.keys())
        .into_iter()
        .filter_map(|name| stands.get_key_value(name))
        .collect();
    let units: Vec<Unit> = ordered
        .iter()
        .map(|(name, stand)| Unit {
            group: 0,
            standing: Some(standing(stand, gate_is_open, now))
                .filter(|standing| *standing != UnitState::ToApply || !run.frozen.clusters.contains(*name))
                .unwrap_or(UnitState::Held),
            approved: true,
        })
        .collect();
    // Those that take a slot are counted; so many may of all. Deadlines and soak times are not the engine's here: each step of a
    // cluster has its own clock.
    let course = Course {
        tolerance: Some(run.spec.strategy.failures),
        ..Course::within(run.spec.strategy.at_once)
    };
    let groups = [Group { index: 0, name: "" }];
    let decision = decide(&course, &groups, &units, closed.is_some(), now);
    closed = closed.or_else(|| decision.breach.map(|_| Hold::Failures));
    let mut turns = Turns {
        closed,
        gate_is_open,
        until: match closed {
            None => earliest(until, run.frozen.until),
            Some(Hold::Window) => until,
            Some(Hold::Frozen) => run.frozen.until,
            Some(_) => None,
        },
        ..Turns::default()
    };
    for ((name, stand), verdict) in ordered.into_iter().zip(&decision.verdicts) {
        if stand.want != Want::Turn {
            continue;
        }
        let is_through = gate_is_open || stand.record.canary;
        match (closed, is_through, verdict) {
            (Some(hold), _, _) => turns.waits.insert(name.clone(), hold),
            (None, _, _) if run.frozen.clusters.contains(name) => {
                turns.waits.insert(name.clone(), Hold::Frozen)
            }
            (None, true, _) if stand.refused => turns.waits.insert(name.clone(), Hold::Slot),
            (None, false, _) => turns.waits.insert(name.clone(), Hold::Canary),
            (None, true, Verdict::Start) => {
                turns.start.insert(name.clone());
                None
            }
            (None, true, _) => turns.waits.insert(name.clone(), Hold::Slot),
        };
    }
    again(run, stands, &mut turns);
    upgrades(run, stands, &mut turns);
    turns
}

/// What the hub has refused is tried again where no other cluster needs the slot: a refused one must not hold the others.
fn again(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>, turns: &mut Turns) {
    let taken = stands.values().filter(|stand| stand.slot).count();
    let limit = run.spec.strategy.at_once.of(stands.len()).max(1);
    let free = limit.saturating_sub(taken.saturating_add(turns.start.len()));
    let is_through = |stand: &ClusterStanding| turns.gate_is_open || stand.record.canary;
    if turns.closed.is_some() {
        return;
    }
    let tried = stands
        .iter()
        .filter(|(_, stand)| stand.refused && stand.want == Want::Turn && is_through(stand))
        .filter(|(name, _)| !run.frozen.clusters.contains(*name));
    let tried: Vec<Name> = tried.take(free).map(|(name, _)| name.clone()).collect();
    for name in tried {
        turns.waits.remove(&name);
        turns.start.insert(name);
    }
}

/// A cluster that has had its turn keeps its slot, and yet no more upgrade at once than may: the limit may be lower by then.
fn upgrades(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>, turns: &mut Turns) {
    let upgrading = stands.values().filter(|stand| is_upgrading(stand)).count();
    let limit = run.spec.strategy.at_once.of(stands.len()).max(1);
    let mut free = limit.saturating_sub(upgrading);
    for (name, stand) in stands {
        if stand.want != Want::Upgrade {
            continue;
        }
        let is_frozen = run.frozen.clusters.contains(name);
        let own = is_frozen.then_some(Hold::Frozen);
        let hold = turns.closed.or(own).or_else(|| (free == 0).then_some(Hold::Slot));
        if let Some(hold) = hold {
            turns.waits.insert(name.clone(), hold);
        } else {
            free = free.saturating_sub(1);
            turns.upgrade.insert(name.clone());
        }
    }
}

fn is_upgrading(stand: &ClusterStanding) -> bool {
    matches!(stand.record.state, State::Initialized | State::Partial)
}

/// Whether all canary clusters are complete, and there are some.
fn are_through(stands: &BTreeMap<Name, ClusterStanding>) -> bool {
    let mut first = stands.values().filter(|stand| stand.record.canary).peekable();
    let is_done =
        |stand: &ClusterStanding| stand.record.state == State::Complete && stand.record.phase == Phase::Done;
    first.peek().is_some() && first.all(is_done)
}

fn closed(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>) -> Option<Hold> {
    let mut first = stands.values().filter(|stand| stand.record.canary).peekable();
    let is_empty = first.peek().is_none();
    let has_failed = first.any(|stand| stand.record.state == State::Failed);
    let lacks_first = run.spec.strategy.canary.is_some() && !run.passed && is_empty && !stands.is_empty();
    let each = [
        (run.spec.preview, Hold::Preview),
        (run.spec.suspend, Hold::Paused),
        (run.memory.changing, Hold::Changing),
        (run.undecided, Hold::Undecided),
        (lacks_first, Hold::NoCanary),
        (has_failed, Hold::CanaryFailed),
    ];
    each.into_iter().find(|(holds, _)| *holds).map(|(_, hold)| hold)
}

/// What holds the whole upgrade if every cluster that could go on is frozen.
fn freeze(frozen: &Frozen, stands: &BTreeMap<Name, ClusterStanding>) -> Option<Hold> {
    let mut waiting = stands
        .iter()
        .filter(|(_, stand)| matches!(stand.want, Want::Turn | Want::Upgrade))
        .peekable();
    let all = waiting.peek().is_some() && waiting.all(|(name, _)| frozen.clusters.contains(name));
    all.then_some(Hold::Frozen)
}

fn window(spec: &UpgradeSpec, now: Timestamp) -> (Option<Hold>, Option<Timestamp>) {
    match spec.strategy.window.as_ref().map(|window| window.at(now)) {
        None => (None, None),
        Some(WindowState::Open(until)) => (None, Some(until)),
        Some(WindowState::Shut(until)) => (Some(Hold::Window), until),
    }
}

/// What a cluster is to the engine.
fn standing(stand: &ClusterStanding, gate_is_open: bool, now: Timestamp) -> UnitState {
    let record = &stand.record;
    let since = record.started.unwrap_or(now);
    match (record.state, stand.want) {
        (State::Failed, _) => UnitState::Failed(since),
        (State::Complete, _) => UnitState::Succeeded(since),
        (State::Initialized | State::Partial, _) => UnitState::InFlight(since),
        (State::NotStarted, _) if stand.slot => UnitState::InFlight(since),
        (State::NotStarted, Want::Turn) if stand.refused => UnitState::Held,
        (State::NotStarted, Want::Turn) if gate_is_open || record.canary => UnitState::ToApply,
        (State::NotStarted, _) => UnitState::Held,
    }
}
