//! The kinds of the store, one file each: how a kind is addressed, read, filed and taken away.
//!
//! A table of contents. A new kind is a file here and a line in `list`.

mod addon;
mod cluster;
mod configs;
mod decision;
mod deployment_config;
mod hub_cluster_role;
mod hub_config;
mod hub_role;
mod instance;
mod list;
mod namespace;
mod placement;
mod role;
mod role_binding;
mod row;
mod service_account;
mod signing_request;
pub(super) mod slot;
mod template;
mod work;

pub use list::Kind;
pub use row::Address;
pub(super) use row::{Need, Outcome};
