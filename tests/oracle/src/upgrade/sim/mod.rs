//! A hub, its agents and its users, as small as an upgrade needs them: to follow a plan through time.
//!
//! Decides how clusters behave, never what a plan should be.

mod forecasts;
mod hub;
mod properties;
mod regions;
mod stages;
mod stories;
mod troubles;

pub(crate) use hub::{Behaviour, Hub, Job, Life};
