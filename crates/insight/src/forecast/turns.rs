//! The end of a rollout if every cluster succeeds: a simulation with the rollout engine.
//!
//! Decides nothing about turns: `model::engine::decide` does, on units that succeed as long after they were told as those took that were seen.
//! Does bounded work: the end of a rollout with more turns than it simulates is extrapolated.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use model::engine::{Course, Group, Unit, UnitState, Verdict, decide};

/// So many units are looked at, in all turns together.
const MOST_LOOKS: usize = 400_000;
/// The most turns that are played.
const MOST_TURNS: usize = 2_000;

/// The end of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How long it takes from now; absent if something else has to happen first.
    pub after: Option<Duration>,
    /// Whether it was simulated to its end, and not extrapolated.
    pub exact: bool,
    /// How long each unit takes from now, in their order; absent if its end was not simulated.
    pub units: Vec<Option<Duration>>,
}

/// Returns when a rollout would be over if each unit took so long.
pub fn ending(
    course: &Course,
    groups: &[Group<'_>],
    units: &[Unit],
    each: Duration,
    now: Timestamp,
) -> Ending {
    let mut ends = vec![None; units.len()];
    let mut play = Play {
        units: units.to_vec(),
        now,
        each,
    };
    let turns = MOST_LOOKS.checked_div(units.len().max(1)).unwrap_or_default();
    let open = play.open();
    for _ in 0..turns.clamp(8, MOST_TURNS) {
        let decision = decide(course, groups, &play.units, false, play.now);
        if play.start(&decision.verdicts) {
            continue;
        }
        let is_over = |verdict: &Verdict| match verdict {
            Verdict::Start | Verdict::Wait(_) | Verdict::Going | Verdict::Soaking => false,
            Verdict::Failed | Verdict::TimedOut | Verdict::Done | Verdict::Skipped | Verdict::Held => true,
        };
        let passed = play.passed(now);
        for (end, verdict) in ends.iter_mut().zip(&decision.verdicts) {
            *end = end.or(Some(passed)).filter(|_| is_over(verdict));
        }
        let is_over = decision.verdicts.iter().all(is_over);
        if is_over || !play.pass(decision.recheck_at) {
            return Ending {
                after: is_over.then_some(passed),
                exact: true,
                units: ends,
            };
        }
    }
    let moved = open.saturating_sub(play.open());
    let scaled = u32::try_from(open)
        .ok()
        .and_then(|open| play.passed(now).checked_mul(open));
    let moved = u32::try_from(moved).ok();
    Ending {
        after: scaled
            .zip(moved)
            .and_then(|(scaled, moved)| scaled.checked_div(moved)),
        exact: false,
        units: ends,
    }
}

struct Play {
    units: Vec<Unit>,
    now: Timestamp,
    each: Duration,
}

impl Play {
    /// How many have yet to arrive.
    fn open(&self) -> usize {
        let has_arrived = |unit: &&Unit| match unit.standing {
            UnitState::ToApply | UnitState::Overtaken(_) | UnitState::InFlight(_) | UnitState::Blocked(_) => {
                false
            }
            UnitState::Failed(_) | UnitState::Succeeded(_) | UnitState::Skipped | UnitState::Held => true,
        };
        self.units
            .len()
            .saturating_sub(self.units.iter().filter(has_arrived).count())
    }

    fn passed(&self, since: Timestamp) -> Duration {
        Duration::try_from(self.now.duration_since(since)).unwrap_or_default()
    }

    /// Starts the clusters that may start; returns whether there are any.
    fn start(&mut self, verdicts: &[Verdict]) -> bool {
        let mut has_started = false;
        for (unit, verdict) in self.units.iter_mut().zip(verdicts) {
            if *verdict == Verdict::Start {
                unit.standing = UnitState::InFlight(self.now);
                has_started = true;
            }
        }
        has_started
    }

    /// Lets time pass until a unit arrives, or until time alone changes something; returns whether anything will.
    fn pass(&mut self, recheck: Option<Timestamp>) -> bool {
        let on_the_way = self.units.iter().filter_map(|unit| self.arrival(unit));
        let recheck = recheck.filter(|at| *at > self.now);
        let Some(next) = on_the_way.chain(recheck).min() else {
            return false;
        };
        self.now = self.now.max(next);
        let arrivals: Vec<bool> = self
            .units
            .iter()
            .map(|unit| self.arrival(unit).is_some_and(|at| at <= self.now))
            .collect();
        for (unit, arrives) in self.units.iter_mut().zip(arrivals) {
            if arrives {
                unit.standing = UnitState::Succeeded(self.now);
            }
        }
        true
    }

    /// When a unit that was told is there: one that takes longer than the others did is taken to arrive now.
    fn arrival(&self, unit: &Unit) -> Option<Timestamp> {
        match unit.standing {
            UnitState::InFlight(since) => {
                let length = SignedDuration::try_from(self.each).ok()?;
                Some(since.checked_add(length).ok()?.max(self.now))
            }
            UnitState::ToApply
            | UnitState::Overtaken(_)
            | UnitState::Failed(_)
            | UnitState::Succeeded(_)
            | UnitState::Skipped
            | UnitState::Held
            | UnitState::Blocked(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use model::Limit;

    const START: i64 = 1_000_000;

    fn played(limit: u32, soak: u64, each: u64, units: &[UnitState]) -> Option<(u64, bool)> {
        let course = Course {
            soak: Duration::from_secs(soak),
            tolerance: Some(model::Tolerance::Clusters(0)),
            ..Course::within(NonZeroU32::new(limit).map_or(Limit::All, Limit::Clusters))
        };
        let units: Vec<Unit> = units
            .iter()
            .map(|standing| Unit {
                group: 0,
                standing: *standing,
                approved: true,
                unchecked: true,
            })
            .collect();
        let now = Timestamp::from_second(START).expect("a time");
        let ending = ending(&course, &[], &units, Duration::from_secs(each), now);
        let ends: Vec<u64> = ending.units.iter().flatten().map(Duration::as_secs).collect();
        let after = ending.after?.as_secs();
        assert!(
            !ending.exact || ends.iter().max().is_none_or(|last| *last == after),
            "the last unit ends the rollout: {ends:?}"
        );
        Some((after, ending.exact))
    }

    #[test]
    fn turns_follow_each_other_until_all_have_soaked() {
        let six = [UnitState::ToApply; 6];
        assert_eq!(
            played(2, 0, 10, &six),
            Some((30, true)),
            "three turns of ten seconds"
        );
        // A soak counts from the end of the second in which it began.
        assert_eq!(played(2, 30, 10, &six), Some((3 * 41, true)));
        assert_eq!(played(0, 30, 0, &six), Some((31, true)), "all at once");
        assert_eq!(played(2, 0, 10, &[]), Some((0, true)));
    }

    #[test]
    fn each_unit_has_its_end_although_another_has_none() {
        let now = Timestamp::from_second(START).expect("a time");
        let unit = |approved| Unit {
            group: 0,
            standing: UnitState::ToApply,
            approved,
            unchecked: true,
        };
        let course = Course::within(NonZeroU32::new(1).map_or(Limit::All, Limit::Clusters));
        let units = [unit(true), unit(true), unit(false)];
        let found = ending(&course, &[], &units, Duration::from_secs(10), now);
        let ends = [Some(Duration::from_secs(10)), Some(Duration::from_secs(20)), None];
        assert_eq!((found.after, found.units.as_slice()), (None, ends.as_slice()));
    }

    #[test]
    fn what_needs_an_administrator_has_no_end() {
        let failed = UnitState::Failed(Timestamp::from_second(START).expect("a time"));
        assert_eq!(played(1, 0, 1, &[failed, UnitState::ToApply]), None);
    }

    #[test]
    fn a_long_rollout_is_extrapolated() {
        let many = vec![UnitState::ToApply; 20_000];
        let (after, exact) = played(1, 0, 60, &many).expect("it ends");
        assert!(!exact);
        let expected = 20_000 * 60;
        assert!((expected / 2..=expected * 2).contains(&after), "{after}");
    }
}
