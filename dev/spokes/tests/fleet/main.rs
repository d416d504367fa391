//! Whole fleets on a hub in memory, with the clock paused: registration, placement, work, faults, and silence after.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "rows of JSON read better without borrows"
)]

mod definitions;
mod faults;
mod fixtures;
mod health;
mod hooks;
mod hub;
mod jobs;
mod openshift;
mod placements;
mod registration;
mod replica_sets;
mod requests;
mod upgrades;
mod works;
