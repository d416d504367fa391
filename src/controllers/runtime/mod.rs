//! What every controller runs on: watches in, a queue of owners, their plans out to the hub.
//!
//! Modules only. They handle owners and actions; each controller is a folder beside this one.

pub(super) mod absence;
pub(super) mod api_watch;
pub(super) mod apply_error;
mod backoff;
pub(super) mod clock;
mod controller;
pub(super) mod definition;
mod doubts;
pub(super) mod event_budget;
pub(super) mod event_recorder;
mod looks;
pub(super) mod pages;
mod pruned_fields;
pub(super) mod queue;
pub(super) mod raw;
pub(super) mod read_again;
pub(super) mod reconciler;
mod report;
pub(super) mod sign_of_life;
pub(super) mod viewers;
pub(super) mod watch;
mod withhold;
pub(super) mod write;
mod written;

pub(super) use controller::{Controller, Moment, Planned};

#[cfg(test)]
mod absence_tests;
#[cfg(test)]
mod unreadable_tests;
