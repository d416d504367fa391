//! RolloutChecks of the Prometheus type: evaluated by the leader, with a budget, and reported in their status.
//!
//! `evaluator` decides when a check is due, `endpoint` has the servers of the configuration and their answers, `status` says and writes
//! what was found. Only checks that settings of rollouts name are evaluated. What a result means for a rollout, plans decide.

mod endpoint;
mod evaluator;
mod status;

pub use endpoint::CheckEndpoint;
pub(in crate::controllers) use evaluator::{Evaluator, Queries};
