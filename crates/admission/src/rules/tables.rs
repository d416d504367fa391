//! Which rules are for which kind, family by family.
//!
//! Decides nothing. A rule that stands in no table is never asked.

use super::{
    addon_policy, approval, blast_radius, config, config_objects, config_protected, config_types, deletion,
    dependency, deployment_config, field_owner, in_place, install, install_namespace, install_strategy,
    lifecycle, naming, permission, placing, rolling_update, rollout, rollout_progress, steering, template,
    upgrade, upgrade_access, upgrade_advice, version, version_effect, version_order,
};
use crate::subject::{
    Addon, AddonPolicy, ClusterAddon, DeploymentConfig, HubConfig, Kind, Placement, Rule, SetBinding,
    Template, Upgrade,
};
use api::names::{annotations, labels};

/// Rules that refuse nothing by themselves: when one of them gives up, that is told and refuses nothing either.
pub(crate) const ADVICE: &[&str] = &[
    "annotation/removed-by-flux",
    "annotation/unknown",
    "annotation/value",
    "blast-radius/move",
    "blast-radius/removal",
    "config/deprecated-field",
    "config/missing-namespace",
    "config/needless-namespace",
    "config/not-found",
    "config/several-of-a-type",
    "config/unknown-resource",
    "deletion/addon-in-use",
    "deletion/binding-in-use",
    "deletion/comes-back",
    "deletion/config-in-use",
    "deletion/placement-in-use",
    "dependency/unknown-addon",
    "install/namespace-ignored",
    "install/overlap",
    "install/reserved-namespace",
    "install/selects-nothing",
    "install/type-mismatch",
    "install/unknown-placement",
    "lifecycle/listed-template",
    "manifest/immutable",
    "manifest/required",
    "manifest/unknown-field",
    "naming/cluster-state",
    "naming/unknown-addon",
    "naming/unknown-cluster",
    "policy/never-evaluated",
    "rollout/approval-target",
    "rollout/deadline-before-soak",
    "rollout/group-order",
    "rollout/never-progresses",
    "rollout/never-undone",
    "rollout/one-group",
    "rollout/unknown-group",
    "template/same-object",
    "template/unknown-variable",
    "upgrade/another-run",
    "upgrade/channel-ahead",
    "upgrade/claimed",
    "upgrade/nobody-first",
    "upgrade/operators-at-odds",
    "upgrade/under-way",
    "upgrade/unknown-placement",
    "upgrade/unreachable-version",
    "version/downgrade",
    "version/no-effect",
    "version/skip",
    "version/twice",
    "version/withdrawn",
];

/// What rules read of metadata: resource, part, and what the keys begin with. An update that touches nothing else is theirs as well.
pub(crate) const READ_METADATA: &[(&str, &str, &str)] = &[
    (Addon::RESOURCE, "annotations", annotations::LIFECYCLE),
    (Addon::RESOURCE, "annotations", steering::OWN),
    (ClusterAddon::RESOURCE, "annotations", steering::OWN),
    (Template::RESOURCE, "labels", labels::TEMPLATE_VERSION),
    (Upgrade::RESOURCE, "annotations", annotations::PLACEMENT_ACCESS),
];

/// A kind that has rules.
pub(crate) trait Ruled: Kind {
    /// The rules, family by family.
    const RULES: &'static [&'static [Rule<Self>]];
}

impl Ruled for Addon {
    const RULES: &'static [&'static [Rule<Self>]] = &[
        approval::ON_ADDONS,
        blast_radius::ON_ADDONS,
        config::ON_ADDONS,
        config_objects::ON_ADDONS,
        config_protected::ON_ADDONS,
        config_types::ON_ADDONS,
        deletion::ON_ADDONS,
        dependency::ON_ADDONS,
        field_owner::ON_ADDONS,
        install::ON_ADDONS,
        install_namespace::ON_ADDONS,
        install_strategy::ON_ADDONS,
        lifecycle::ON_ADDONS,
        naming::ON_ADDONS,
        rolling_update::ON_ADDONS,
        rollout::ON_ADDONS,
        rollout_progress::ON_ADDONS,
        steering::ON_ADDONS,
        template::ON_ADDONS,
        template::ON_SHARED_OBJECTS,
        template::ON_UNSET_VARIABLES,
        version::ON_ADDONS,
        version_effect::ON_ADDONS,
        version_order::ON_ADDONS,
    ];
}

