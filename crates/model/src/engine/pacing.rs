//! From the strategy of a placement to the course of the engine.
//!
//! Decides the defaults that only the placement knows. Never decides which cluster moves.

use std::time::Duration;

use crate::{Limit, ProgressDeadline, RolloutStrategy, Tolerance};

use super::decide::Course;

/// Returns the course that a strategy asks for; `per_group` is the placement's own size of groups.
pub fn course(strategy: &RolloutStrategy, per_group: Option<Limit>) -> Course {
    let pace = &strategy.pace;
    Course {
        mandatory: strategy.mandatory.clone(),
        rest: strategy.rest(per_group),
        tolerance: strategy.kind.stops_after(pace.tolerance),
        soak: pace.soak.length(),
        deadline: match pace.deadline {
            ProgressDeadline::None => None,
            ProgressDeadline::After(length) => Some(length),
        },
        ..Course::at_once()
    }
}

/// How long a unit may take during a rollback if the strategy names no deadline: the others do not wait indefinitely for one that
/// cannot be reached.
const PATIENCE: Duration = Duration::from_mins(10);

/// Returns the way back on a course: as many at once and the same groups one after another, but no group goes first, no unit
/// soaks, and no failure stops it. A rollback that waits behind its own failures would leave all with what has failed.
pub fn way_back(course: &Course) -> Course {
    Course {
        mandatory: Vec::new(),
        limit_mandatory: false,
        rest: course.rest,
        tolerance: Some(Tolerance::Clusters(u32::MAX)),
        soak: Duration::ZERO,
        deadline: Some(course.deadline.unwrap_or(PATIENCE)),
        promoted: None,
        paces: course.paces.clone(),
        checks: None,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::{Pace, Percent, Rest, RolloutKind, Scalar};

    fn clusters(count: u32) -> Limit {
        Limit::Clusters(NonZeroU32::new(count).expect("not zero"))
    }

    #[test]
    fn without_max_concurrency_the_size_of_the_placements_groups_counts() {
        let progressive = |limit| RolloutStrategy {
            kind: RolloutKind::parse(Some(Scalar::Text("Progressive"))).expect("a strategy"),
            limit,
            ..RolloutStrategy::default()
        };
        let rows = [
            (Some(clusters(2)), Some(clusters(5)), clusters(2)),
            (None, Some(clusters(5)), clusters(5)),
            (Some(Limit::All), Some(clusters(5)), clusters(5)),
            (None, Some(Limit::All), Limit::All),
            (None, None, Limit::All),
        ];
        for (limit, per_group, expected) in rows {
            let found = course(&progressive(limit), per_group).rest;
            assert_eq!(found, Rest::Within(expected), "{limit:?} {per_group:?}");
        }
    }

    #[test]
    fn a_rollback_keeps_the_limit_and_waits_for_no_cluster_indefinitely() {
        let forth = Course {
            mandatory: vec![crate::MandatoryGroup::At(0)],
            tolerance: Some(Tolerance::Clusters(0)),
            soak: Duration::from_secs(9),
            ..Course::within(clusters(2))
        };
        let back = way_back(&forth);
        assert_eq!((back.rest, back.deadline), (forth.rest, Some(PATIENCE)));
        assert!(back.mandatory.is_empty() && back.soak.is_zero());
        assert_eq!(back.tolerance.map(|tolerance| tolerance.of(7)), Some(7));
        let late = Course {
            deadline: Some(Duration::from_secs(5)),
            ..forth
        };
        assert_eq!(way_back(&late).deadline, Some(Duration::from_secs(5)));
    }

    #[test]
    fn type_all_stops_only_where_max_failures_is_given() {
        let ten = Tolerance::Percent(Percent::new(10).expect("a share"));
        for (tolerance, expected) in [(Tolerance::Clusters(0), None), (ten, Some(ten))] {
            let pace = Pace {
                tolerance,
                deadline: ProgressDeadline::After(Duration::from_secs(5)),
                ..Pace::default()
            };
            let all = RolloutStrategy {
                pace,
                ..RolloutStrategy::default()
            };
            let course = course(&all, None);
            assert_eq!(course.tolerance, expected);
            assert_eq!(course.deadline, Some(Duration::from_secs(5)));
        }
    }
}
