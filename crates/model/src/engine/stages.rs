//! The stages of a course: groups that go together, one stage after the other, and the gate of each.
//!
//! Decides how many units of a stage may start. Never decides about a single unit (`decide.rs`).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::Unmet;
use super::decide::{Course, DoneUnits, Group, Hold, StageCounts, Unit, UnitState, Verdict};
use crate::{Name, Rest};

/// Groups that go together, one stage after the other.
#[derive(Debug)]
pub struct Stages {
    /// The stage of every group.
    of_group: Vec<usize>,
    /// How many stages there are; the first ones are the mandatory groups.
    count: usize,
    mandatory: usize,
}

/// The units of one stage, counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Units that are this course's business.
    all: usize,
    to_apply: usize,
    /// Those of them that are being updated to an earlier version.
    overtaken: usize,
    going: usize,
    soaking: usize,
    pub(super) failures: usize,
    /// Checks that failed while it was the last stage that had started.
    failed_checks: usize,
    /// When the last unit arrived.
    pub(super) arrived: Option<Timestamp>,
    /// When the last unit arrived whose soak is over.
    soaked: Option<Timestamp>,
}

impl Stages {
    /// Returns the stages of a course: each mandatory group is one, and the others are one together or one each.
    pub fn new(course: &Course, groups: &[Group<'_>]) -> Self {
        let is_mandatory = |group: &Group<'_>| {
            let mut mandatory = course.mandatory.iter();
            mandatory.any(|one| one.means(group.index, group.name))
        };
        let chosen: Vec<bool> = groups.iter().map(is_mandatory).collect();
        let mandatory = chosen.iter().filter(|chosen| **chosen).count();
        let (mut first, mut rest) = (0, mandatory);
        let of_group = chosen
            .into_iter()
            .map(|chosen| match (chosen, course.rest) {
                (true, _) => next(&mut first),
                (false, Rest::GroupByGroup) => next(&mut rest),
                (false, Rest::Within(_)) => mandatory,
            })
            .collect();
        Self {
            of_group,
            count: rest.max(mandatory.saturating_add(1)),
            mandatory,
        }
    }

    pub(super) fn of(&self, unit: &Unit) -> usize {
        self.at(unit.group)
    }

    /// Returns the stage of a group.
    pub fn at(&self, group: usize) -> usize {
        let last = self.count.saturating_sub(1);
        self.of_group.get(group).copied().unwrap_or(last)
    }

    /// Returns the mandatory group that is a stage of its own.
    pub(super) fn mandatory_group(&self, stage: usize) -> Option<usize> {
        let mut groups = self.of_group.iter();
        groups.position(|of| *of == stage && stage < self.mandatory)
    }

    /// Units that are done are there, and no more than that.
    pub(super) fn count_done(&self, tallies: &mut [Tally], done: &BTreeMap<usize, DoneUnits>) {
        for (group, units) in done {
            if let Some(tally) = tallies.get_mut(self.at(*group)) {
                tally.all = tally.all.saturating_add(units.count);
                tally.note_arrival(units.latest, true);
            }
        }
    }

