//! The engine, row by row: a line of units in, a line of verdicts out.
//!
//! Units: `.` to apply, `i` in flight, `f` failed, `s` just succeeded, `S` succeeded long ago, `-` skipped, `h` held,
//! `b` blocked, `B` blocked during an earlier update, `n` to apply whatever checks say; `|` begins the next group. Verdicts: `>` starts, `i` going, `s` soaking, `f` failed, `t` timed out, `d` done, and what is
//! waited for: `c` a check, `w` a slot, `k` a soak, `g` a group, `x` failures, `p` a pause, `e` something else.

use std::num::NonZeroU32;

use super::checks::Checks;
use super::decide::*;
use crate::{Limit, MandatoryGroup, Percent, Rest, Tolerance};
use jiff::Timestamp;
use std::time::Duration;

const NOW: i64 = 1_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn parse(line: &str) -> (Vec<u32>, Vec<Unit>) {
    let mut units = Vec::new();
    let mut groups = vec![0];
    for letter in line.chars() {
        let group = groups.len() - 1;
        let standing = match letter {
            '.' | 'a' | 'n' => UnitState::ToApply,
            'o' | 'A' => UnitState::Overtaken(at(NOW)),
            'i' => UnitState::InFlight(at(NOW)),
            'f' => UnitState::Failed(at(NOW)),
            's' => UnitState::Succeeded(at(NOW)),
            'S' => UnitState::Succeeded(at(0)),
            '-' => UnitState::Skipped,
            'h' => UnitState::Held,
            'b' => UnitState::Blocked(None),
            'B' => UnitState::Blocked(Some(at(NOW))),
            '|' => {
                groups.push(u32::try_from(group + 1).expect("few groups"));
                continue;
            }
            other => panic!("no such unit: {other}"),
        };
        units.push(Unit {
            group,
            standing,
            approved: !matches!(letter, 'a' | 'A'),
            unchecked: letter == 'n',
        });
    }
    (groups, units)
}

fn letter(verdict: Verdict) -> char {
    match verdict {
        Verdict::Start => '>',
        Verdict::Going => 'i',
        Verdict::Soaking => 's',
        Verdict::Failed => 'f',
        Verdict::TimedOut => 't',
        Verdict::Done => 'd',
        Verdict::Skipped => '-',
        Verdict::Held => 'h',
        Verdict::Wait(Hold::Slot) => 'w',
        Verdict::Wait(Hold::Soak) => 'k',
        Verdict::Wait(Hold::Group) => 'g',
        Verdict::Wait(Hold::Approval) => 'a',
        Verdict::Wait(Hold::Check) => 'c',
        Verdict::Wait(Hold::Failures) => 'x',
        Verdict::Wait(Hold::Paused) => 'p',
        Verdict::Wait(Hold::Elsewhere) => 'e',
    }
}

fn show(line: &str, decision: &Decision) -> String {
    let mut verdicts = decision.verdicts.iter().copied().map(letter);
    let shown = line.chars().map(|one| {
        if one == '|' {
            '|'
        } else {
            verdicts.next().unwrap_or('?')
        }
    });
    shown.collect()
}

