//! The estimated end of a rollout, and what the estimate is based on.
//!
//! The engine (`crate::forecast::ending`) or the planner of upgrades simulates the end. If the duration of an update was not observed
//! yet, only the soak times count.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::line::length;
use super::stopwatch::Pace;
use crate::forecast::ending;
use kubernetes::field::counted;
use model::engine::{Group, Hold, Unit, Verdict};
use plan::Outlook;

/// When a rollout ends if every cluster succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Eta {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// How many seconds from now.
    pub seconds: u64,
    /// Whether it is a lower bound, because no update was observed.
    pub at_least: bool,
    /// What the estimate is based on.
    pub basis: String,
}

/// Returns how long something took, in whole seconds and never none.
pub(super) fn told(took: Duration) -> String {
    length(i64::try_from(took.as_secs()).unwrap_or(i64::MAX).max(1))
}

impl Eta {
    /// Returns the end after a duration.
    pub(super) fn after(length: Duration, at_least: bool, basis: String, now: Timestamp) -> Option<Self> {
        let at = now.checked_add(SignedDuration::try_from(length).ok()?).ok()?;
        Some(Self {
            at,
            seconds: length.as_secs(),
            at_least,
            basis,
        })
    }
}

/// The estimated ends of a rollout and its clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    /// The end of the rollout; `None` if something else has to happen first, or nothing is known but that it is not over.
    pub(super) rollout: Option<Eta>,
    /// Why the end of the rollout is unknown although nothing else has to happen first.
    pub(super) unknown: Option<&'static str>,
    /// When each cluster ends, in the order of the outlook.
    pub(super) clusters: Vec<Option<Duration>>,
    /// Whether they are lower bounds.
    pub(super) at_least: bool,
}

/// Returns when the rollout of an add-on ends.
pub(super) fn of_addon(outlook: &Outlook, pace: Pace, now: Timestamp) -> Ends {
    let mut latest = Some(Duration::ZERO);
    let mut exact = true;
    let mut clusters = vec![None; outlook.clusters.len()];
    for (position, placement) in outlook.placements.iter().enumerate() {
        let (places, units): (Vec<usize>, Vec<Unit>) = outlook
            .clusters
            .iter()
            .enumerate()
            .filter(|(_, seen)| seen.placement == Some(position))
            .map(|(at, seen)| {
                let unit = Unit {
                    group: seen.group,
                    standing: seen.standing,
                    approved: seen.approved,
                    unchecked: seen.verdict != Verdict::Wait(Hold::Check),
                };
                (at, unit)
            })
            .unzip();
        let groups: Vec<Group<'_>> = placement
            .groups
            .iter()
            .map(|group| Group {
                index: group.index,
                name: &group.name,
            })
            .collect();
        let found = ending(&placement.course, &groups, &units, pace.each, now);
        latest = latest.zip(found.after).map(|(one, other)| one.max(other));
        exact &= found.exact;
        for (at, end) in places.into_iter().zip(found.units) {
            if let Some(slot) = clusters.get_mut(at) {
                *slot = end;
            }
        }
    }
    let basis = match pace.observed {
        0 => "soak times only: no update was observed".to_owned(),
        1 => format!("1 cluster took {}", told(pace.each)),
        count => format!(
            "{} took {} on average",
            counted(count, "cluster"),
            told(pace.each)
        ),
    };
    let basis = if exact {
        basis
    } else {
        format!("{basis}; extrapolated, because there are many batches")
    };
    let at_least = pace.observed == 0;
    // Without soak times and observed updates, nothing is known about the end.
    let is_bounded = !at_least || latest != Some(Duration::ZERO);
    Ends {
        rollout: latest
            .filter(|_| is_bounded)
            .and_then(|after| Eta::after(after, at_least, basis, now)),
        unknown: (!is_bounded).then_some("no update has completed yet, and there are no soak times"),
        clusters,
        at_least,
    }
}
