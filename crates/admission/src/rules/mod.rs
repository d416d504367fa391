//! The built-in rules: one file per family, one table entry per rule.
//!
//! A rule is its entry: id, operations, documentation and check stand together. Its examples are on the page of the
//! family in `tests/rules/`.

mod addon_policy;
mod approval;
mod blast_radius;
mod check;
mod config;
mod config_objects;
mod config_protected;
mod config_types;
mod deletion;
mod dependency;
mod deployment_config;
mod field_owner;
mod freeze;
mod in_place;
mod install;
mod install_namespace;
mod install_strategy;
mod lifecycle;
mod naming;
mod permission;
mod placing;
mod profile;
mod reach;
mod rolling_update;
mod rollout;
mod rollout_progress;
mod rollout_settings;
mod standstill;
mod steering;
mod tables;
mod template;
mod upgrade;
mod upgrade_advice;
mod version;
mod version_effect;
mod version_order;
mod version_reference;
mod wave;

pub(super) use tables::{Ruled, metadata_read};
