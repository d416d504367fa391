//! Domain types that the gate and the planner read with the same parsers.
//!
//! Decides which values have a meaning and which meaning; a value that has none comes back as a fault. Never knows
//! where a value is in a document, and never decides what follows from a fault.

mod cluster_variable;
mod config;
mod deadline;
mod dependency;
pub mod engine;
mod freeze;
mod hub_permission;
mod image;
mod limit;
mod names;
mod off_limits;
mod quantity;
mod resolved_settings;
mod rolling_update;
mod rollout;
mod rollout_approval;
mod rollout_check;
mod rollout_profile;
mod rollout_settings;
mod rollout_window;
pub mod rule;
mod scalar;
mod selector;
mod signer;
mod slip;
mod strategies;
pub mod upgrade;
mod version;

pub use cluster_variable::{
    BadClusterVariable, ClusterKey, ClusterSource, ClusterVariable, cluster_variables,
};
pub use config::{ConfigReference, ConfigType, KNOWN_TYPES, KnownType, RawReference, Scope, listed_types};
pub use deadline::{ProgressDeadline, Soak};
pub use dependency::dependency_circle;
pub use freeze::Freeze;
pub use hub_permission::{HubNamespaces, is_addons_own, is_never_bound, is_reserved};
pub use image::ImageReference;
pub use limit::{Limit, Percent, Tolerance};
pub use names::{AddonName, DEFAULT_INSTALL_NAMESPACE, InstallNamespace, Name, order};
pub use off_limits::{MOST_CONFIG_TYPES, off_limits};
pub use quantity::parse_quantity;
pub use resolved_settings::ResolvedSettings;
pub use rolling_update::{ConfigRollout, DEFAULT_AT_ONCE, RawConfigRollout, RawRollingUpdate, RollingUpdate};
pub use rollout::{MandatoryGroup, Pace, RawBlock, RawGroup, RawStrategy, RolloutStrategy};
pub use rollout_approval::Approval;
pub use rollout_check::{Check, CheckDoubt, CheckResult, CheckVerdict, PrometheusCheck, RolloutCheck};
pub use rollout_profile::RolloutProfile;
pub use rollout_settings::{OnFailure, RolloutSettings};
pub use rollout_window::RolloutWindows;
pub use scalar::Scalar;
pub use selector::{Selector, is_label_key, is_label_value, parse_selector};
pub use signer::{OwnSigner, ReservedSigner, ReservedSigners, check_certificate_name};
pub use strategies::{Rest, RolloutKind, Strategy};
pub use version::AddonVersion;
