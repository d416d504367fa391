//! What a plan means to people: dumps of a hub, forecasts, causes, rollouts.

pub mod cockpit;
pub mod explain;
pub mod forecast;
mod layout;
pub mod offline;
pub mod why;
