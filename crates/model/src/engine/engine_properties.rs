//! What holds for every strategy, every grouping and every state of the engine.

use std::num::NonZeroU32;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::checks::Checks;
use super::decide::*;
use super::stages::Stages;
use crate::{Limit, MandatoryGroup, Percent, Rest, Tolerance};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn limit() -> impl Strategy<Value = Limit> {
    let percent = |share| Limit::Percent(Percent::new(share).expect("a share"));
    let clusters = |count| NonZeroU32::new(count).map_or(Limit::All, Limit::Clusters);
    prop_oneof![
        Just(Limit::All),
        (1..6_u32).prop_map(clusters),
        (1..=100_u8).prop_map(percent)
    ]
}

fn tolerance() -> impl Strategy<Value = Option<Tolerance>> {
    let percent = |share| Tolerance::Percent(Percent::new(share).expect("a share"));
    prop::option::of(prop_oneof![
        (0..5_u32).prop_map(Tolerance::Clusters),
        (0..=100_u8).prop_map(percent)
    ])
}

fn course() -> impl Strategy<Value = Course> {
    let group = prop_oneof![
        (0..6_u32).prop_map(MandatoryGroup::At),
        "[ab]".prop_map(MandatoryGroup::Named)
    ];
    let rest = prop_oneof![limit().prop_map(Rest::Within), Just(Rest::GroupByGroup)];
    let parts = (
        prop::collection::vec(group, 0..3),
        any::<bool>(),
        rest,
        tolerance(),
        0..20_u64,
        prop::option::of(1..20_u64),
        prop::option::of(0..60_i64),
    );
    parts.prop_map(
        |(mandatory, limit_mandatory, rest, tolerance, soak, deadline, promoted)| Course {
            paces: Vec::new(),
            checks: None,
            mandatory,
            limit_mandatory,
            rest,
            tolerance,
            soak: Duration::from_secs(soak),
            deadline: deadline.map(Duration::from_secs),
            promoted: promoted.map(at),
        },
    )
}

const NAMES: [&str; 4] = ["", "a", "b", "c"];

fn groups() -> impl Strategy<Value = Vec<Group<'static>>> {
    let one = (0..8_u32, 0..4_usize).prop_map(|(index, name)| Group {
        index,
        name: NAMES[name],
    });
    prop::collection::btree_set(one, 1..5).prop_map(|all| all.into_iter().collect())
}

fn standing() -> impl Strategy<Value = UnitState> {
    let since = || (0..60_i64).prop_map(at);
    prop_oneof![
        4 => Just(UnitState::ToApply),
        1 => since().prop_map(UnitState::Overtaken),
        1 => since().prop_map(UnitState::InFlight),
        1 => since().prop_map(UnitState::Failed),
        2 => since().prop_map(UnitState::Succeeded),
        1 => Just(UnitState::Skipped),
        1 => Just(UnitState::Held),
    ]
}

fn units() -> impl Strategy<Value = Vec<Unit>> {
    let unit =
        (0..5_usize, standing(), prop::bool::weighted(0.8)).prop_map(|(group, standing, approved)| Unit {
            group,
            standing,
            approved,
            unchecked: false,
        });
    prop::collection::vec(unit, 0..24)
}

fn count(decision: &Decision, is: impl Fn(Verdict) -> bool) -> usize {
    decision.verdicts.iter().filter(|verdict| is(**verdict)).count()
}

fn is_under_way(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Going | Verdict::Soaking)
}

fn has_to_move(unit: &Unit) -> bool {
    matches!(unit.standing, UnitState::ToApply | UnitState::Overtaken(_))
}

