//! The built-in rules: one file per family, one table entry per rule.
//!
//! A rule is its entry: id, operations, documentation and check stand together. Its examples are on the page of the
//! family in `tests/admission/`.

mod config;
mod install;
mod naming;
mod rolling_update;
mod rollout;
mod version;

use super::subject::{Addon, ClusterAddon, HubConfig, Rule};

/// Rules of `ClusterManagementAddOn`, family by family.
pub(super) const ON_ADDONS: &[&[Rule<Addon>]] = &[
    config::ON_ADDONS,
    install::ON_ADDONS,
    naming::ON_ADDONS,
    rolling_update::ON_ADDONS,
    rollout::ON_ADDONS,
    version::ON_ADDONS,
];

/// Rules of `ManagedClusterAddOn`, family by family.
pub(super) const ON_CLUSTER_ADDONS: &[&[Rule<ClusterAddon>]] = &[
    config::ON_CLUSTER_ADDONS,
    install::ON_CLUSTER_ADDONS,
    naming::ON_CLUSTER_ADDONS,
    version::ON_CLUSTER_ADDONS,
];

/// Rules of `AddOnHubConfig`, family by family.
pub(super) const ON_HUB_CONFIGS: &[&[Rule<HubConfig>]] = &[version::ON_HUB_CONFIGS];
