//! The rollout engine: who may move now, when a change is rolled out to many units a few at a time.
//!
//! Decides stages, slots, soak times, deadlines and tolerated failures. Knows nothing of add-ons: a unit is a place in a
//! list with a group and a standing. What is under way is counted before anything starts, so that no order of units makes
//! it exceed a limit. Never remembers anything: the same units and the same time always give the same decision.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::checks::{Checks, Unmet};
use super::stages::{Gate, Stages, count_failed_checks, is_checked};
use crate::Name;
use crate::{Limit, MandatoryGroup, Rest, Tolerance};

/// How a change is rolled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// Groups that go first, one after another in order of their indices; none of their units may fail.
    pub mandatory: Vec<MandatoryGroup>,
    /// Whether the mandatory groups obey the limit of the rest.
    pub limit_mandatory: bool,
    /// How the other units go.
    pub rest: Rest,
    /// How many failures stop the course. Without a tolerance failures never stop it: a unit that failed keeps its slot.
    pub tolerance: Option<Tolerance>,
    /// How long a unit must stay successful until it gives its slot back and its group is done.
    pub soak: Duration,
    /// How long a unit may take, from the moment at which it was told to move.
    pub deadline: Option<Duration>,
    /// The time of a user's promotion: units that had succeeded before it need not soak any longer.
    pub promoted: Option<Timestamp>,
    /// The pace of each group by its position, where groups go one by one. A group without one goes at once, with the soak of the
    /// course.
    pub paces: Vec<GroupPace>,
    /// The checks that its units wait for; absent where there are none, or where what they move to is known to be good.
    pub checks: Option<Checks>,
}

/// How fast one group goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupPace {
    /// How many units may be under way at once while the group is open; never zero.
    pub limit: usize,
    /// How long a unit must stay successful until it gives its slot back and the group is done.
    pub soak: Duration,
}

impl Course {
    /// Returns the course on which everything moves at once and nothing stops it.
    pub fn at_once() -> Self {
        Self::within(Limit::All)
    }

    /// Returns the course on which so many units move at once and nothing stops it.
    pub fn within(limit: Limit) -> Self {
        Self {
            mandatory: Vec::new(),
            limit_mandatory: false,
            rest: Rest::Within(limit),
            tolerance: None,
            soak: Duration::ZERO,
            deadline: None,
            promoted: None,
            paces: Vec::new(),
            checks: None,
        }
    }

    pub(super) fn soak_of(&self, group: usize) -> Duration {
        self.paces.get(group).map_or(self.soak, |pace| pace.soak)
    }

    /// Returns whether a promotion ends the soak of a unit that succeeded then. One that lies more than a minute ahead
    /// promotes nothing: it is no leave for whatever comes.
    pub fn is_promoted(&self, since: Timestamp, now: Timestamp) -> bool {
        is_promoted(self.promoted, since, now)
    }
}

/// How far ahead of the hub's the clock may be by which a user promotes.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);

/// Returns whether who succeeded then is let pass by a promotion. What is recorded of a second may have been at its end.
pub fn is_promoted(promoted: Option<Timestamp>, since: Timestamp, now: Timestamp) -> bool {
    promoted.is_some_and(|at| since < at && at.duration_since(now) <= AHEAD)
}

/// A group of units. The list of groups is sorted by index; indices may have gaps, and two groups may share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group<'a> {
    /// Its index.
    pub index: u32,
    /// Its name, "" when it has none.
    pub name: &'a str,
}

impl Group<'_> {
    /// Returns what it is called in messages.
    pub fn told(&self) -> Name {
        if self.name.is_empty() {
            return Name::from(self.index.to_string());
        }
        Name::from(self.name)
    }
}

/// One unit. The list of units is in the order in which they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Position of its group in the list of groups.
    pub group: usize,
    /// How far it is.
    pub standing: UnitState,
    /// Whether what it has to move to needs no approval, or has it.
    pub approved: bool,
    /// Whether no check holds it.
    pub unchecked: bool,
}

/// Units that are done, and of which nothing else is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DoneUnits {
    /// How many there are.
    pub count: usize,
    /// When the last of them arrived, where checks ask.
    pub latest: Option<Timestamp>,
}

/// How far a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitState {
    /// It has to move.
    ToApply,
    /// It has to move, and is still being updated to what it was told then: it takes a slot already.
    Overtaken(Timestamp),
    /// It was told to move then and is not there yet.
    InFlight(Timestamp),
    /// It was told to move then and reports a failure.
    Failed(Timestamp),
    /// It has been there since then.
    Succeeded(Timestamp),
    /// Another course moves it, or no course can.
    Skipped,
    /// It has to move, but something else keeps it from moving.
    Held,
    /// It has to move, and will as soon as something comes that this course does not decide: until then it takes no slot, unless
    /// it is still being updated to what it was told then, and keeps its stage open.
    Blocked(Option<Timestamp>),
}

