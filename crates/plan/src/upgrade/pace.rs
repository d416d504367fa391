//! Which clusters may start now.
//!
//! Decides the order: canary clusters before all others, stages, slots, tolerated failures, windows and pauses. Stages and slots are
//! the rollout engine's; the canary rule is not. In the engine a held unit does not keep its group from completing, but a canary cluster that
//! cannot start must hold all others, otherwise the first failure would affect all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use api::reason::Reason;
use kubernetes::field::quoted;
use model::Name;
use model::Rest;
use model::engine::{Checks, Course, Decision, Group, GroupPace, Unit, UnitState, Verdict, decide};
use model::upgrade::{UpgradeSpec, WindowState};
use model::{Check, CheckDoubt, Freeze, ResolvedSettings};
use store::FreezeRecord;
use store::upgrade::View;

use crate::rollout::{failed, for_reason, unmet};
use crate::types::earliest;
use crate::upgrade::approvals::Approvals;
use crate::upgrade::cluster_standing::{ClusterStanding, Want};
use crate::upgrade::order::{by_label, natural};
use crate::upgrade::record::{Phase, Record, State};
use crate::upgrade::run_memory::Memory;

/// The cause for which a cluster that could start does not start.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Only a preview is requested.
    Preview,
    /// It is not known what its profile sets.
    Settings(Name),
    /// A user has paused the upgrade.
    Paused,
    /// A profile that applies to the upgrade is paused, for this reason.
    PausedByProfile(String),
    /// What is asked has changed, and clusters are being updated to what was asked before.
    Changing,
    /// A placement has no complete PlacementDecision yet.
    Undecided,
    /// None of the selected clusters is a canary cluster.
    NoCanary,
    /// A canary cluster has failed.
    CanaryFailed,
    /// More clusters failed than maxFailures allows. Checks that have failed count, too: their names and messages.
    Failures(Name),
    /// The RolloutFreeze of this name applies to the cluster.
    Frozen(Name),
    /// The window is closed.
    Window,
    /// The windows of the cluster are closed.
    ClusterWindow,
    /// The canary clusters are not complete.
    Canary,
    /// The clusters of this earlier stage are not complete.
    Stage(Name),
    /// The clusters of this stage are complete, and must stay so for some time yet.
    Soak(Name),
    /// The clusters of this stage wait for approval.
    Approval(Name),
    /// A user has rejected the upgrade of the clusters of this stage: who, and why.
    Rejected(Name, String),
    /// The clusters of this stage, or of none, wait for checks: which, and why.
    Check(Name, Name),
    /// All slots are in use.
    Slot,
}

impl Hold {
    /// Returns what the clusters behind a stage wait for whose own clusters wait for this.
    fn behind(&self) -> Self {
        if let Self::Approval(stage) | Self::Rejected(stage, _) | Self::Check(stage, _) = self {
            return Self::Stage(stage.clone());
        }
        self.clone()
    }

