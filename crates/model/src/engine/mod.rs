//! The rollout engine: who may move now, when a change is rolled out to many units a few at a time.
//!
//! Decides stages, slots, soak times, deadlines and tolerated failures for units of any kind: clusters with an add-on, clusters that
//! upgrade. Never knows what a unit is, never remembers, and never asks what time it is.

mod checks;
mod decide;
mod pacing;
mod stages;

#[cfg(test)]
mod engine_properties;
#[cfg(test)]
mod engine_tests;

pub use checks::{Checks, Unmet};
pub use decide::{
    Breach, Counts, Course, Decision, DoneUnits, Group, GroupPace, Hold, StageCounts, Unit, UnitState,
    Verdict, decide, decide_beside, end, is_promoted,
};
pub use pacing::{course, way_back};
pub use stages::Stages;
