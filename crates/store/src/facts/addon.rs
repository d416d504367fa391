//! What one add-on says: its configuration types, its defaults, and what its placements create.
//!
//! Decides which defaults win. What cannot be read is left out, because it is not a fact.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::decode::read::parse;
use crate::decode::rollout::{configuration_rollout, rollout};
use crate::kind::Kind;
use api::v1alpha1 as wire;
use kubernetes::field::Path;
use model::{
    ConfigReference, ConfigRollout, ConfigType, InstallNamespace, Name, RawReference, RollingUpdate,
    RolloutStrategy, listed_types,
};

/// The spec that a placement gives to the add-ons it creates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreationTemplate {
    /// Namespace on the cluster for the agent.
    pub install_namespace: Option<InstallNamespace>,
    /// Configurations of the new add-on.
    pub configs: Vec<ConfigReference>,
    /// Version that the new add-on asks for.
    pub desired_version: Option<String>,
}

/// One placement of an add-on's install strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddonPlacement {
    /// Namespace of the placement.
    pub namespace: String,
    /// Name of the placement.
    pub name: String,
    /// Configurations of its clusters.
    pub configs: Vec<ConfigReference>,
    /// What its clusters' add-ons are created with.
    pub template: CreationTemplate,
    /// How changes are rolled out to its clusters; absent where that is invalid, and no cluster moves.
    pub rollout: Option<RolloutStrategy>,
}

/// What one `ClusterManagementAddOn` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddonFacts {
    /// Configuration types that the add-on lists.
    pub supported: BTreeSet<ConfigType>,
    /// Those of them that `spec.configuration` has a default of.
    pub configured: BTreeSet<ConfigType>,
    /// Default configurations; those of `spec.configuration` stand before those of `spec.supportedConfigs` and win.
    pub defaults: Vec<ConfigReference>,
    /// Placements in effect, in their order; empty unless the strategy is `Placements`.
    pub placements: Vec<AddonPlacement>,
    /// How changes of `spec.configuration` are rolled out; absent where that is invalid, and no cluster moves.
    pub configuration_rollout: Option<ConfigRollout>,
    /// Types that no cluster may override.
    pub protected: BTreeSet<ConfigType>,
    /// The required ones of `spec.dependencies`: add-ons that have to run on a cluster first.
    pub dependencies: Vec<Name>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the `AddOnDeploymentConfig`s of all layers count, each for what those above it leave open.
    pub merges: bool,
}

impl AddonFacts {
    /// Returns the same of an add-on with this annotation about protected types; what is no type protects nothing.
    #[must_use]
    pub fn protecting(mut self, annotation: Option<&str>) -> Self {
        let types = listed_types(annotation.unwrap_or_default());
        self.protected = types.filter_map(|(_, of)| of.ok()).collect();
        self
    }

    /// Returns the same of an add-on with this annotation about merged types; only deployment configurations can be merged.
    #[must_use]
    pub fn merging(mut self, annotation: Option<&str>) -> Self {
        let mut types = listed_types(annotation.unwrap_or_default());
        self.merges = types.any(|(_, of)| {
            let of = of.as_ref();
            of.is_ok_and(|of| Kind::of_config(of.group(), of.resource()) == Some(Kind::DeploymentConfig))
        });
        self
    }

    /// Returns whom changes of `spec.configuration` reach, where that is not every cluster.
    pub fn rolling(&self) -> Option<&RollingUpdate> {
        match &self.configuration_rollout {
            Some(ConfigRollout::RollingUpdateWithPlacement(update)) => Some(update),
            Some(ConfigRollout::UpdateAll) | None => None,
        }
    }

    /// Tells whether no cluster may override a type.
    pub fn protects(&self, group: &str, resource: &str) -> bool {
        // Thousands of clusters ask, of add-ons that mostly protect nothing.
        let mut protected = self.protected.iter();
        protected.any(|of| of.group() == group && of.resource() == resource)
    }

    /// Tells whether no cluster may choose its version: that is what both types are for.
    pub fn protects_version(&self) -> bool {
        [Kind::HubConfig, Kind::Template].into_iter().any(|kind| {
            let of = kind.address();
            self.protects(of.group, of.resource)
        })
    }

    /// Returns the install namespace that all placements give, if they agree on one.
    pub fn only_namespace(&self) -> Option<&InstallNamespace> {
        let mut given = self
            .placements
            .iter()
            .map(|placement| placement.template.install_namespace.as_ref());
        let first = given.next()??;
        given.all(|other| other == Some(first)).then_some(first)
    }

