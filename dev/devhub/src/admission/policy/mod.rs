//! Admission policies: CEL expressions in the place of a webhook.
//!
//! Decides nothing about storage; what a policy looks at besides the request it asks of its surroundings.

mod context;
mod dispatch;
mod evaluate;
mod install;
mod params;
mod spec;

pub use context::{AdmissionContext, ParamQuery};
pub use install::Policies;
