//! What admission may ask about the fleet: an immutable picture, cheap to share and to replace in parts.
//!
//! Decides which creation template a cluster gets, and which configuration types an add-on knows. Never decides whether
//! an object is right: a fact may be missing or late, and every rule says what it does then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::v1alpha1 as wire;
use crate::field::Path;
use crate::model::{ConfigReference, ConfigType, InstallNamespace, RawReference};

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
    /// What its clusters' add-ons are created with.
    pub template: CreationTemplate,
}

/// What one `ClusterManagementAddOn` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddonFacts {
    /// Configuration types that the add-on lists.
    pub supported: BTreeSet<ConfigType>,
    /// Default configurations; those of `spec.configuration` stand before those of `spec.supportedConfigs` and win.
    pub defaults: Vec<ConfigReference>,
    /// Placements in effect, in their order; empty unless the strategy is `Placements`.
    pub placements: Vec<AddonPlacement>,
}

impl AddonFacts {
    /// Reads what an add-on says; what cannot be read is left out, because it is not a fact.
    pub fn of(spec: &wire::ClusterManagementAddOnSpec) -> Self {
        let configured = spec
            .configuration
            .iter()
            .flat_map(|configuration| &configuration.configs);
        let configured: Vec<ConfigReference> = configured.filter_map(reference).collect();
        let mut facts = Self::default();
        facts
            .supported
            .extend(configured.iter().map(|reference| reference.config().clone()));
        facts.defaults = configured;
        for meta in &spec.supported_configs {
            let Ok(config) = ConfigType::parse(&meta.group, &meta.resource) else {
                continue;
            };
            let overridden = facts.defaults.iter().any(|default| *default.config() == config);
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
    /// The version that is installed where none is asked for.
    pub default: Option<Arc<str>>,
}

type Clusters = BTreeSet<Arc<str>>;

/// Values under two names, the outer one first.
pub type ByTwoNames<T> = BTreeMap<Arc<str>, BTreeMap<Arc<str>, T>>;

/// The facts of the whole fleet.
///
/// The five parts are shared: whoever publishes new facts replaces the parts that changed and clones the rest for free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether everything that exists is in here. Until then the absence of something means nothing.
    pub complete: bool,
    /// Add-ons by name.
    pub addons: Arc<BTreeMap<Arc<str>, Arc<AddonFacts>>>,
    /// Clusters by the placement that selects them: namespace, then name.
    pub placements: Arc<ByTwoNames<Arc<Clusters>>>,
    /// Types that agents declared in `status.supportedConfigs`: cluster, then add-on.
    pub declared: Arc<ByTwoNames<Arc<[ConfigType]>>>,
    /// Versions by add-on; an add-on whose templates carry no version is absent.
    pub versions: Arc<BTreeMap<Arc<str>, Arc<VersionFacts>>>,
}

impl Facts {
    /// Returns these facts, now known to be everything that exists.
    #[must_use]
    pub fn completed(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Returns these facts with one more add-on.
    #[must_use]
    pub fn with_addon(mut self, name: &str, addon: AddonFacts) -> Self {
        Arc::make_mut(&mut self.addons).insert(name.into(), Arc::new(addon));
        self
    }

    /// Returns these facts with the clusters that a placement selects.
    #[must_use]
    pub fn with_placement<'a>(
        mut self,
        namespace: &str,
        name: &str,
        clusters: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let clusters: Clusters = clusters.into_iter().map(Arc::from).collect();
        let names = Arc::make_mut(&mut self.placements)
            .entry(namespace.into())
            .or_default();
        names.insert(name.into(), Arc::new(clusters));
        self
    }

    /// Returns these facts with the types that an agent declared.
    #[must_use]
    pub fn with_declared(
        mut self,
        cluster: &str,
        addon: &str,
        types: impl IntoIterator<Item = ConfigType>,
    ) -> Self {
        let addons = Arc::make_mut(&mut self.declared)
            .entry(cluster.into())
            .or_default();
        addons.insert(addon.into(), types.into_iter().collect());
        self
    }

    /// Returns these facts with the versions of an add-on, lowest first; the last one is the default.
    #[must_use]
    pub fn with_versions<'a>(mut self, addon: &str, versions: impl IntoIterator<Item = &'a str>) -> Self {
        let supported: Vec<Arc<str>> = versions.into_iter().map(Arc::from).collect();
        let default = supported.last().cloned();
        let facts = VersionFacts { supported, default };
        Arc::make_mut(&mut self.versions).insert(addon.into(), Arc::new(facts));
        self
    }

    /// Returns the versions of an add-on, if its templates carry any.
    pub fn versions(&self, addon: &str) -> Option<&VersionFacts> {
        self.versions.get(addon).map(Arc::as_ref)
    }

    /// Returns what is known about an add-on.
    pub fn addon(&self, name: &str) -> Option<&AddonFacts> {
        self.addons.get(name).map(Arc::as_ref)
    }

    /// Returns the names of all add-ons.
    pub fn addon_names(&self) -> impl Iterator<Item = &str> {
        self.addons.keys().map(Arc::as_ref)
    }

    /// Returns the types that the agent of an add-on declared on a cluster.
    pub fn declared(&self, cluster: &str, addon: &str) -> &[ConfigType] {
        self.declared
            .get(cluster)
            .and_then(|addons| addons.get(addon))
            .map_or(&[], Arc::as_ref)
    }

    /// Tells whether a placement selects a cluster.
    pub fn selects(&self, namespace: &str, name: &str, cluster: &str) -> bool {
        let clusters = self.placements.get(namespace).and_then(|names| names.get(name));
        clusters.is_some_and(|clusters| clusters.contains(cluster))
    }

    /// Returns the install namespace that the templates give to an add-on on a cluster.
    ///
    /// Later placements win over earlier ones, as they do for configurations; one that is silent takes nothing away.
    pub fn install_namespace(&self, addon: &str, cluster: &str) -> Option<&InstallNamespace> {
        let placements = &self.addon(addon)?.placements;
        placements
            .iter()
            .rev()
            .filter(|placement| self.selects(&placement.namespace, &placement.name, cluster))
            .find_map(|placement| placement.template.install_namespace.as_ref())
    }
}

fn reference(config: &crate::api::AddOnConfig) -> Option<ConfigReference> {
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
        template,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn addon(spec: serde_json::Value) -> AddonFacts {
        AddonFacts::of(&serde_json::from_value(spec).expect("the wire type reads it"))
    }

    fn placed() -> AddonFacts {
        addon(json!({"installStrategy": {"type": "Placements", "placements": [
            {"namespace": "default", "name": "all", "addonSpec": {"installNamespace": "everywhere"}},
            {"namespace": "default", "name": "canary", "addonTemplate": {"installNamespace": "canary-ns"}},
            {"namespace": "default", "name": "silent"},
        ]}}))
    }

    #[test]
    fn the_last_placement_that_says_something_wins() {
        let facts = Facts::default()
            .with_addon("helloworld", placed())
            .with_placement("default", "all", ["c1", "c2"])
            .with_placement("default", "canary", ["c2"])
            .with_placement("default", "silent", ["c1", "c2"]);
        let namespace = |cluster| {
            facts
                .install_namespace("helloworld", cluster)
                .map(InstallNamespace::as_str)
        };
        assert_eq!(namespace("c1"), Some("everywhere"));
        assert_eq!(namespace("c2"), Some("canary-ns"));
        assert_eq!(namespace("c3"), None);
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
