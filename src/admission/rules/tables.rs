//! Which rules are for which kind, family by family.
//!
//! Decides nothing. A rule that stands in no table is never asked.

use super::{
    blast_radius, config, config_objects, deletion, deployment_config, install, install_namespace,
    install_strategy, naming, rolling_update, rollout, rollout_progress, template, version, version_order,
};
use crate::admission::subject::{Addon, ClusterAddon, DeploymentConfig, HubConfig, Rule, Template};

/// Rules of `ClusterManagementAddOn`, family by family.
pub(in crate::admission) const ON_ADDONS: &[&[Rule<Addon>]] = &[
    blast_radius::ON_ADDONS,
    config::ON_ADDONS,
    config_objects::ON_ADDONS,
    deletion::ON_ADDONS,
    install::ON_ADDONS,
    install_namespace::ON_ADDONS,
    install_strategy::ON_ADDONS,
    naming::ON_ADDONS,
    rolling_update::ON_ADDONS,
    rollout::ON_ADDONS,
    rollout_progress::ON_ADDONS,
    version::ON_ADDONS,
    version_order::ON_ADDONS,
];

/// Rules of `ManagedClusterAddOn`, family by family.
pub(in crate::admission) const ON_CLUSTER_ADDONS: &[&[Rule<ClusterAddon>]] = &[
    config::ON_CLUSTER_ADDONS,
    config_objects::ON_CLUSTER_ADDONS,
    install::ON_CLUSTER_ADDONS,
    install_namespace::ON_CLUSTER_ADDONS,
    naming::ON_CLUSTER_ADDONS,
    version::ON_CLUSTER_ADDONS,
    version_order::ON_CLUSTER_ADDONS,
];

/// Rules of `AddOnHubConfig`, family by family.
pub(in crate::admission) const ON_HUB_CONFIGS: &[&[Rule<HubConfig>]] =
    &[version::ON_HUB_CONFIGS, version_order::ON_HUB_CONFIGS];

/// Rules of `AddOnTemplate`, family by family.
pub(in crate::admission) const ON_TEMPLATES: &[&[Rule<Template>]] = template::ON_TEMPLATES;

/// Rules of `AddOnDeploymentConfig`, family by family.
pub(in crate::admission) const ON_DEPLOYMENT_CONFIGS: &[&[Rule<DeploymentConfig>]] = {
    let [nodes, proxy, registries, resources, variables] = deployment_config::FAMILIES;
    &[
        nodes,
        proxy,
        registries,
        resources,
        variables,
        install_namespace::ON_DEPLOYMENT_CONFIGS,
    ]
};