    /// Returns its reason.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Preview => "Preview",
            Self::Settings(_) => Reason::RolloutSettingsInvalid.as_str(),
            Self::Paused | Self::PausedByProfile(_) => "Paused",
            Self::Changing => "Changing",
            Self::Undecided => Reason::PlacementNotDecided.as_str(),
            Self::NoCanary => "NoCanary",
            Self::CanaryFailed => "CanaryFailed",
            Self::Failures(_) => "Failures",
            Self::Frozen(_) => Reason::RolloutFrozen.as_str(),
            Self::Window | Self::ClusterWindow => "Window",
            Self::Canary => "Canary",
            Self::Stage(_) | Self::Soak(_) => Reason::WaitingForStage.as_str(),
            Self::Approval(_) => Reason::WaitingForApproval.as_str(),
            Self::Rejected(..) => Reason::ApprovalRejected.as_str(),
            Self::Check(..) => Reason::WaitingForCheck.as_str(),
            Self::Slot => "Slot",
        }
    }

    /// Returns its message.
    pub fn sentence(&self) -> Cow<'static, str> {
        let fixed = match self {
            Self::Stage(stage) => {
                return format!("the clusters of stage {} are not complete", quoted(stage)).into();
            }
            Self::Soak(stage) => {
                return format!(
                    "the clusters of stage {} have not been complete for its minSuccessTime",
                    quoted(stage)
                )
                .into();
            }
            Self::Approval(stage) => {
                return format!(
                    "waiting for approval of stage {} (kubectl get rolloutapprovals)",
                    quoted(stage)
                )
                .into();
            }
            Self::Rejected(stage, who) => {
                return format!("the upgrade of stage {} was rejected by {who}", quoted(stage)).into();
            }
            Self::Check(stage, unmet) => {
                let waiting = if stage.is_empty() {
                    "the clusters of no stage are".to_owned()
                } else {
                    format!("stage {} is", quoted(stage))
                };
                return format!("{waiting} waiting for a RolloutCheck: {unmet}").into();
            }
            Self::Failures(checks) if !checks.is_empty() => {
                return format!("more failed than spec.upgradeStrategy.maxFailures allows: {checks}").into();
            }
            Self::Settings(fault) => {
                return format!("the settings of the upgrade are invalid: {fault}").into();
            }
            Self::Frozen(freeze) => {
                return format!("the RolloutFreeze {} stops upgrades", quoted(freeze)).into();
            }
            Self::PausedByProfile(reason) => {
                return format!("a RolloutProfile pauses the upgrade{}", for_reason(reason)).into();
            }
            Self::ClusterWindow => {
                "the windows of the cluster are closed (spec.clusterWindows of the RolloutProfile)"
            }
            Self::Preview => "only a preview is requested (spec.preview)",
            Self::Paused => "the upgrade is suspended (spec.suspend)",
            Self::Changing => "the spec has changed, and clusters are still upgrading to the previous target",
            Self::Undecided => {
                "a placement has no complete PlacementDecision yet, and a missing cluster may be a canary cluster"
            }
            Self::NoCanary => "spec.upgradeStrategy.canaryClusters matches none of the selected clusters",
            Self::CanaryFailed => "a canary cluster has failed",
            Self::Failures(_) => "more clusters failed than spec.upgradeStrategy.maxFailures allows",
            Self::Window => {
                "the window is closed (spec.upgradeStrategy.window, or spec.windows of the RolloutProfile)"
            }
            Self::Canary => "the canary clusters are not complete (spec.upgradeStrategy.canaryClusters)",
            Self::Slot => "as many clusters are upgrading as spec.upgradeStrategy.maxConcurrency allows",
        };
        fixed.into()
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
    /// Why clusters of later stages wait: the first stage that is not done. Absent without stages, or when all are done.
    pub(crate) stage: Option<Hold>,
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
    /// The clusters on which a freeze stops upgrades, or whose windows are closed.
    pub(crate) frozen: &'a Frozen,
    /// The stages that need an approval.
    pub(crate) approvals: &'a Approvals<'a>,
    /// The checks that stages and profiles name.
    pub(crate) checks: &'a BTreeMap<Name, Check>,
    /// The settings of the profiles.
    pub(crate) settings: ResolvedSettings<'a>,
    /// Why it is not known what they are.
    pub(crate) fault: Option<&'a Name>,
}

/// The clusters on which no upgrade starts now, because of a freeze or of their windows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frozen {
    clusters: BTreeMap<Name, Hold>,
    until: Option<Timestamp>,
    /// The values of the label by which clusters are ordered.
    order: BTreeMap<Name, Name>,
}