impl Ruled for ClusterAddon {
    const RULES: &'static [&'static [Rule<Self>]] = &[
        config::ON_CLUSTER_ADDONS,
        config_objects::ON_CLUSTER_ADDONS,
        config_protected::ON_CLUSTER_ADDONS,
        config_types::ON_CLUSTER_ADDONS,
        deletion::ON_CLUSTER_ADDONS,
        field_owner::ON_CLUSTER_ADDONS,
        install::ON_CLUSTER_ADDONS,
        install_namespace::ON_CLUSTER_ADDONS,
        naming::ON_CLUSTER_ADDONS,
        steering::ON_CLUSTER_ADDONS,
        template::ON_CLUSTER_ADDONS,
        template::ON_UNSET_VARIABLES_OF_CLUSTERS,
        version::ON_CLUSTER_ADDONS,
        version_effect::ON_CLUSTER_ADDONS,
        version_order::ON_CLUSTER_ADDONS,
    ];
}

impl Ruled for HubConfig {
    const RULES: &'static [&'static [Rule<Self>]] = &[
        deletion::ON_HUB_CONFIGS,
        in_place::ON_HUB_CONFIGS,
        version::ON_HUB_CONFIGS,
        version_order::ON_HUB_CONFIGS,
    ];
}

impl Ruled for Template {
    const RULES: &'static [&'static [Rule<Self>]] = {
        let [
            kubernetes,
            manifests,
            owner,
            pods,
            same_object,
            signers,
            variables,
            version,
            withdrawn,
        ] = template::FAMILIES;
        &[
            deletion::ON_TEMPLATES,
            in_place::ON_TEMPLATES,
            permission::ON_TEMPLATES,
            kubernetes,
            manifests,
            owner,
            pods,
            same_object,
            signers,
            variables,
            version,
            withdrawn,
        ]
    };
}

impl Ruled for DeploymentConfig {
    const RULES: &'static [&'static [Rule<Self>]] = {
        let [nodes, proxy, registries, resources, variables] = deployment_config::FAMILIES;
        &[
            nodes,
            proxy,
            registries,
            resources,
            variables,
            deletion::ON_DEPLOYMENT_CONFIGS,
            in_place::ON_DEPLOYMENT_CONFIGS,
            install_namespace::ON_DEPLOYMENT_CONFIGS,
        ]
    };
}

impl Ruled for Placement {
    const RULES: &'static [&'static [Rule<Self>]] = &[placing::ON_PLACEMENTS];
}

impl Ruled for AddonPolicy {
    const RULES: &'static [&'static [Rule<Self>]] = &[addon_policy::ON_POLICIES];
}

impl Ruled for Upgrade {
    const RULES: &'static [&'static [Rule<Self>]] = &[
        upgrade::ON_UPGRADES,
        upgrade_access::ON_UPGRADES,
        upgrade_advice::ON_UPGRADES,
    ];
}

impl Ruled for SetBinding {
    const RULES: &'static [&'static [Rule<Self>]] = &[placing::ON_SET_BINDINGS];
}

#[cfg(test)]
mod tests {
    use super::ADVICE;
    use crate::catalogue;

    #[test]
    fn advice_is_what_the_documentation_never_calls_refused() {
        let refuses = |doc: &str| doc.contains("efused") && !doc.contains("Never refused");
        let advice: Vec<&str> = catalogue()
            .iter()
            .filter(|entry| !refuses(entry.text) && !entry.id.starts_with("schema/"))
            .map(|entry| entry.id)
            .collect();
        assert_eq!(advice, ADVICE);
    }
}