fn decided(course: &Course, line: &str, paused: bool, now: i64) -> Decision {
    let (indices, units) = parse(line);
    let names = ["canary", "", "rest"];
    let group = |(index, name): (u32, &&'static str)| Group { index, name };
    let groups: Vec<Group<'_>> = indices.into_iter().zip(names.iter().cycle()).map(group).collect();
    decide(course, &groups, &units, paused, at(now))
}

fn check(course: &Course, rows: &[(&str, &str)]) {
    for (line, expected) in rows {
        assert_eq!(
            show(line, &decided(course, line, false, NOW)),
            *expected,
            "{line}"
        );
    }
}

fn clusters(count: u32) -> Limit {
    Limit::Clusters(NonZeroU32::new(count).expect("not zero"))
}

fn progressive(limit: Limit, failures: u32) -> Course {
    Course {
        tolerance: Some(Tolerance::Clusters(failures)),
        ..Course::within(limit)
    }
}

fn per_group(failures: u32) -> Course {
    Course {
        rest: Rest::GroupByGroup,
        ..progressive(Limit::All, failures)
    }
}

fn soaking(course: Course) -> Course {
    Course {
        soak: Duration::from_mins(1),
        ..course
    }
}

#[test]
fn everything_moves_at_once_without_a_limit() {
    check(
        &Course::at_once(),
        &[("...", ">>>"), ("if.", "if>"), ("", ""), ("-h.", "-h>")],
    );
}

#[test]
fn what_is_in_flight_is_counted_before_anything_starts() {
    check(
        &progressive(clusters(2), 0),
        &[
            ("....", ">>ww"),
            ("..i.", ">wiw"),
            ("..ii", "wwii"),
            ("S..i", "d>wi"),
            // The limit was lowered while three were in flight.
            ("..iii", "wwiii"),
        ],
    );
}

#[test]
fn who_is_on_the_way_to_something_older_goes_first_and_keeps_its_slot() {
    check(
        &progressive(clusters(1), 0),
        &[(".o.", "w>w"), ("..i", "wwi"), ("o.o", ">ww")],
    );
    check(
        &progressive(clusters(2), 0),
        &[("..o", ">w>"), ("ooo", ">>w"), (".io", "wi>")],
    );
}

#[test]
fn a_share_of_the_rest_rounds_up_and_is_never_nothing() {
    let percent = |share| Limit::Percent(Percent::new(share).expect("a share"));
    check(&progressive(percent(34), 0), &[("...", ">>w")]);
    check(&progressive(percent(1), 0), &[(".....", ">wwww")]);
}

#[test]
fn failures_are_counted_before_anything_starts_wherever_they_stand() {
    check(
        &progressive(clusters(3), 0),
        &[("..f", "xxf"), ("f..", "fxx"), (".i.f", "xixf")],
    );
}

#[test]
fn a_tolerated_failure_gives_its_slot_back() {
    check(
        &progressive(clusters(2), 1),
        &[("f...", "f>>w"), ("fi..", "fi>w"), ("ff..", "ffxx")],
    );
}

#[test]
fn without_a_tolerance_a_failure_keeps_its_slot_and_stops_no_unit() {
    check(
        &Course::within(clusters(2)),
        &[("f...", "f>ww"), ("ff..", "ffww"), ("fS..", "fd>w")],
    );
}

#[test]
fn more_tolerated_failures_than_units_are_all_units() {
    check(&progressive(clusters(1), 100), &[("ff.", "ff>"), ("fff", "fff")]);
}

#[test]
fn a_failure_without_any_tolerance_breaches_and_says_how_far() {
    let decision = decided(&progressive(clusters(2), 1), "ff..", false, NOW);
    assert_eq!(
        decision.breach,
        Some(Breach {
            failures: 2,
            tolerated: 1,
            group: None,
        })
    );
    assert_eq!(decision.counts.waiting, 2);
}

#[test]
fn a_unit_that_succeeded_before_a_promotion_has_soaked() {
    let promoted = |seconds| Course {
        promoted: Some(at(seconds)),
        ..soaking(per_group(0))
    };
    check(&promoted(NOW), &[("ss|..", "ss|gg")]);
    check(
        &promoted(NOW + 1),
        &[("ss|..", "dd|>>"), ("sf|..", "df|xx"), ("si|..", "di|gg")],
    );
    // A clock may be ahead by a minute; what lies further ahead is no leave to whatever comes.
    check(&promoted(NOW + 60), &[("ss|..", "dd|>>")]);
    check(&promoted(NOW + 61), &[("ss|..", "ss|gg")]);
}

#[test]
fn a_unit_keeps_its_slot_while_it_soaks() {
    let course = soaking(progressive(clusters(2), 0));
    check(
        &course,
        &[
            ("s...", "s>kk"),
            ("ss..", "sskk"),
            ("ii..", "iiww"),
            ("S...", "d>>w"),
        ],
    );
    assert_eq!(decided(&course, "s.", false, NOW).recheck_at, Some(at(NOW + 61)));
    assert_eq!(show("ss.", &decided(&course, "ss.", false, NOW + 60)), "ssk");
    assert_eq!(show("ss.", &decided(&course, "ss.", false, NOW + 61)), "dd>");
}

#[test]
fn mandatory_groups_go_one_after_the_other_and_then_the_rest() {
    let course = Course {
        mandatory: vec![MandatoryGroup::At(2), MandatoryGroup::Named("canary".to_owned())],
        ..progressive(clusters(1), 5)
    };
    check(
        &course,
        &[
            ("..|..|..", ">>|gg|gg"),
            ("SS|..|..", "dd|gg|>>"),
            ("SS|..|S.", "dd|gg|d>"),
            ("SS|..|SS", "dd|>w|dd"),
            // No failure is tolerated in a mandatory group, however many are in the rest.
            ("Sf|..|..", "df|xx|xx"),
            // A time-out or a failure in the rest does not close a mandatory group.
            (".S|f.|SS", ">d|fg|dd"),
            // Nothing of the mandatory group is this course's business.
            ("--|..|SS", "--|>w|dd"),
            // Who cannot move keeps no group open.
            ("hS|..|SS", "hd|>w|dd"),
        ],
    );
}

#[test]
fn a_mandatory_group_obeys_the_limit_only_where_that_is_set() {
    let course = Course {
        mandatory: vec![MandatoryGroup::At(0)],
        ..progressive(clusters(1), 0)
    };
    check(&course, &[("...|..", ">>>|gg")]);
    let limited = Course {
        limit_mandatory: true,
        ..course
    };
    check(
        &limited,
        &[("...|..", ">ww|gg"), ("i..|..", "iww|gg"), ("...", ">ww")],
    );
}

#[test]
fn an_empty_mandatory_group_holds_no_unit() {
    let course = Course {
        mandatory: vec![MandatoryGroup::At(9), MandatoryGroup::Named("gone".to_owned())],
        ..progressive(clusters(1), 0)
    };
    check(&course, &[("..|..", ">w|ww")]);
}

#[test]
fn groups_go_one_by_one_the_whole_of_a_group_at_once() {
    check(
        &per_group(0),
        &[
            ("...|..", ">>>|gg"),
            ("iS.|..", "id>|gg"),
            ("SSS|..", "ddd|>>"),
            ("SSf|..", "ddf|xx"),
            ("---|..", "---|>>"),
            ("SSS||..", "ddd||>>"),
        ],
    );
    check(
        &per_group(1),
        &[
            ("SSf|..|.", "ddf|>>|g"),
            ("SSf|fS|.", "ddf|fd|>"),
            ("Sff|..", "dff|xx"),
        ],
    );
    check(&soaking(per_group(0)), &[("sS|..", "sd|gg"), ("SS|..", "dd|>>")]);
}

#[test]
fn a_share_of_tolerated_failures_is_one_of_each_group() {
    let course = Course {
        tolerance: Percent::new(50).map(Tolerance::Percent),
        ..per_group(0)
    };
    check(&course, &[("fS|..", "fd|>>"), ("fS|ff|.", "fd|ff|x")]);
}

#[test]
fn the_deadline_counts_from_the_moment_of_the_assignment() {
    let course = Course {
        deadline: Some(Duration::from_secs(5)),
        ..progressive(clusters(2), 1)
    };
    let before = decided(&course, "ii..", false, NOW + 5);
    assert_eq!(
        (show("ii..", &before).as_str(), before.recheck_at),
        ("iiww", Some(at(NOW + 6)))
    );
    let after = decided(&course, "ii..", false, NOW + 6);
    assert_eq!((show("ii..", &after).as_str(), after.recheck_at), ("ttxx", None));
    assert_eq!(after.counts.timed_out, 2);
    // One time-out is tolerated and gives its slot back.
    let one = decided(&course, "iS..", false, NOW + 6);
    assert_eq!(show("iS..", &one), "td>>");
    // What failed and is late as well counts once, as the failure that it is.
    assert_eq!(show("f", &decided(&course, "f", false, NOW + 6)), "f");
}

#[test]
fn a_pause_starts_nothing_and_stops_nothing() {
    let course = progressive(clusters(2), 0);
    let decision = decided(&course, "i.S.", true, NOW);
    assert_eq!(show("i.S.", &decision), "ipdp");
}

#[test]
fn lengths_of_time_end_with_their_second_or_never() {
    let half = at(NOW)
        .checked_add(jiff::SignedDuration::from_millis(500))
        .expect("a time");
    assert_eq!(end(half, Duration::from_secs(1)), Some(at(NOW + 2)));
    // It began within the second that ends with NOW + 1.
    assert_eq!(end(at(NOW), Duration::from_secs(1)), Some(at(NOW + 2)));
    assert_eq!(end(at(NOW), Duration::from_millis(100)), Some(at(NOW + 2)));
    assert_eq!(end(at(NOW), Duration::from_secs(u64::MAX)), None);
    let course = Course {
        soak: Duration::MAX,
        deadline: Some(Duration::MAX),
        ..progressive(clusters(1), 0)
    };
    check(&course, &[("s.", "sk"), ("i.", "iw")]);
}

#[test]
fn who_is_blocked_takes_no_slot_and_keeps_its_stage_open() {
    check(
        &progressive(clusters(1), 0),
        &[("b..", "e>w"), ("B..", "eww"), ("bs.", "ed>")],
    );
    check(&per_group(0), &[("b.|.", "e>|g"), ("bS", "ed")]);
    let late = Course {
        deadline: Some(Duration::from_mins(1)),
        ..progressive(clusters(1), 0)
    };
    let row = |now: i64| show("B.", &decided(&late, "B.", false, now));
    assert_eq!(row(NOW + 60), "ew", "it is on its way still");
    assert_eq!(
        row(NOW + 61),
        "e>",
        "a cluster that is late for an earlier change uses no slot for it"
    );
    assert_eq!(decided(&late, "B.", false, NOW).recheck_at, Some(at(NOW + 61)));
    assert_eq!(
        show("b.", &decided(&late, "b.", true, NOW)),
        "ep",
        "a pause is not what it waits for"
    );
}

#[test]
fn an_unapproved_unit_waits_once_its_stage_is_open() {
    check(
        &per_group(0),
        &[
            ("..|aa|.", ">>|gg|g"),
            ("SS|aa|.", "dd|aa|g"),
            ("SS|a.|.", "dd|a>|g"),
            ("SS|aS|.", "dd|ad|g"),
            ("SS|aA|.", "dd|aa|g"),
            ("SS|Sa", "dd|da"),
            ("SS|fa", "dd|fx"),
            ("S-|ai", "d-|ai"),
        ],
    );
    // It takes no slot, unless it is being updated to an earlier version.
    check(
        &progressive(clusters(1), 0),
        &[("a..", "a>w"), ("A..", "aww"), ("ai.", "aiw"), ("as.", "ad>")],
    );
    check(&Course::at_once(), &[("a.a", "a>a")]);
    let course = per_group(0);
    assert_eq!(
        show("S|a", &decided(&course, "S|a", true, NOW)),
        "d|p",
        "a pause comes first"
    );
    let waiting = decided(&course, "S|a", false, NOW);
    assert_eq!(waiting.counts.waiting, 1);
    assert_eq!(waiting.recheck_at, None, "time approves of nothing");
}

#[test]
fn groups_with_a_pace_of_their_own_go_one_by_one_within_their_limits_and_soak_times() {
    let pace = |limit, seconds| GroupPace {
        limit,
        soak: Duration::from_secs(seconds),
    };
    let course = Course {
        paces: vec![pace(2, 60), pace(1, 0)],
        ..per_group(1)
    };
    check(
        &course,
        &[
            ("...|..|..", ">>w|gg|gg"),
            // A soaking unit keeps its slot, and its group open.
            ("si.|..|..", "sik|gg|gg"),
            ("sS|..|..", "sd|gg|gg"),
            ("SS|..|..", "dd|>w|gg"),
            // Without a soak time a unit that has just succeeded is done; a group without a pace goes at once.
            ("SS|ss|..", "dd|dd|>>"),
            ("Sb|..|..", "de|gg|gg"),
            // Failures count in each group, and what is in flight in another group takes a slot.
            ("Sf|..|..", "df|>w|gg"),
            ("ff|..|..", "ff|xx|xx"),
            ("..|i.|..", ">w|ig|gg"),
        ],
    );
    let line = decided(&course, "s.|..", false, NOW);
    assert_eq!(line.recheck_at, end(at(NOW), Duration::from_mins(1)));
}

/// A check that was reported at a second and expires at another one.
pub(super) fn reported(result: &str, reported: i64, expires: i64) -> crate::Check {
    let status = api::RolloutCheckStatus {
        result: result.to_owned(),
        message: "errors".to_owned(),
        reported_at: at(reported).to_string(),
        expires_at: at(expires).to_string(),
        ..api::RolloutCheckStatus::default()
    };
    crate::Check {
        name: "a".into(),
        result: crate::CheckResult::parse(&status),
    }
}

fn checked(course: Course, started: Option<i64>, check: crate::Check) -> Course {
    Course {
        checks: Some(Checks {
            each: vec![check],
            started: started.map(at),
            ..Checks::default()
        }),
        ..course
    }
}

#[test]
fn a_stage_behind_the_first_waits_for_checks_that_passed_since() {
    let passed = |reported, expires| checked(per_group(0), Some(0), reported_as_passed(reported, expires));
    let rows = [
        ("..|..", ">>|gg"),
        ("S.|..", "d>|gg"),
        ("SS|n.", "dd|>c"),
        ("SS|S.|.", "dd|dc|g"),
    ];
    check(&passed(0, 2_000), &rows);
    check(&passed(1, NOW), &rows);
    check(&passed(1, 2_000), &[("SS|n.", "dd|>>"), ("SS|S.|.", "dd|d>|g")]);
    check(&passed(NOW, 2_000), &[("ss|..", "dd|cc")]);
    check(&passed(NOW + 1, 2_000), &[("ss|..", "dd|>>")]);
    check(
        &passed(0, 2_000),
        &[("SS|a.", "dd|ac"), ("-|..", "-|>>"), ("hh|..", "hh|>>")],
    );
    assert_eq!(
        show("SS|.", &decided(&passed(0, 2_000), "SS|.", true, NOW)),
        "dd|p"
    );
    let decision = decided(&passed(0, 2_000), "SS|..", false, NOW);
    assert_eq!(decision.unmet.len(), 1);
    assert_eq!(decision.recheck_at, Some(at(2_000)));
    assert!(!decision.is_checked && decided(&passed(1, 2_000), "SS|SS", false, NOW).is_checked);
}

#[test]
fn a_stage_with_checks_of_its_own_holds_the_next_stage() {
    let course = |check, of_stages: &[&[usize]]| {
        let course = checked(soaking(per_group(0)), Some(0), check);
        let of_stages = of_stages.iter().map(|own| own.to_vec()).collect();
        let checks = course.checks.map(|checks| Checks { of_stages, ..checks });
        Course { checks, ..course }
    };
    let early = || reported_as_passed(0, 2_000);
    // The first stage has the check, or the second one, or none has it.
    check(
        &course(early(), &[&[0], &[], &[]]),
        &[("S|.|.", "d|c|g"), ("S|S|.", "d|d|>")],
    );
    check(
        &course(early(), &[&[], &[0], &[]]),
        &[("S|.|.", "d|>|g"), ("S|S|.", "d|d|c")],
    );
    check(
        &course(early(), &[&[], &[], &[]]),
        &[("S|.|.", "d|>|g"), ("S|S|.", "d|d|>")],
    );
    // A stage without units has nothing to check.
    check(&course(early(), &[&[], &[0], &[]]), &[("S|-|.", "d|-|>")]);
    // The rest of a stage waits after the soak of its first unit.
    check(&course(early(), &[&[], &[0], &[]]), &[("S|S.|.", "d|dc|g")]);
    // Only the checks of the last stage that has started count as failures.
    let failed = || reported("Failed", 10, 2_000);
    check(
        &course(failed(), &[&[0], &[], &[]]),
        &[("S|.|.", "d|x|x"), ("S|i|.", "d|i|g")],
    );
    check(
        &course(failed(), &[&[], &[0], &[]]),
        &[("S|.|.", "d|>|g"), ("S|i|.", "d|i|x")],
    );
}

fn reported_as_passed(reported: i64, expires: i64) -> crate::Check {
    self::reported("Passed", reported, expires)
}

#[test]
fn one_stage_goes_on_after_the_first_soak_when_checks_have_passed_since() {
    let course = |started, reported| {
        let course = soaking(progressive(clusters(2), 0));
        checked(course, started, reported_as_passed(reported, 2_000))
    };
    check(
        &course(Some(0), 0),
        &[("..", ">>"), ("s..", "s>k"), ("S..", "dcc"), ("Sn.", "d>c")],
    );
    check(&course(Some(0), 1), &[("S..", "d>>")]);
    // What arrived before the change says nothing about it.
    check(&course(Some(1), 0), &[("S..", "d>>")]);
    check(&course(None, 0), &[("S..", "d>>")]);
    let at_once = checked(progressive(clusters(2), 0), Some(0), reported_as_passed(0, 2_000));
    check(&at_once, &[("S..", "d>>")]);
}

#[test]
fn a_check_that_failed_since_the_change_started_is_a_failure_of_the_last_started_stage() {
    let failed = |failures, started| checked(per_group(failures), started, reported("Failed", 10, 2_000));
    check(&failed(0, Some(9)), &[("SS|..", "dd|xx"), ("i|.", "i|x")]);
    check(&failed(1, Some(9)), &[("SS|..", "dd|cc")]);
    check(&failed(0, Some(10)), &[("SS|..", "dd|cc"), ("i|.", "i|g")]);
    check(&failed(0, None), &[("..|..", ">>|gg"), ("SS|..", "dd|cc")]);
    let decision = decided(&failed(0, Some(9)), "SS|ii|..", false, NOW);
    let failures: Vec<usize> = decision.stages.iter().map(|stage| stage.failures).collect();
    assert_eq!(failures, [0, 1, 0]);
    assert_eq!(decision.failed_checks, [("a".into(), "errors".into())]);
    assert_eq!(decision.breach.map(|breach| breach.failures), Some(1));
    let expired = checked(per_group(0), Some(9), reported("Failed", 10, NOW));
    check(&expired, &[("SS|..", "dd|cc")]);
}