    /// Reads what an add-on says from its object.
    pub fn read(object: &Value) -> Result<Self, String> {
        parse::<wire::ClusterManagementAddOn>(object).map(|addon| Self::of(&addon.spec))
    }

    /// Reads what an add-on says; what cannot be read is left out, because it is not a fact.
    pub fn of(spec: &wire::ClusterManagementAddOnSpec) -> Self {
        let configured = spec
            .configuration
            .iter()
            .flat_map(|configuration| &configuration.configs);
        let configured: Vec<ConfigReference> = configured.filter_map(reference).collect();
        let mut facts = Self::default();
        facts
            .configured
            .extend(configured.iter().map(|reference| reference.config().clone()));
        facts.supported.clone_from(&facts.configured);
        facts.defaults = configured;
        let strategy = spec
            .configuration
            .as_ref()
            .and_then(|configuration| configuration.rollout_strategy.as_ref());
        facts.configuration_rollout = configuration_rollout(strategy).ok();
        let dependencies = spec.dependencies.iter();
        let required = dependencies.filter(|one| one.type_ != wire::AddOnDependency::OPTIONAL);
        facts.dependencies = required.map(|one| Name::from(one.name.as_str())).collect();
        for meta in &spec.supported_configs {
            let Ok(config) = ConfigType::parse(&meta.group, &meta.resource) else {
                continue;
            };
            let overridden = facts.configured.contains(&config);
            if let (Some(default), false) = (&meta.default_config, overridden) {
                let raw = RawReference {
                    group: Some(&meta.group),
                    resource: Some(&meta.resource),
                    namespace: Some(&default.namespace),
                    name: Some(&default.name),
                };
                facts.defaults.extend(ConfigReference::parse(raw, &Path::root()));
            }
            facts.supported.insert(config);
        }
        if let Some(strategy) = spec
            .install_strategy
            .as_ref()
            .filter(|strategy| strategy.type_ == "Placements")
        {
            facts.placements = strategy.placements.iter().map(placement).collect();
        }
        facts
    }
}

/// The versions of one add-on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionFacts {
    /// Every version that can be asked for, lowest first.
    pub supported: Vec<Arc<str>>,
    /// The templates that stand for them, in the same order; "" where it is not known which.
    pub templates: Vec<Arc<str>>,
    /// The version that is installed where none is asked for.
    pub default: Option<Arc<str>>,
}

fn reference(config: &api::AddOnConfig) -> Option<ConfigReference> {
    let raw = RawReference {
        group: Some(&config.group),
        resource: Some(&config.resource),
        namespace: Some(&config.namespace),
        name: Some(&config.name),
    };
    ConfigReference::parse(raw, &Path::root()).ok()
}

fn placement(strategy: &wire::PlacementStrategy) -> AddonPlacement {
    let template = strategy
        .addon_spec
        .as_ref()
        .or(strategy.addon_template.as_ref())
        .map_or_else(CreationTemplate::default, |template| CreationTemplate {
            install_namespace: template
                .install_namespace
                .as_deref()
                .and_then(|text| InstallNamespace::parse(text).ok()),
            configs: template.configs.iter().filter_map(reference).collect(),
            desired_version: Some(template.desired_version.clone()).filter(|version| !version.is_empty()),
        });
    AddonPlacement {
        namespace: strategy.namespace.clone(),
        name: strategy.name.clone(),
        configs: strategy.configs.iter().filter_map(reference).collect(),
        template,
        rollout: rollout(strategy.rollout_strategy.as_ref(), 0).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn addon(spec: serde_json::Value) -> AddonFacts {
        AddonFacts::of(&serde_json::from_value(spec).expect("the wire type reads it"))
    }

    #[test]
    fn placements_of_a_manual_strategy_are_not_in_effect() {
        let facts = addon(json!({"installStrategy": {"type": "Manual", "placements": [
            {"namespace": "default", "name": "all", "addonSpec": {"installNamespace": "x"}}]}}));
        assert!(facts.placements.is_empty());
    }

    #[test]
    fn configured_types_count_as_supported_and_their_defaults_win() {
        let facts = addon(json!({
            "supportedConfigs": [{"group": "g", "resource": "as", "defaultConfig": {"name": "old"}}, {"resource": "bs"}],
            "configuration": {"configs": [{"group": "g", "resource": "as", "name": "new"}]},
        }));
        let supported: Vec<String> = facts.supported.iter().map(ToString::to_string).collect();
        assert_eq!(supported, ["bs", "as.g"]);
        let defaults: Vec<&str> = facts.defaults.iter().map(ConfigReference::name).collect();
        assert_eq!(defaults, ["new"]);
    }
}
