//! What makes a simulated cluster an OpenShift cluster: its `ClusterVersion`, the operator that follows it, its machine
//! config pools. Pure: moments are arguments, and nothing here knows works or a hub.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod judge;
mod operator;
mod options;
mod release;
mod status;

pub(crate) use operator::{Operator, Wish};
pub use options::{AgentRights, ApproverTime, OpenShift, OpenShiftTextError, Times};
pub(crate) use release::{Channel, kubernetes_of};