fn is_mandatory(course: &Course, groups: &[Group<'_>], unit: &Unit) -> bool {
    groups.get(unit.group).is_some_and(|group| {
        course.mandatory.iter().any(|selector| match selector {
            MandatoryGroup::Named(name) => name == group.name,
            MandatoryGroup::At(index) => *index == group.index,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Starting never makes more of the rest move than the limit allows, whatever the limit was before.
    #[test]
    fn starting_never_exceeds_the_limit(course in course(), groups in groups(), units in units(), now in 0..80_i64) {
        let decision = decide(&course, &groups, &units, false, at(now));
        let Rest::Within(limit) = course.rest else { return Ok(()) };
        let is_rest = |unit: &Unit| !is_mandatory(&course, &groups, unit);
        let pairs = || units.iter().zip(&decision.verdicts);
        let rest = pairs().filter(|(unit, verdict)| is_rest(unit) && **verdict != Verdict::Skipped).count();
        let starting = pairs().filter(|(unit, verdict)| is_rest(unit) && **verdict == Verdict::Start).count();
        let kept = if course.tolerance.is_none() {
            count(&decision, |verdict| matches!(verdict, Verdict::Failed | Verdict::TimedOut))
        } else {
            0
        };
        let moving = count(&decision, is_under_way);
        prop_assert!(starting == 0 || starting + moving + kept <= limit.of(rest).max(1));
        // Nothing new starts beside those that are being updated to an earlier version.
        let is_new = |unit: &Unit| unit.standing == UnitState::ToApply;
        let new = pairs().any(|(unit, verdict)| is_rest(unit) && is_new(unit) && *verdict == Verdict::Start);
        let is_old = |unit: &Unit| match unit.standing {
            UnitState::Overtaken(since) | UnitState::Blocked(Some(since)) => course.deadline.is_none_or(|length| at(now) < end(since, length).expect("a time")),
            UnitState::ToApply
            | UnitState::InFlight(_)
            | UnitState::Failed(_)
            | UnitState::Succeeded(_)
            | UnitState::Skipped
            | UnitState::Held
            | UnitState::Blocked(None) => false,
        };
        let old = pairs().filter(|(unit, verdict)| is_rest(unit) && is_old(unit) && **verdict != Verdict::Start).count();
        prop_assert!(!new || starting + moving + kept + old <= limit.of(rest).max(1));
    }

    /// Too many failures, or a pause, and nothing starts; only what has to move starts at all.
    #[test]
    fn nothing_starts_after_a_breach(
        course in course(), groups in groups(), units in units(), paused in any::<bool>(), now in 0..80_i64,
    ) {
        let decision = decide(&course, &groups, &units, paused, at(now));
        if paused || decision.breach.is_some() {
            prop_assert_eq!(count(&decision, |verdict| verdict == Verdict::Start), 0);
        }
        for (unit, verdict) in units.iter().zip(&decision.verdicts) {
            let may_start = matches!(verdict, Verdict::Start | Verdict::Wait(_));
            prop_assert_eq!(may_start, has_to_move(unit));
        }
    }

    /// Nothing of the rest starts while anything of a mandatory group is not done.
    #[test]
    fn mandatory_groups_come_first(course in course(), groups in groups(), units in units(), now in 0..80_i64) {
        let decision = decide(&course, &groups, &units, false, at(now));
        let pairs = || units.iter().zip(&decision.verdicts);
        let is_open = |verdict: &Verdict| {
            !matches!(verdict, Verdict::Done | Verdict::Skipped | Verdict::Held)
        };
        let open = pairs().any(|(unit, verdict)| is_mandatory(&course, &groups, unit) && is_open(verdict));
        let starts = pairs().any(|(unit, verdict)| {
            !is_mandatory(&course, &groups, unit) && *verdict == Verdict::Start
        });
        prop_assert!(!(open && starts));
    }

    /// A unit without its approval does not start, and with every approval given no unit waits for one.
    #[test]
    fn no_unapproved_unit_starts(
        course in course(), groups in groups(), units in units(), paused in any::<bool>(), now in 0..80_i64,
    ) {
        let decision = decide(&course, &groups, &units, paused, at(now));
        let is_open = |verdict: &Verdict| !matches!(verdict, Verdict::Done | Verdict::Skipped | Verdict::Held);
        for (unit, verdict) in units.iter().zip(&decision.verdicts) {
            prop_assert!(unit.approved || *verdict != Verdict::Start);
            prop_assert!(!unit.approved || *verdict != Verdict::Wait(Hold::Approval));
            if *verdict != Verdict::Wait(Hold::Approval) {
                continue;
            }
            // No approval is asked for before it is the turn of the unit.
            prop_assert!(!paused && decision.breach.is_none());
            let stages = Stages::new(&course, &groups);
            let earlier = units.iter().zip(&decision.verdicts).any(|(other, verdict)| {
                stages.at(other.group) < stages.at(unit.group) && is_open(verdict)
                    && !matches!(verdict, Verdict::Failed | Verdict::TimedOut)
            });
            prop_assert!(!earlier);
        }
        let all: Vec<Unit> = units.iter().map(|unit| Unit { approved: true, ..*unit }).collect();
        let approved = decide(&course, &groups, &all, paused, at(now));
        prop_assert_eq!(count(&approved, |verdict| verdict == Verdict::Wait(Hold::Approval)), 0);
        // Approvals change neither the breach nor the next moment at which time alone changes the decision.
        prop_assert_eq!(decision.breach, approved.breach);
        prop_assert_eq!(decision.recheck_at, approved.recheck_at);
    }

    /// Where nothing failed and nothing is under way, something that has to move moves.
    #[test]
    fn progress_is_always_possible(course in course(), groups in groups(), units in units(), now in 0..80_i64) {
        let decision = decide(&course, &groups, &units, false, at(now));
        let failed = count(&decision, |verdict| matches!(verdict, Verdict::Failed | Verdict::TimedOut));
        let waiting = units.iter().any(has_to_move);
        if waiting && failed == 0 && count(&decision, is_under_way) == 0 {
            let moves = |verdict| matches!(verdict, Verdict::Start | Verdict::Wait(Hold::Approval));
            prop_assert!(count(&decision, moves) > 0);
        }
    }

    /// Time alone changes nothing before `recheck_at`, and nothing at all where there is none.
    #[test]
    fn time_alone_changes_the_decision_only_when_it_said_so(
        course in course(), groups in groups(), units in units(), now in 60..80_i64, later in 0..60_i64,
    ) {
        let decision = decide(&course, &groups, &units, false, at(now));
        if let Some(recheck_at) = decision.recheck_at {
            prop_assert!(recheck_at > at(now));
        }
        let then = at(now + later);
        if decision.recheck_at.is_none_or(|recheck_at| then < recheck_at) {
            prop_assert_eq!(decide(&course, &groups, &units, false, then), decision);
        }
    }

    /// Units that wait for nothing but approvals arrive once they are given, the last group included; a soak without end is ended
    /// by a promotion. Until then nothing of what is not approved has moved.
    #[test]
    fn with_every_approval_all_arrive(course in course(), groups in groups(), units in units(), endless in any::<bool>()) {
        let mut course = course;
        let mut units = units;
        for unit in &mut units {
            if matches!(unit.standing, UnitState::Failed(_) | UnitState::InFlight(_) | UnitState::Overtaken(_)) {
                unit.standing = UnitState::ToApply;
            }
        }
        if endless {
            course.soak = Duration::MAX;
        }
        let unapproved: Vec<usize> = (0..units.len()).filter(|at| !units[*at].approved && has_to_move(&units[*at])).collect();
        let mut now = 100;
        for round in 0..400 {
            let decision = decide(&course, &groups, &units, false, at(now));
            let moves = count(&decision, |verdict| matches!(verdict, Verdict::Start | Verdict::Going));
            for (unit, verdict) in units.iter_mut().zip(&decision.verdicts) {
                if matches!(verdict, Verdict::Start | Verdict::Going) {
                    unit.standing = UnitState::Succeeded(at(now));
                }
            }
            if moves == 0 {
                let soaks = count(&decision, |verdict| verdict == Verdict::Soaking) > 0;
                let asks = count(&decision, |verdict| verdict == Verdict::Wait(Hold::Approval)) > 0;
                let waits = units.iter().any(has_to_move);
                prop_assert!(!waits || soaks || asks, "round {round}: {:?}", decision.verdicts);
                if round < 200 {
                    prop_assert!(unapproved.iter().all(|at| has_to_move(&units[*at]) || units[*at].approved));
                }
                // A user approves of the units that wait for that now, and else promotes those that soak.
                if asks {
                    for (unit, verdict) in units.iter_mut().zip(&decision.verdicts) {
                        unit.approved |= *verdict == Verdict::Wait(Hold::Approval);
                    }
                } else if soaks {
                    course.promoted = Some(at(now));
                }
            }
            now += 1;
            if units.iter().all(|unit| !has_to_move(unit)) {
                break;
            }
            if !endless {
                now += 20;
            }
        }
        prop_assert!(units.iter().all(|unit| !has_to_move(unit)), "{units:?}");
    }

    /// Healthy units that finish one after the other always end with everything done, and every plan on the way keeps to
    /// the limit.
    #[test]
    fn healthy_units_all_arrive(course in course(), groups in groups(), units in units(), luck in any::<u64>()) {
        let mut units = units;
        for unit in &mut units {
            unit.approved = true;
            if matches!(unit.standing, UnitState::Failed(_) | UnitState::InFlight(_)) {
                unit.standing = UnitState::ToApply;
            }
        }
        let (mut now, mut luck) = (100, luck);
        for _ in 0..200 {
            let decision = decide(&course, &groups, &units, false, at(now));
            for (unit, verdict) in units.iter_mut().zip(&decision.verdicts) {
                luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                match verdict {
                    Verdict::Start => unit.standing = UnitState::InFlight(at(now)),
                    Verdict::Going if luck >> 62 != 0 => unit.standing = UnitState::Succeeded(at(now)),
                    Verdict::TimedOut => unit.standing = UnitState::Succeeded(at(now)),
                    Verdict::Going
                    | Verdict::Wait(_)
                    | Verdict::Soaking
                    | Verdict::Failed
                    | Verdict::Done
                    | Verdict::Skipped
                    | Verdict::Held => {}
                }
            }
            now += 1;
            if units.iter().all(|unit| !has_to_move(unit)) {
                break;
            }
            // A group may have to soak before the next one starts.
            now += i64::from(luck >> 60 == 0) * 20;
        }
        for _ in 0..600 {
            if units.iter().all(|unit| !has_to_move(unit)) { break }
            let decision = decide(&course, &groups, &units, false, at(now));
            for (unit, verdict) in units.iter_mut().zip(&decision.verdicts) {
                if matches!(verdict, Verdict::Start | Verdict::Going | Verdict::TimedOut) {
                    unit.standing = UnitState::Succeeded(at(now));
                }
            }
            now += 1;
        }
        prop_assert!(units.iter().all(|unit| !has_to_move(unit)), "{:?}", units);
    }

    /// No unit behind the first stage starts while the check has not passed since the last unit before it arrived, and a check changes
    /// nothing else than that some of those that would start wait, or all where its failure is one too many.
    #[test]
    fn a_check_holds_every_later_stage_and_starts_nothing(
        course in course(), groups in groups(), units in units(), now in 0..80_i64,
        result in 0..3_usize, reported in 0..80_i64, lasts in 1..40_i64, started in prop::option::of(0..80_i64),
    ) {
        let check = super::engine_tests::reported(["Passed", "Failed", "Unknown"][result], reported, reported + lasts);
        let checks = Some(Checks { each: vec![check.clone()], started: started.map(at), ..Checks::default() });
        let with = decide(&Course { checks, ..course.clone() }, &groups, &units, false, at(now));
        let without = decide(&course, &groups, &units, false, at(now));
        for (with, without) in with.verdicts.iter().zip(&without.verdicts) {
            prop_assert!(with == without || *without == Verdict::Start || matches!((with, without), (Verdict::Wait(_), Verdict::Wait(_))));
        }
        let stages = Stages::new(&course, &groups);
        for (unit, _) in units.iter().zip(&with.verdicts).filter(|(_, verdict)| **verdict == Verdict::Start) {
            let before = units.iter().filter(|one| one.standing != UnitState::Skipped && stages.of(one) < stages.of(unit));
            if before.clone().next().is_none() {
                continue;
            }
            let arrived = before.filter_map(|one| match one.standing {
                UnitState::Succeeded(since) | UnitState::Failed(since) => Some(since),
                UnitState::ToApply | UnitState::Overtaken(_) | UnitState::InFlight(_)
                | UnitState::Skipped | UnitState::Held | UnitState::Blocked(_) => None,
            });
            prop_assert_eq!(check.verdict(arrived.max(), at(now)), crate::CheckVerdict::Passed);
        }
    }
}
