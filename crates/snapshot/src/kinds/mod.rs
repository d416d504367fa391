//! The kinds of the store, one file each: how objects of a kind are read, filed and taken away.
//!
//! A table of contents. A new kind is a row of `kind::row`, a file here and a line in `list`.

mod addon;
mod cluster;
mod cluster_set;
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
mod rollout;
mod service_account;
mod set_binding;
mod signing_request;
mod stored;
mod template;
mod upgrade;
mod upgrade_work;
mod work;

pub(super) use list::stores;
pub(super) use stored::Outcome;
