//! The conditions that plans write: a file for each, or for each object that has several.
//!
//! | file | condition |
//! |---|---|
//! | `configured` | `Configured` of an instance |
//! | `progressing`, `state` | `Progressing` of an instance: its state, and the words of it |
//! | `manifest_applied`, `available` | `ManifestApplied`, `Available` |
//! | `ready`, `reconciling`, `stalled` | the three that delivery tools read |
//! | `assigned`, `adopted` | `Assigned`, `Adopted` |
//! | `ocm` | `Configured` and `Progressing` with `--compat ocm` |
//! | `addon` | those of a ClusterManagementAddOn |
//! | `wish` | what a condition should say, and how it is merged into those that are there |
//!
//! The conditions of placements are in `addon_status.rs`, those of registration in `registration/`, those of upgrades in
//! `upgrade/conditions.rs`.

pub(crate) mod addon;
pub(crate) mod adopted;
pub(crate) mod assigned;
pub(crate) mod available;
pub(crate) mod configured;
pub(crate) mod manifest_applied;
pub(crate) mod ocm;
pub(crate) mod progressing;
pub(crate) mod ready;
pub(crate) mod reconciling;
pub(crate) mod stalled;
pub(crate) mod state;
mod wish;

pub(crate) use wish::{Wish, merge, render};