impl Frozen {
    /// Finds them among these clusters.
    pub(crate) fn of<'n>(view: &View<'_>, among: impl Iterator<Item = &'n Name>, now: Timestamp) -> Self {
        let mut frozen = Self::default();
        let is_in_force =
            |record: &&&FreezeRecord| record.freeze.as_ref().map_or(true, |one| one.is_in_force(now));
        let in_force: Vec<&FreezeRecord> = view.freezes.iter().filter(is_in_force).copied().collect();
        let settings = view.settings;
        if in_force.is_empty() && !settings.has_cluster_windows() && settings.order_by().is_none() {
            return frozen;
        }
        for name in among {
            let labels = view.clusters.get(name).map(|cluster| &cluster.labels);
            let label = |key: &str| labels?.get(key).map(String::as_str);
            let applies = |record: &&FreezeRecord| {
                let selector = record.freeze.as_ref().ok().and_then(|one| one.clusters.as_ref());
                selector.is_none_or(|all| labels.is_some_and(|labels| all.matches_map(labels)))
            };
            let applying = in_force.iter().copied().filter(applies);
            let ends = |record: &FreezeRecord| record.freeze.as_ref().ok().and_then(Freeze::until);
            // One without an end needs a user, and is named before one that ends by itself.
            let first = applying
                .clone()
                .min_by_key(|one| (ends(one).is_some(), &one.name));
            if let Some(first) = first {
                frozen.until = earliest(frozen.until, applying.filter_map(ends).min());
                frozen
                    .clusters
                    .insert(name.clone(), Hold::Frozen(first.name.clone()));
            }
            match settings.cluster_windows(label).map(|windows| windows.at(now)) {
                None => {}
                Some(WindowState::Open(until)) => frozen.until = earliest(frozen.until, Some(until)),
                Some(WindowState::Shut(until)) => {
                    frozen.until = earliest(frozen.until, until);
                    frozen.clusters.entry(name.clone()).or_insert(Hold::ClusterWindow);
                }
            }
            if let Some(value) = settings.order_by().and_then(|key| label(key)) {
                frozen.order.insert(name.clone(), Name::from(value));
            }
        }
        frozen
    }
}

/// Returns the clusters that may start now.
pub(crate) fn turns(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>, now: Timestamp) -> Turns {
    let gate_is_open = run.spec.strategy.canary.is_none() || run.passed || are_through(stands);
    let (window, until) = window(run, now);
    let mut closed = closed(run, stands)
        .or_else(|| freeze(run.frozen, stands))
        .or(window);
    let mut ordered: Vec<(&Name, &ClusterStanding)> = natural(stands.keys())
        .into_iter()
        .filter_map(|name| stands.get_key_value(name))
        .collect();
    by_label(&mut ordered, |(name, _)| run.frozen.order.get(*name).cloned());
    let stages = Stages::of(run, stands);
    let units: Vec<Unit> = ordered
        .iter()
        .map(|(name, stand)| Unit {
            approved: stages
                .name(stages.at(&stand.record))
                .is_none_or(|stage| run.approvals.allows(stage)),
            group: stages.at(&stand.record),
            standing: Some(standing(stand, gate_is_open, now))
                .filter(|standing| {
                    *standing != UnitState::ToApply || !run.frozen.clusters.contains_key(*name)
                })
                .unwrap_or(UnitState::Blocked(None)),
            unchecked: false,
        })
        .collect();
    let decision = decide(&stages.course, &stages.groups(), &units, closed.is_some(), now);
    let failed = || Name::from(failed(&decision.failed_checks).join("; "));
    closed = closed.or_else(|| decision.breach.map(|_| Hold::Failures(failed())));
    let stage = stages.open(run, &units, &decision);
    let mut turns = Turns {
        gate_is_open,
        until: match closed {
            None => earliest(until, earliest(run.frozen.until, decision.recheck_at)),
            Some(Hold::Window) => until,
            Some(Hold::Frozen(_) | Hold::ClusterWindow) => run.frozen.until,
            Some(_) => None,
        },
        stage: stage.clone().map(|(_, hold)| hold),
        closed,
        ..Turns::default()
    };
    for ((name, stand), (unit, verdict)) in ordered.into_iter().zip(units.iter().zip(&decision.verdicts)) {
        if stand.want != Want::Turn {
            continue;
        }
        let is_through = gate_is_open || stand.record.canary;
        let behind = stage.as_ref().filter(|(open, _)| *open < unit.group);
        let frozen = run.frozen.clusters.get(name);
        let hold = match (&turns.closed, verdict) {
            (Some(Hold::Frozen(_)) | None, _) if let Some(own) = frozen => own.clone(),
            (Some(hold), _) => hold.clone(),
            (None, _) if !is_through => Hold::Canary,
            (None, _) if behind.is_some() => behind.map_or(Hold::Slot, |(_, hold)| hold.behind()),
            (None, Verdict::Start) if !stand.refused => {
                turns.start.insert(name.clone());
                continue;
            }
            (None, Verdict::Wait(model::engine::Hold::Approval)) => stages.approval(run, unit.group),
            (None, Verdict::Wait(model::engine::Hold::Check)) => stages.check(unit.group, &decision),
            // Clusters of its own stage keep their slots until they have soaked.
            (None, Verdict::Wait(model::engine::Hold::Soak)) => stages.soak(unit.group),
            (None, _) => Hold::Slot,
        };
        turns.waits.insert(name.clone(), hold);
    }
    again(run, stands, &stages, stage.as_ref(), &mut turns);
    upgrades(run, stands, &stages, &mut turns);
    turns
}