    pub(super) fn tallies(&self, units: &[Unit], verdicts: &[Verdict]) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.count];
        for (unit, verdict) in units.iter().zip(verdicts) {
            let Some(tally) = tallies.get_mut(self.of(unit)) else {
                continue;
            };
            let slot = match verdict {
                Verdict::Skipped => continue,
                // It is being updated to an earlier version, and nothing newer comes yet.
                Verdict::Wait(_) if matches!(unit.standing, UnitState::Blocked(Some(_))) => {
                    Some(&mut tally.going)
                }
                Verdict::Wait(_) => Some(&mut tally.to_apply),
                Verdict::Going => Some(&mut tally.going),
                Verdict::Soaking => Some(&mut tally.soaking),
                Verdict::Failed | Verdict::TimedOut => Some(&mut tally.failures),
                Verdict::Start | Verdict::Done | Verdict::Held => None,
            };
            if let Some(slot) = slot {
                *slot = slot.saturating_add(1);
            }
            if let UnitState::Succeeded(since) | UnitState::Failed(since) = unit.standing {
                tally.note_arrival(Some(since), *verdict == Verdict::Done);
            }
            if matches!(unit.standing, UnitState::Overtaken(_)) {
                tally.overtaken = tally.overtaken.saturating_add(1);
            }
            tally.all = tally.all.saturating_add(1);
        }
        tallies
    }

    /// How many units of a stage may fail: none of a mandatory group, so many of all where all go together, so many of its
    /// own where groups go one by one.
    pub(super) fn tolerated(&self, course: &Course, stage: usize, tallies: &[Tally]) -> Option<usize> {
        if stage < self.mandatory {
            return Some(0);
        }
        let total = match course.rest {
            Rest::Within(_) => tallies.iter().map(|tally| tally.all).sum(),
            Rest::GroupByGroup => tallies.get(stage)?.all,
        };
        course.tolerance.map(|tolerance| tolerance.of(total))
    }

    /// Returns the stages in their order, counted.
    pub(super) fn counts(&self, course: &Course, tallies: &[Tally]) -> Vec<StageCounts> {
        let each = tallies.iter().enumerate();
        each.map(|(stage, tally)| StageCounts {
            all: tally.all,
            failures: tally.failures.saturating_add(tally.failed_checks),
            tolerated: self.tolerated(course, stage, tallies),
            limit: self.limit(course, stage, tallies),
        })
        .collect()
    }

    /// How many units may be under way at once while a stage is open; absent where all of it may.
    fn limit(&self, course: &Course, stage: usize, tallies: &[Tally]) -> Option<usize> {
        match course.rest {
            Rest::Within(limit) if stage >= self.mandatory || course.limit_mandatory => {
                let rest = tallies.get(self.mandatory).map_or(0, |tally| tally.all);
                // A share of nothing is nothing, and the mandatory groups would wait indefinitely.
                Some(limit.of(rest).max(1))
            }
            Rest::GroupByGroup => {
                let group = self.of_group.iter().position(|of| *of == stage)?;
                course.paces.get(group).map(|pace| pace.limit)
            }
            Rest::Within(_) => None,
        }
    }

    /// Returns the gate of each stage, and the checks that hold the units of the open one.
    pub(super) fn gates(
        &self,
        course: &Course,
        tallies: &[Tally],
        shut: Option<Hold>,
        now: Timestamp,
    ) -> (Vec<Gate>, Vec<Unmet>) {
        let mut shut = shut;
        let mut unmet = Vec::new();
        let mut gates = Vec::with_capacity(tallies.len());
        for (stage, tally) in tallies.iter().enumerate() {
            if shut.is_none() {
                unmet = unmet_checks(course, tallies, stage, now);
            }
            let mut gate = match (shut, self.limit(course, stage, tallies)) {
                (Some(hold), _) => Gate {
                    free: 0,
                    reserved: 0,
                    hold,
                    unmet: false,
                },
                (None, Some(limit)) => Gate::limited(course, limit, tallies).reserving(tally.overtaken),
                (None, None) => Gate {
                    free: usize::MAX,
                    reserved: 0,
                    hold: Hold::Slot,
                    unmet: false,
                },
            };
            gate.unmet = shut.is_none() && !unmet.is_empty();
            gates.push(gate);
            let is_open = tally.to_apply > 0 || tally.going > 0 || tally.soaking > 0;
            shut = shut.or_else(|| is_open.then_some(Hold::Group));
        }
        (gates, unmet)
    }
}

/// Counts the checks that have failed in the last stage that has started, and returns them: name and message.
pub(super) fn count_failed_checks(
    course: &Course,
    tallies: &mut [Tally],
    now: Timestamp,
) -> Vec<(Name, Name)> {
    let Some(checks) = &course.checks else {
        return Vec::new();
    };
    let started = checks.started;
    let has_started = |tally: &Tally| {
        let under_way = tally
            .going
            .saturating_add(tally.soaking)
            .saturating_add(tally.failures);
        under_way > 0
            || tally
                .arrived
                .is_some_and(|at| started.is_some_and(|started| at >= started))
    };
    let last = tallies.iter().rposition(has_started).unwrap_or_default();
    let failed = checks.failed(last, now);
    if let Some(tally) = tallies.get_mut(last) {
        tally.failed_checks = failed.len();
    }
    failed
}

