//! Admission policies: CEL expressions in the place of a webhook.
//!
//! Decides nothing about storage; what a policy looks at besides the request it asks of its surroundings.

mod dispatch;
mod evaluate;
mod install;
mod params;
mod spec;
mod surroundings;

pub use install::Policies;
pub use surroundings::{ParamQuery, Surroundings};
