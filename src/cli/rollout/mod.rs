//! `tidegate rollout`: see rollouts and steer them.
//!
//! Joins `cockpit` with a hub or a dump; decides exit statuses.

mod args;
mod conflict;
mod gallery;
mod hub;
mod run;
mod show;
mod status;
mod write;

pub use args::{AskArgs, HistoryArgs, HubArgs, ListArgs, RolloutArgs, RolloutCommand, StatusArgs, SteerArgs};
pub(super) use gallery::{Gallery, Pictures};
pub(super) use hub::{names_on_hub, settings};
pub(super) use run::{run, steered};
pub(super) use write::Request;