/// The groups of clusters that go one after the other: the canary clusters, each stage, and the others. Without stages, and without
/// checks of the canary clusters, all clusters are one group.
struct Stages<'a> {
    names: Vec<&'a Name>,
    is_one: bool,
    course: Course,
    /// How many clusters may upgrade at once while a group is open.
    limits: Vec<usize>,
}

impl<'a> Stages<'a> {
    fn of(run: Run<'a>, stands: &BTreeMap<Name, ClusterStanding>) -> Self {
        let strategy = &run.spec.strategy;
        let own = strategy.at_once.of(stands.len()).max(1);
        // Deadlines are not the engine's here: each step of a cluster has its own clock.
        let course = Course {
            tolerance: Some(strategy.failures),
            checks: checks(run, stands),
            ..Course::within(strategy.at_once)
        };
        if strategy.stages.is_empty() && (course.checks.is_none() || strategy.canary.is_none()) {
            return Self {
                names: Vec::new(),
                is_one: true,
                course,
                limits: vec![own],
            };
        }
        let all = |limit| GroupPace {
            limit,
            soak: Duration::ZERO,
        };
        let stages = strategy.stages.iter().map(|stage| {
            let clusters = stands
                .values()
                .filter(|stand| stand.record.is_of_stage(&stage.name));
            let clusters = clusters.count();
            GroupPace {
                limit: stage.at_once.map_or(own, |limit| limit.of(clusters).max(1)),
                soak: stage.soak,
            }
        });
        let paces: Vec<GroupPace> = std::iter::once(all(own))
            .chain(stages)
            .chain([all(own)])
            .collect();
        Self {
            names: strategy.stages.iter().map(|stage| &stage.name).collect(),
            is_one: false,
            limits: paces.iter().map(|pace| pace.limit).collect(),
            course: Course {
                rest: Rest::GroupByGroup,
                paces,
                ..course
            },
        }
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let each = (0_u32..).zip(&self.limits);
        each.map(|(index, _)| Group { index, name: "" }).collect()
    }

    /// Returns the group of a cluster.
    fn at(&self, record: &Record) -> usize {
        if record.canary || self.is_one {
            return 0;
        }
        let found = self.names.iter().position(|name| ***name == *record.stage);
        found.unwrap_or(self.names.len()).saturating_add(1)
    }

