//! When a rollout would be over, and what that rests on.
//!
//! Decides the words. The end is played by the engine (`crate::forecast::ending`) or by the planner of upgrades; where it was not seen
//! how long a cluster takes, only what is certain is told.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::line::length;
use super::stopwatch::Pace;
use crate::forecast::{Ending, ending};
use kubernetes::field::counted;
use model::engine::{Group, Unit};
use plan::Outlook;

/// When a rollout would be over if every cluster succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Eta {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// How many seconds from now.
    pub seconds: u64,
    /// Whether it takes that long at least, because how long a cluster takes was not seen yet.
    pub at_least: bool,
    /// What it rests on.
    pub basis: String,
}

/// Returns how long something took, in whole seconds and never none.
pub(super) fn told(took: Duration) -> String {
    length(i64::try_from(took.as_secs()).unwrap_or(i64::MAX).max(1))
}

impl Eta {
    /// Returns an end after so long.
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

/// Returns when the rollout of an add-on would be over; nothing where something else has to happen first.
pub(super) fn of_addon(outlook: &Outlook, pace: Pace, now: Timestamp) -> Option<Eta> {
    let mut latest = Ending {
        after: Duration::ZERO,
        exact: true,
    };
    for (position, placement) in outlook.placements.iter().enumerate() {
        let own = outlook
            .clusters
            .iter()
            .filter(|seen| seen.placement == Some(position));
        let units: Vec<Unit> = own
            .map(|seen| Unit {
                group: seen.group,
                standing: seen.standing,
                approved: seen.approved,
            })
            .collect();
        let groups: Vec<Group<'_>> = placement
            .groups
            .iter()
            .map(|group| Group {
                index: group.index,
                name: &group.name,
            })
            .collect();
        let found = ending(&placement.course, &groups, &units, pace.each, now)?;
        latest = Ending {
            after: latest.after.max(found.after),
            exact: latest.exact && found.exact,
        };
    }
    let basis = match pace.observed {
        0 => "soak times alone: nobody has seen yet how long a cluster takes".to_owned(),
        count => format!(
            "{} took {} on average",
            counted(count, "cluster"),
            told(pace.each)
        ),
    };
    let basis = if latest.exact {
        basis
    } else {
        format!("{basis}; told in proportion, because there are many turns")
    };
    Eta::after(latest.after, pace.observed == 0, basis, now)
}