/// What a course decides about one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It moves now.
    Start,
    /// It moves later.
    Wait(Hold),
    /// It is in progress.
    Going,
    /// It is there and must stay successful for some time yet.
    Soaking,
    /// It failed.
    Failed,
    /// It took longer than it may.
    TimedOut,
    /// It is there.
    Done,
    /// It is none of this course's business.
    Skipped,
    /// It has to move and cannot.
    Held,
}

/// What a unit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// The course is paused.
    Paused,
    /// More units failed than are tolerated.
    Failures,
    /// A group before its own is not done.
    Group,
    /// What it would move to needs an approval. Whatever comes before is done.
    Approval,
    /// A check has not passed since the units before it arrived.
    Check,
    /// All slots are taken by units in progress.
    Slot,
    /// Units that have succeeded keep the last slots for the time of their soak.
    Soak,
    /// Something that the course does not decide.
    Elsewhere,
}

/// Units of a course, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// On their way, or soaking.
    pub progressing: usize,
    /// Done.
    pub done: usize,
    /// Failed.
    pub failed: usize,
    /// Timed out.
    pub timed_out: usize,
    /// Waiting for their turn.
    pub waiting: usize,
    /// Held by something else.
    pub held: usize,
}

/// More failures than are tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breach {
    /// Units that failed or timed out, and checks that failed.
    pub failures: usize,
    /// How many may.
    pub tolerated: usize,
    /// The mandatory group of which they are, by its position; absent where the rest of the groups has too many.
    pub group: Option<usize>,
}

/// One stage of a course, counted: a mandatory group, a group, or all groups that go together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageCounts {
    /// Units that are this course's business.
    pub all: usize,
    /// Units that failed or timed out, and checks that failed.
    pub failures: usize,
    /// How many may; absent where failures never stop the course.
    pub tolerated: Option<usize>,
    /// How many may be under way at once; absent where all may.
    pub limit: Option<usize>,
}

/// What a course decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// One verdict for each unit.
    pub verdicts: Vec<Verdict>,
    /// The units, counted.
    pub counts: Counts,
    /// Too many failures, when there are too many.
    pub breach: Option<Breach>,
    /// The stages in their order.
    pub stages: Vec<StageCounts>,
    /// The checks that hold the units of the open stage.
    pub unmet: Vec<Unmet>,
    /// The checks that count as failures: name and message.
    pub failed_checks: Vec<(Name, Name)>,
    /// Whether every check has passed since the last unit arrived.
    pub is_checked: bool,
    /// The next moment at which time alone changes the decision.
    pub recheck_at: Option<Timestamp>,
}

