//! What the store is made of.
//!
//! A table of contents. Nothing here knows the store.

pub(super) mod changes;
pub(super) mod config_watch;
pub(super) mod expectations;
pub(super) mod filed;
pub(super) mod kept;
pub(super) mod memory_budget;
pub(super) mod mentions;
pub(super) mod objects;
pub(super) mod removals;
pub(super) mod standings;
pub(super) mod unpublished;
pub(super) mod work_places;

pub use config_watch::{
    Absence, ConfigLookup, ConfigState, ConfigWatchList, ObservedConfig, TypeFault, absence,
};
pub use expectations::Expected;
pub use removals::RemovalBudget;
pub use standings::{Arrived, Headway, Standing, Tally};
