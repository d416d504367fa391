//! The work agent of one cluster, as pure functions on values: what a `ManifestWork` does to the cluster's virtual store,
//! and what the work's status then says. It never asks the hub, the clock or chance.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod answer;
mod conditions;
mod feedback;
mod health;
mod hooks;
mod jobs;
mod kinds;
mod owners;
mod rights;
mod store;
mod workload;

pub(crate) use answer::{AgentWrite, answer};
pub(crate) use health::{Reporter, available, reporter};
pub(crate) use hooks::{HOOK_RUN, has_hooks};
pub(crate) use jobs::purposes;
pub(crate) use store::cluster_version;
pub use store::{ObjectKey, VirtualCluster};
