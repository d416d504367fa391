//! The controller of upgrades: a `ManagedClustersUpgrade`, and the works that tell clusters of it.
//!
//! A table of contents.

mod actions;
mod planning;

pub(super) use planning::Upgrading;