    /// Returns the stage that is this group.
    fn name(&self, group: usize) -> Option<&'a Name> {
        group.checked_sub(1).and_then(|at| self.names.get(at)).copied()
    }

    fn soak(&self, group: usize) -> Hold {
        self.name(group)
            .map_or(Hold::Slot, |name| Hold::Soak(name.clone()))
    }

    fn approval(&self, run: Run<'_>, group: usize) -> Hold {
        self.name(group)
            .map_or(Hold::Slot, |name| run.approvals.hold(name))
    }

    fn check(&self, group: usize, decision: &Decision) -> Hold {
        let stage = self.name(group).cloned().unwrap_or_default();
        Hold::Check(stage, Name::from(unmet(&decision.unmet, false)))
    }

    fn limit(&self, group: usize) -> usize {
        self.limits.get(group).copied().unwrap_or(1)
    }

    /// Returns the first group that is not done, and why those behind it wait.
    fn open(&self, run: Run<'_>, units: &[Unit], decision: &Decision) -> Option<(usize, Hold)> {
        let is_open = |verdict: &Verdict| {
            matches!(
                verdict,
                Verdict::Start | Verdict::Wait(_) | Verdict::Going | Verdict::Soaking
            )
        };
        let all = || {
            units
                .iter()
                .zip(&decision.verdicts)
                .filter(|(_, verdict)| is_open(verdict))
        };
        let first = all().map(|(unit, _)| unit.group).min()?;
        let is_each = |wanted: Verdict| {
            let mut own = all().filter(|(unit, _)| unit.group == first);
            own.all(|(_, verdict)| *verdict == wanted)
        };
        let hold = match self.name(first) {
            _ if is_each(Verdict::Wait(model::engine::Hold::Check)) => self.check(first, decision),
            None if first == 0 && !self.is_one => Hold::Canary,
            None => return None,
            Some(name) if is_each(Verdict::Soaking) => Hold::Soak(name.clone()),
            Some(name) if is_each(Verdict::Wait(model::engine::Hold::Approval)) => run.approvals.hold(name),
            Some(name) => Hold::Stage(name.clone()),
        };
        Some((first, hold))
    }
}

/// Returns the checks of the canary clusters, of each stage and of the other clusters; absent if there are none.
fn checks(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>) -> Option<Checks> {
    let shared = run.settings.checks_of_stage(None);
    let stages = run.spec.strategy.stages.iter();
    let stages = stages.map(|stage| run.settings.checks_of_stage(stage.checks.as_deref()));
    let names: Vec<&[Name]> = std::iter::once(shared).chain(stages).chain([shared]).collect();
    let all: BTreeSet<&Name> = names.iter().copied().flatten().collect();
    let each: Vec<Check> = all.iter().map(|name| of_name(run, name)).collect();
    let of_stages = names.iter().map(|own| {
        let each = all.iter().enumerate().filter(|(_, name)| own.contains(name));
        each.map(|(at, _)| at).collect()
    });
    let has_begun = |stand: &&ClusterStanding| {
        stand.record.has_begun() && stand.record.reason != Some(Reason::AlreadyAtVersion)
    };
    let begun = stands.values().filter(has_begun);
    (!each.is_empty()).then(|| Checks {
        of_stages: of_stages.collect(),
        started: begun.filter_map(|stand| stand.record.started).min(),
        each,
    })
}

fn of_name(run: Run<'_>, name: &Name) -> Check {
    run.checks.get(name).cloned().unwrap_or_else(|| Check {
        name: name.clone(),
        result: Err(CheckDoubt::Missing),
    })
}

/// What the hub has refused is tried again where no other cluster needs the slot: a refused one must not hold the others.
fn again(
    run: Run<'_>,
    stands: &BTreeMap<Name, ClusterStanding>,
    stages: &Stages<'_>,
    stage: Option<&(usize, Hold)>,
    turns: &mut Turns,
) {
    if turns.closed.is_some() {
        return;
    }
    let taken = stands.values().filter(|stand| stand.slot).count();
    let taken = taken.saturating_add(turns.start.len());
    let is_through = |stand: &ClusterStanding| {
        let own = stages.at(&stand.record);
        let is_behind = stage.is_some_and(|(open, hold)| {
            let waits = matches!(hold, Hold::Approval(_) | Hold::Rejected(..) | Hold::Check(..));
            *open < own || (*open == own && waits)
        });
        !is_behind && (turns.gate_is_open || stand.record.canary)
    };
    let tried = stands
        .iter()
        .filter(|(_, stand)| stand.refused && stand.want == Want::Turn && is_through(stand))
        .filter(|(name, _)| !run.frozen.clusters.contains_key(*name));
    let mut started = 0_usize;
    let mut again: Vec<Name> = Vec::new();
    for (name, stand) in tried {
        if taken.saturating_add(started) < stages.limit(stages.at(&stand.record)) {
            started = started.saturating_add(1);
            again.push(name.clone());
        }
    }
    for name in again {
        turns.waits.remove(&name);
        turns.start.insert(name);
    }
}

