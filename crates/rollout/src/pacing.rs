//! From the strategy of a placement to the course of the engine.
//!
//! Decides the defaults that only the placement knows. Never decides which cluster moves.

use model::{Limit, Pace, ProgressDeadline, RolloutStrategy, Tolerance};

use super::engine::Course;

/// Returns the course that a strategy asks for; `per_group` is the placement's own size of groups.
pub fn course(strategy: &RolloutStrategy, per_group: Option<Limit>) -> Course {
    match strategy {
        RolloutStrategy::All(pace) => Course {
            tolerance: stopping(pace.tolerance),
            ..paced(pace)
        },
        RolloutStrategy::Progressive { pace, .. } | RolloutStrategy::ProgressivePerGroup { pace, .. } => {
            Course {
                mandatory: strategy.mandatory().to_vec(),
                rest: strategy.rest(per_group),
                ..paced(pace)
            }
        }
    }
}

fn paced(pace: &Pace) -> Course {
    Course {
        tolerance: Some(pace.tolerance),
        soak: pace.soak.length(),
        deadline: match pace.deadline {
            ProgressDeadline::None => None,
            ProgressDeadline::After(length) => Some(length),
        },
        ..Course::at_once()
    }
}

/// Zero is what the API writes where nobody wrote anything; with type `All` that never stopped a rollout.
fn stopping(tolerance: Tolerance) -> Option<Tolerance> {
    (tolerance.of(100) > 0).then_some(tolerance)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;
    use model::{Percent, Rest};

    fn clusters(count: u32) -> Limit {
        Limit::Clusters(NonZeroU32::new(count).expect("not zero"))
    }

    #[test]
    fn without_max_concurrency_the_size_of_the_placements_groups_counts() {
        let progressive = |limit| RolloutStrategy::Progressive {
            groups: Vec::new(),
            limit,
            pace: Pace::default(),
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
    fn type_all_stops_only_where_max_failures_is_given() {
        let ten = Tolerance::Percent(Percent::new(10).expect("a share"));
        for (tolerance, expected) in [(Tolerance::Clusters(0), None), (ten, Some(ten))] {
            let pace = Pace {
                tolerance,
                deadline: ProgressDeadline::After(Duration::from_secs(5)),
                ..Pace::default()
            };
            let course = course(&RolloutStrategy::All(pace), None);
            assert_eq!(course.tolerance, expected);
            assert_eq!(course.deadline, Some(Duration::from_secs(5)));
        }
    }
}