/// Returns who may move now.
pub fn decide(
    course: &Course,
    groups: &[Group<'_>],
    units: &[Unit],
    paused: bool,
    now: Timestamp,
) -> Decision {
    decide_beside(course, groups, units, &BTreeMap::new(), paused, now)
}

/// Returns who may move now, beside units that are done: so many in each group, by its position.
pub fn decide_beside(
    course: &Course,
    groups: &[Group<'_>],
    units: &[Unit],
    done: &BTreeMap<usize, DoneUnits>,
    paused: bool,
    now: Timestamp,
) -> Decision {
    let units: Vec<Unit> = units.iter().map(|unit| unit.at(course, now)).collect();
    let mut verdicts: Vec<Verdict> = units.iter().map(|unit| judged(course, unit, now)).collect();
    let recheck_at = units
        .iter()
        .zip(&verdicts)
        .filter_map(|(unit, verdict)| course.ends_after(unit.standing, *verdict, course.soak_of(unit.group)))
        .chain(course.checks.iter().filter_map(|checks| checks.changes_at(now)))
        .min();
    let stages = Stages::new(course, groups);
    let mut tallies = stages.tallies(&units, &verdicts);
    stages.count_done(&mut tallies, done);
    let failed_checks = count_failed_checks(course, &mut tallies, now);
    let counted_stages = stages.counts(course, &tallies);
    let breach = counted_stages.iter().enumerate().find_map(|(stage, counts)| {
        let tolerated = counts.tolerated?;
        (counts.failures > tolerated).then_some(Breach {
            failures: counts.failures,
            tolerated,
            group: stages.mandatory_group(stage),
        })
    });
    let shut = match (paused, breach) {
        (true, _) => Some(Hold::Paused),
        (false, Some(_)) => Some(Hold::Failures),
        (false, None) => None,
    };
    let (mut gates, unmet) = stages.gates(course, &tallies, shut, now);
    for (unit, verdict) in units.iter().zip(&mut verdicts) {
        let gate = gates.get_mut(stages.of(unit));
        if let Some(passed) = gate.and_then(|gate| let_pass(gate, unit)) {
            *verdict = passed;
        }
    }
    let mut counts = counted(&verdicts);
    counts.done = done
        .values()
        .fold(counts.done, |all, one| all.saturating_add(one.count));
    Decision {
        verdicts,
        counts,
        breach,
        stages: counted_stages,
        unmet,
        failed_checks,
        is_checked: is_checked(course, &tallies, now),
        recheck_at,
    }
}

/// The verdict about a unit that has to move.
fn let_pass(gate: &mut Gate, unit: &Unit) -> Option<Verdict> {
    match unit.standing {
        UnitState::ToApply | UnitState::Overtaken(_) if !unit.approved => {
            Some(gate.await_hold(Hold::Approval))
        }
        UnitState::ToApply | UnitState::Overtaken(_) if gate.unmet && !unit.unchecked => {
            Some(gate.await_hold(Hold::Check))
        }
        UnitState::ToApply => Some(gate.pass()),
        UnitState::Overtaken(_) => Some(gate.pass_overtaken()),
        UnitState::InFlight(_)
        | UnitState::Failed(_)
        | UnitState::Succeeded(_)
        | UnitState::Skipped
        | UnitState::Held
        | UnitState::Blocked(_) => None,
    }
}

impl Course {
    /// Returns when time alone changes a verdict about a unit: the end of a soak, or a deadline.
    pub fn ends(&self, standing: UnitState, verdict: Verdict) -> Option<Timestamp> {
        self.ends_after(standing, verdict, self.soak)
    }

    fn ends_after(&self, standing: UnitState, verdict: Verdict, soak: Duration) -> Option<Timestamp> {
        match (standing, verdict) {
            (UnitState::InFlight(since), Verdict::Going)
            | (UnitState::Overtaken(since) | UnitState::Blocked(Some(since)), Verdict::Wait(_)) => {
                end(since, self.deadline?)
            }
            (UnitState::Succeeded(since), Verdict::Soaking) => end(since, soak),
            (
                UnitState::ToApply
                | UnitState::Overtaken(_)
                | UnitState::InFlight(_)
                | UnitState::Failed(_)
                | UnitState::Succeeded(_)
                | UnitState::Skipped
                | UnitState::Held
                | UnitState::Blocked(_),
                _,
            ) => None,
        }
    }

    fn is_late(&self, since: Timestamp, now: Timestamp) -> bool {
        let end = self.deadline.and_then(|deadline| end(since, deadline));
        end.is_some_and(|end| now >= end)
    }
}

impl Unit {
    /// Returns the unit as it is now: one that is late with an earlier version takes no slot for it.
    fn at(self, course: &Course, now: Timestamp) -> Self {
        match self.standing {
            UnitState::Overtaken(since) if course.is_late(since, now) => Self {
                standing: UnitState::ToApply,
                ..self
            },
            UnitState::Blocked(Some(since)) if course.is_late(since, now) => Self {
                standing: UnitState::Blocked(None),
                ..self
            },
            UnitState::ToApply
            | UnitState::Overtaken(_)
            | UnitState::InFlight(_)
            | UnitState::Failed(_)
            | UnitState::Succeeded(_)
            | UnitState::Skipped
            | UnitState::Held
            | UnitState::Blocked(_) => self,
        }
    }
}

/// What can be said of a unit without looking at the others.
fn judged(course: &Course, unit: &Unit, now: Timestamp) -> Verdict {
    let is_late = |since| course.is_late(since, now);
    let soak = course.soak_of(unit.group);
    match unit.standing {
        UnitState::ToApply | UnitState::Overtaken(_) => Verdict::Wait(Hold::Slot),
        UnitState::InFlight(since) if is_late(since) => Verdict::TimedOut,
        UnitState::InFlight(_) => Verdict::Going,
        // A failure stays one, however long it lasts.
        UnitState::Failed(_) => Verdict::Failed,
        UnitState::Succeeded(since) if soak.is_zero() || course.is_promoted(since, now) => Verdict::Done,
        UnitState::Succeeded(since) => match end(since, soak) {
            Some(end) if now >= end => Verdict::Done,
            Some(_) | None => Verdict::Soaking,
        },
        UnitState::Skipped => Verdict::Skipped,
        UnitState::Held => Verdict::Held,
        UnitState::Blocked(_) => Verdict::Wait(Hold::Elsewhere),
    }
}

/// The clock of plans ticks in whole seconds, and so do the times that are recorded: what began within a second counts from its
/// end, and what ends within a second ends with it, so that nothing is ever early. What ends after the end of all time never
/// does.
pub fn end(since: Timestamp, length: Duration) -> Option<Timestamp> {
    let begin = Timestamp::from_second(since.as_second().checked_add(1)?).ok()?;
    let end = begin.checked_add(SignedDuration::try_from(length).ok()?).ok()?;
    if end.subsec_nanosecond() <= 0 {
        return Timestamp::from_second(end.as_second()).ok();
    }
    Timestamp::from_second(end.as_second().checked_add(1)?).ok()
}

fn counted(verdicts: &[Verdict]) -> Counts {
    let mut counts = Counts::default();
    for verdict in verdicts {
        let slot = match verdict {
            Verdict::Start | Verdict::Going | Verdict::Soaking => &mut counts.progressing,
            Verdict::Done => &mut counts.done,
            Verdict::Failed => &mut counts.failed,
            Verdict::TimedOut => &mut counts.timed_out,
            Verdict::Wait(_) => &mut counts.waiting,
            Verdict::Held => &mut counts.held,
            Verdict::Skipped => continue,
        };
        *slot = slot.saturating_add(1);
    }
    counts
}
