//! The work agent of one cluster, as pure functions on values: what a `ManifestWork` does to the cluster's virtual store,
//! and what the work's status then says. It never asks the hub, the clock or chance.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod answer;
mod feedback;
mod health;
mod hooks;
mod kinds;
mod store;
mod workload;

pub(crate) use answer::{Answer, answer};
pub(crate) use health::{Reporter, available, reporter};
pub(crate) use hooks::{HOOK_RUN, has_hooks};
pub use store::{ObjectKey, VirtualCluster};
