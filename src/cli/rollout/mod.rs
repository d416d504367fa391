//! `tidegate rollout`: see rollouts and steer them.
//!
//! Joins `cockpit` with a hub or a dump; decides exit statuses.

mod args;
mod freeze;
mod hub;
mod list;
mod pulse;
mod run;
mod show;
mod status;
#[cfg(feature = "top")]
pub(super) mod top;
mod write;

pub use args::{
    ApproveArgs, AskArgs, FreezeArgs, FreezeFields, HistoryArgs, LabelQuery, ListArgs, PlacementArgs,
    RolloutArgs, RolloutCommand, RolloutFormat, RolloutHubArgs, StatusArgs, SteerArgs, UndoArgs,
    UnfreezeArgs,
};
pub(super) use args::{duration, label};
pub(super) use freeze::{begin as begin_freeze, end as end_freeze};
pub(super) use hub::{Named, events, names_on_hub, raw};
pub(super) use run::{Steering, run, steered_from};
pub(super) use show::{painted, width};
#[cfg(feature = "top")]
pub use top::TopArgs;
pub(super) use write::{NotAllowed, Request};
