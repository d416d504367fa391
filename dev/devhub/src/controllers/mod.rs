//! Controllers that a cluster has and a bare API server lacks.
//!
//! All of them are ordinary clients of the public API: they run against any API server.

mod accounts;
mod catalogue;
mod events;
mod garbage;
mod graph;
mod namespaces;
mod policies;
mod roles;
mod start;
mod which;

pub(crate) use start::{Controllers, Plan};
pub use which::Controller;
