//! The built-in rules: one file per family, one table entry per rule.
//!
//! A rule is its entry: id, operations, documentation and check stand together. Its examples are on the page of the
//! family in `tests/admission/`.

mod blast_radius;
mod config;
mod config_objects;
mod deletion;
mod deployment_config;
mod install;
mod install_namespace;
mod install_strategy;
mod naming;
mod rolling_update;
mod rollout;
mod rollout_progress;
mod tables;
mod template;
mod version;
mod version_order;

pub(super) use tables::{ON_ADDONS, ON_CLUSTER_ADDONS, ON_DEPLOYMENT_CONFIGS, ON_HUB_CONFIGS, ON_TEMPLATES};
