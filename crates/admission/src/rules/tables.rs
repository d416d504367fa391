//! Which rules apply to which kind, family by family. A rule that is in no table is never evaluated.

use super::{
    addon_policy, approval, blast_radius, check, config, config_objects, config_protected, config_types,
    deletion, dependency, deployment_config, field_owner, freeze, in_place, install, install_namespace,
    install_strategy, lifecycle, naming, permission, placing, profile, rolling_update, rollout,
    rollout_progress, rollout_settings, steering, template, upgrade, upgrade_advice, version, version_effect,
    version_order,
};
use crate::subject::{
    Addon, AddonPolicy, Approval, ClusterAddon, DeploymentConfig, Freeze, HubConfig, Kind, Placement,
    Profile, ReplicaSet, Rollout, RolloutCheck, Rule, SetBinding, Template, Upgrade,
};

/// A kind that has rules.
pub(crate) trait Ruled: Kind {
    /// The rules, family by family.
    const RULES: &'static [&'static [Rule<Self>]];
}

/// The kinds and their rules.
macro_rules! ruled {
    ($($kind:ident: $($table:expr),+;)+) => {
        $(impl Ruled for $kind {
            const RULES: &'static [&'static [Rule<Self>]] = &[$($table),+];
        })+

        /// What the rules of a resource read of metadata: `labels` or `annotations`, and the prefix of the keys.
        pub(crate) fn metadata_read(resource: &str) -> Vec<(&'static str, &'static str)> {
            $(if resource == $kind::RESOURCE {
                return of::<$kind>();
            })+
            Vec::new()
        }
    };
}

fn of<K: Ruled>() -> Vec<(&'static str, &'static str)> {
    let rules = K::RULES.iter().copied().flatten();
    rules.flat_map(|rule| rule.metadata.iter().copied()).collect()
}

ruled! {
    Addon: blast_radius::ON_ADDONS, config::ON_ADDONS, config_objects::ON_ADDONS,
        config_protected::ON_ADDONS, config_types::ON_ADDONS, deletion::ON_ADDONS, dependency::ON_ADDONS,
        field_owner::ON_ADDONS, install::ON_ADDONS, install_namespace::ON_ADDONS,
        install_strategy::ON_ADDONS, lifecycle::ON_ADDONS, naming::ON_ADDONS, rolling_update::ON_ADDONS,
        rollout::ON_ADDONS, rollout_progress::ON_ADDONS, steering::ON_ADDONS, template::ON_ADDONS,
        template::ON_SHARED_OBJECTS, template::ON_UNSET_VARIABLES, version::ON_ADDONS,
        version_effect::ON_ADDONS, version_order::ON_ADDONS;
    ClusterAddon: config::ON_CLUSTER_ADDONS, config_objects::ON_CLUSTER_ADDONS,
        config_protected::ON_CLUSTER_ADDONS, config_types::ON_CLUSTER_ADDONS, deletion::ON_CLUSTER_ADDONS,
        field_owner::ON_CLUSTER_ADDONS, install::ON_CLUSTER_ADDONS, install_namespace::ON_CLUSTER_ADDONS,
        naming::ON_CLUSTER_ADDONS, steering::ON_CLUSTER_ADDONS, template::ON_CLUSTER_ADDONS,
        template::ON_UNSET_VARIABLES_OF_CLUSTERS, version::ON_CLUSTER_ADDONS,
        version_effect::ON_CLUSTER_ADDONS, version_order::ON_CLUSTER_ADDONS;
    HubConfig: deletion::ON_HUB_CONFIGS, in_place::ON_HUB_CONFIGS, version::ON_HUB_CONFIGS,
        version_order::ON_HUB_CONFIGS;
    Template: deletion::ON_TEMPLATES, in_place::ON_TEMPLATES, permission::ON_TEMPLATES,
        template::kubernetes::RULES, template::manifests::RULES, template::owner::RULES,
        template::pods::RULES, template::same_object::RULES, template::signers::RULES,
        template::variables::RULES, template::version::RULES, template::withdrawn::RULES;
    DeploymentConfig: deployment_config::nodes::RULES, deployment_config::proxy::RULES,
        deployment_config::registries::RULES, deployment_config::resources::RULES,
        deployment_config::variables::RULES, deletion::ON_DEPLOYMENT_CONFIGS,
        in_place::ON_DEPLOYMENT_CONFIGS, install_namespace::ON_DEPLOYMENT_CONFIGS;
    Placement: placing::ON_PLACEMENTS;
    AddonPolicy: addon_policy::ON_POLICIES;
    Upgrade: upgrade::ON_UPGRADES, upgrade::ON_PLACEMENT_ACCESS, upgrade_advice::ON_UPGRADES;
    SetBinding: placing::ON_SET_BINDINGS;
    RolloutCheck: check::ON_CHECKS;
    Freeze: freeze::ON_FREEZES;
    Profile: profile::ON_PROFILES;
    Rollout: dependency::ON_ROLLOUTS, rollout_settings::ON_ROLLOUTS;
    ReplicaSet: install_strategy::ON_REPLICA_SETS, rollout::ON_REPLICA_SETS, rollout_progress::ON_REPLICA_SETS;
    Approval: approval::ON_APPROVALS;
}

#[cfg(test)]
mod tests {
    use crate::catalogue;

    #[test]
    fn the_documentation_of_a_rule_calls_it_refused_if_it_refuses() {
        let refuses = |doc: &str| doc.contains("efused") && !doc.contains("Never refused");
        let rules = catalogue();
        let rules = rules.iter().filter(|entry| !entry.id.starts_with("schema/"));
        let other: Vec<&str> = rules
            .filter(|entry| refuses(entry.text) != entry.refuses)
            .map(|entry| entry.id)
            .collect();
        assert_eq!(other, <[&str; 0]>::default());
    }
}