/// A cluster that has had its turn keeps its slot, and yet no more upgrade at once than may: the limit may be lower by then. One that
/// goes to its next hop is upgrading already.
fn upgrades(run: Run<'_>, stands: &BTreeMap<Name, ClusterStanding>, stages: &Stages<'_>, turns: &mut Turns) {
    let mut upgrading = stands.values().filter(|stand| is_upgrading(stand)).count();
    for (name, stand) in stands {
        let is_next = stand.want == Want::Hop;
        if stand.want != Want::Upgrade && !is_next {
            continue;
        }
        let own = run.frozen.clusters.get(name).cloned();
        let is_free = is_next || upgrading < stages.limit(stages.at(&stand.record));
        let hold = turns
            .closed
            .clone()
            .or(own)
            .or_else(|| (!is_free).then_some(Hold::Slot));
        if let Some(hold) = hold {
            turns.waits.insert(name.clone(), hold);
        } else {
            upgrading = upgrading.saturating_add(usize::from(!is_next));
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
    if let Some(fault) = run.fault {
        return Some(Hold::Settings(fault.clone()));
    }
    let shared = run.settings.pause_of_all();
    let by_profile = Hold::PausedByProfile(shared.unwrap_or_default().to_owned());
    let each = [
        (run.spec.preview, Hold::Preview),
        (run.spec.suspend, Hold::Paused),
        (shared.is_some(), by_profile),
        (run.memory.changing, Hold::Changing),
        (run.undecided, Hold::Undecided),
        (lacks_first, Hold::NoCanary),
        (has_failed, Hold::CanaryFailed),
    ];
    each.into_iter().find(|(holds, _)| *holds).map(|(_, hold)| hold)
}

/// What holds the whole upgrade if every cluster that could go on is frozen, or has closed windows.
fn freeze(frozen: &Frozen, stands: &BTreeMap<Name, ClusterStanding>) -> Option<Hold> {
    let waiting = stands
        .iter()
        .filter(|(_, stand)| matches!(stand.want, Want::Turn | Want::Upgrade | Want::Hop));
    let holds: Option<Vec<&Hold>> = waiting.map(|(name, _)| frozen.clusters.get(name)).collect();
    // A freeze needs more attention than windows, which open by themselves.
    holds?.into_iter().min().cloned()
}

fn window(run: Run<'_>, now: Timestamp) -> (Option<Hold>, Option<Timestamp>) {
    let own = run.spec.strategy.window.as_ref().map(|window| window.at(now));
    let shared = || run.settings.windows_of_all().map(|windows| windows.at(now));
    match own.or_else(shared) {
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
        // A cluster that had the version, or whose end is not recorded any more, need not soak.
        (State::Complete, _) if record.phase == Phase::Done => {
            let had_it = record.reason == Some(Reason::AlreadyAtVersion);
            let end = record.finished.filter(|_| !had_it);
            UnitState::Succeeded(end.unwrap_or(Timestamp::UNIX_EPOCH))
        }
        (State::Initialized | State::Partial, _) => UnitState::InFlight(since),
        (State::NotStarted, _) if stand.slot => UnitState::InFlight(since),
        (State::NotStarted, Want::Turn) if !stand.refused && (gate_is_open || record.canary) => {
            UnitState::ToApply
        }
        // It keeps its stage open: a stage is done when all its clusters are.
        (State::NotStarted | State::Complete, _) => UnitState::Blocked(None),
    }
}