/// Returns whether every check of the last stage has passed since the last unit arrived.
pub(super) fn is_checked(course: &Course, tallies: &[Tally], now: Timestamp) -> bool {
    let last = tallies
        .iter()
        .rposition(|tally| tally.all > 0)
        .unwrap_or_default();
    let latest = tallies.iter().filter_map(|tally| tally.arrived).max();
    let mut checks = course.checks.iter();
    checks.all(|checks| checks.unmet(last, latest, now).is_empty())
}

impl Tally {
    fn note_arrival(&mut self, at: Option<Timestamp>, is_done: bool) {
        self.arrived = self.arrived.max(at);
        if is_done {
            self.soaked = self.soaked.max(at);
        }
    }
}

/// The checks that hold the units of a stage. Those of the first stage that has units start without: nothing can be checked before. Once
/// the soak of one of them is over, the others wait, too.
fn unmet_checks(course: &Course, tallies: &[Tally], stage: usize, now: Timestamp) -> Vec<Unmet> {
    let Some(checks) = &course.checks else {
        return Vec::new();
    };
    let before = tallies.get(..stage).unwrap_or_default();
    let last = before.iter().rposition(|tally| tally.all > 0);
    let mut unmet = last.map_or_else(Vec::new, |last| {
        checks.unmet(last, before.iter().filter_map(|tally| tally.arrived).max(), now)
    });
    // The checks of the stages before are those of this one, too, unless each stage has its own.
    if last.is_none() || !checks.of_stages.is_empty() {
        let soaked = tallies.get(stage).and_then(|tally| tally.soaked);
        let soaked = soaked.filter(|at| checks.started.is_some_and(|started| *at >= started));
        let soaked = soaked.filter(|_| !course.soak_of(stage).is_zero());
        unmet.extend(soaked.map_or_else(Vec::new, |at| checks.unmet(stage, Some(at), now)));
        unmet.sort_by(|(one, _), (other, _)| one.cmp(other));
        unmet.dedup_by(|(one, _), (other, _)| one == other);
    }
    unmet
}

/// How many units of a stage may start, and what the others wait for.
pub(super) struct Gate {
    free: usize,
    /// Slots that only units may take which are in progress already: otherwise more would be in progress than may.
    reserved: usize,
    hold: Hold,
    /// Whether a check holds the units.
    pub(super) unmet: bool,
}

impl Gate {
    fn limited(course: &Course, limit: usize, tallies: &[Tally]) -> Self {
        // A failure that is tolerated gives its slot back.
        let keeps = |tally: &Tally| {
            if course.tolerance.is_none() {
                tally.going.saturating_add(tally.failures)
            } else {
                tally.going
            }
        };
        let going: usize = tallies.iter().map(keeps).sum();
        let soaking: usize = tallies.iter().map(|tally| tally.soaking).sum();
        Self {
            free: limit.saturating_sub(going.saturating_add(soaking)),
            reserved: 0,
            hold: if going < limit && soaking > 0 {
                Hold::Soak
            } else {
                Hold::Slot
            },
            unmet: false,
        }
    }

    fn reserving(self, reserved: usize) -> Self {
        Self { reserved, ..self }
    }

    pub(super) fn pass(&mut self) -> Verdict {
        if self.free <= self.reserved {
            return Verdict::Wait(self.hold);
        }
        self.free = self.free.saturating_sub(1);
        Verdict::Start
    }

    /// What a unit waits for that something else than a slot holds: it takes no slot, and nothing is asked for before its stage is open.
    pub(super) fn await_hold(&self, asked: Hold) -> Verdict {
        Verdict::Wait(match self.hold {
            hold @ (Hold::Paused | Hold::Failures | Hold::Group) => hold,
            Hold::Approval | Hold::Check | Hold::Slot | Hold::Soak | Hold::Elsewhere => asked,
        })
    }

    pub(super) fn pass_overtaken(&mut self) -> Verdict {
        if self.free == 0 {
            return Verdict::Wait(self.hold);
        }
        self.free = self.free.saturating_sub(1);
        self.reserved = self.reserved.saturating_sub(1);
        Verdict::Start
    }
}

fn next(counter: &mut usize) -> usize {
    let number = *counter;
    *counter = counter.saturating_add(1);
    number
}
