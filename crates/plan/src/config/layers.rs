//! The layers of configuration, one function each: default < placement < cluster, a whole type at a time.
//!
//! Decides which references count and where each comes from: of a type that is merged all layers, the uppermost first. Never merges
//! fields of two objects (`render/merged.rs`), and never asks whether an object exists.

use std::borrow::Cow;
use std::collections::BTreeSet;

use store::{AddOn, ConfigRef, ConfigType, Instance, Kind, Name, PinnedConfig, PlacementUse, terms};

/// Where an effective reference comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A default of the add-on.
    Default,
    /// The placement that configures the cluster.
    Placement {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// The instance's own list.
    Cluster,
    /// The version that the instance should have.
    Version,
    /// The last known good configuration, with its hash, because its rollout was undone.
    KnownGood(Name),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("a default of the add-on"),
            Self::Placement { namespace, name } => write!(f, "from placement {namespace}/{name}"),
            Self::Cluster => f.write_str("from the ManagedClusterAddOn"),
            Self::Version => f.write_str("selected by version"),
            Self::KnownGood(_) => {
                f.write_str("the last known good configuration, because the rollout was undone")
            }
        }
    }
}

/// One reference of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The object.
    pub(super) config: ConfigRef,
    /// Where it comes from.
    pub(super) source: Source,
}

fn entries(configs: &[ConfigRef], source: &Source) -> Vec<Entry> {
    let entry = |config: &ConfigRef| Entry {
        config: config.clone(),
        source: source.clone(),
    };
    configs.iter().map(entry).collect()
}

/// The lowest layer. `spec.configuration.configs`, which may hold several of one type, wins over
/// `spec.supportedConfigs[].defaultConfig` of the same type.
pub(super) fn defaults(addon: &AddOn) -> Vec<Entry> {
    let mut all = Vec::new();
    for supported in &addon.supported {
        let newer: Vec<&ConfigRef> = addon
            .configuration
            .iter()
            .filter(|config| config.of == supported.of)
            .collect();
        if newer.is_empty() {
            all.extend(supported.config.clone());
        } else {
            all.extend(newer.into_iter().cloned());
        }
    }
    let known: BTreeSet<&ConfigType> = addon.supported.iter().map(|supported| &supported.of).collect();
    all.extend(
        addon
            .configuration
            .iter()
            .filter(|config| !known.contains(&config.of))
            .cloned(),
    );
    all.retain(|config| *config.name != *terms::NO_DEFAULT);
    let mut seen = BTreeSet::new();
    all.retain(|config| seen.insert(config.clone()));
    entries(&all, &Source::Default)
}

/// What the clusters of no placement inherit: the defaults, in the order in which they are shown.
pub(super) fn inherited(addon: &AddOn, defaults: &[Entry]) -> Vec<Entry> {
    overridden(defaults, Vec::new(), |of| merges(addon, of))
}

/// What the clusters of a placement inherit.
pub(super) fn placement(addon: &AddOn, inherited: &[Entry], by: &PlacementUse) -> Vec<Entry> {
    let source = Source::Placement {
        namespace: by.namespace.clone(),
        name: by.name.clone(),
    };
    overridden(inherited, entries(&by.configs, &source), |of| merges(addon, of))
}

/// What the clusters of a placement inherit whose rollout was undone.
pub(super) fn known_good(good: Vec<PinnedConfig>) -> Vec<Entry> {
    let entry = |pinned: PinnedConfig| Entry {
        config: pinned.config,
        source: Source::KnownGood(pinned.hash),
    };
    good.into_iter().map(entry).collect()
}

/// What one cluster runs with. What it says about protected types counts as not said.
pub(super) fn cluster(addon: &AddOn, merges: bool, inherited: &[Entry], instance: &Instance) -> Vec<Entry> {
    let own = instance
        .configs
        .iter()
        .filter(|config| !is_protected(addon, &config.of));
    let own: Vec<ConfigRef> = own.cloned().collect();
    overridden(inherited, entries(&own, &Source::Cluster), |of| {
        merges && is_mergeable(of)
    })
}

/// Returns whether every layer of a type counts for what the layers above it leave open.
pub(crate) fn merges(addon: &AddOn, of: &ConfigType) -> bool {
    addon.facts.merges && is_mergeable(of)
}

fn is_mergeable(of: &ConfigType) -> bool {
    Kind::of_config(&of.group, &of.resource) == Some(Kind::DeploymentConfig)
}

/// Returns whether no cluster may override a type.
pub(crate) fn is_protected(addon: &AddOn, of: &ConfigType) -> bool {
    addon.facts.protects(&of.group, &of.resource)
}

/// Returns what the condition says of an instance that is configured, with what of its spec does not count.
pub(crate) fn set_aside(addon: &AddOn, instance: &Instance) -> Cow<'static, str> {
    let own = instance.configs.iter().map(|config| &config.of);
    let own: BTreeSet<&ConfigType> = own.filter(|of| is_protected(addon, of)).collect();
    let chosen = addon.facts.protects_version()
        && !instance.desired_version.is_empty()
        && instance.desired_version != instance.given_version;
    let version = chosen.then(|| "desiredVersion".to_owned());
    let parts: Vec<String> = own.iter().map(ToString::to_string).chain(version).collect();
    if parts.is_empty() {
        return Cow::Borrowed("Configurations configured");
    }
    let parts = parts.join(", ");
    Cow::Owned(format!(
        "Configurations configured; the ManagedClusterAddOn sets fields that the add-on protects, and they are ignored: {parts}"
    ))
}

/// Returns `base` with every type that `layer` mentions replaced as a whole, or put before what is inherited if it is merged, sorted by type;
/// within a type the author's order stays. The reserved name takes the inherited configurations of its type away and puts nothing in their
/// place.
fn overridden(base: &[Entry], layer: Vec<Entry>, is_merged: impl Fn(&ConfigType) -> bool) -> Vec<Entry> {
    let replaces = |entry: &&Entry| !is_merged(&entry.config.of) || *entry.config.name == *terms::NO_DEFAULT;
    let replaced = layer.iter().filter(replaces).map(|entry| entry.config.of.clone());
    let replaced: BTreeSet<ConfigType> = replaced.collect();
    let kept = base.iter().filter(|entry| !replaced.contains(&entry.config.of));
    let mut seen = BTreeSet::new();
    let mut all: Vec<Entry> = layer.into_iter().chain(kept.cloned()).collect();
    all.retain(|entry| *entry.config.name != *terms::NO_DEFAULT && seen.insert(entry.config.clone()));
    all.sort_by(|one, other| one.config.of.cmp(&other.config.of));
    all
}

/// Returns the types that an instance of a template add-on may override, sorted.
pub(super) fn supported_types(addon: &AddOn) -> BTreeSet<ConfigType> {
    let own = [Kind::DeploymentConfig, Kind::Template].map(type_of);
    let all = listed_types(addon).cloned().chain(own);
    all.filter(|of| !is_protected(addon, of)).collect()
}

/// The types that the add-on's author lists, with a default or without.
pub(super) fn listed_types(addon: &AddOn) -> impl Iterator<Item = &ConfigType> {
    let configured = addon.configuration.iter().map(|config| &config.of);
    addon
        .supported
        .iter()
        .map(|supported| &supported.of)
        .chain(configured)
}

/// Returns whether a type is `AddOnTemplate`.
pub(crate) fn is_template(of: &ConfigType) -> bool {
    Kind::of_config(&of.group, &of.resource) == Some(Kind::Template)
}

/// Returns whether a type is one that every add-on deployed from a template supports.
pub(super) fn is_of_templates(of: &ConfigType) -> bool {
    let kind = Kind::of_config(&of.group, &of.resource);
    matches!(kind, Some(Kind::Template | Kind::DeploymentConfig))
}

/// Returns the type of a configuration kind.
pub(crate) fn type_of(kind: Kind) -> ConfigType {
    let address = kind.address();
    ConfigType {
        group: address.group.into(),
        resource: address.resource.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use store::{ADDON_GROUP, Event, Settings, Store};

    fn entry(text: &str, source: &Source) -> Entry {
        let (resource, name) = text.split_once('/').unwrap();
        let of = ConfigType {
            group: "g".into(),
            resource: resource.into(),
        };
        Entry {
            config: ConfigRef {
                of,
                namespace: "".into(),
                name: name.into(),
            },
            source: source.clone(),
        }
    }

    fn row(base: &[&str], layer: &[&str]) -> String {
        let list = |texts: &[&str], source: &Source| {
            texts.iter().map(|text| entry(text, source)).collect::<Vec<_>>()
        };
        let all = overridden(
            &list(base, &Source::Default),
            list(layer, &Source::Cluster),
            |of| *of.resource == *"merged",
        );
        let one = |entry: &Entry| {
            let mark = if entry.source == Source::Default { "" } else { "*" };
            format!("{}/{}{mark}", entry.config.of.resource, entry.config.name)
        };
        all.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_types_that_a_cluster_may_override_are_sorted_and_stand_once() {
        let supported: Vec<Value> = ["things", "configmaps", "addontemplates", "atoms"]
            .map(|resource| json!({"group": if resource.starts_with('a') { ADDON_GROUP } else { "" }, "resource": resource}))
            .to_vec();
        let object = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "spec": {"supportedConfigs": supported}});
        let mut store = Store::new(Settings::default());
        drop(store.apply(Event::Applied {
            kind: Kind::AddOn,
            object,
        }));
        let types = supported_types(store.view("a").unwrap().addon);
        let names: Vec<String> = types.iter().map(ToString::to_string).collect();
        let expected = [
            "configmaps",
            "things",
            "addondeploymentconfigs.addon.open-cluster-management.io",
            "addontemplates.addon.open-cluster-management.io",
            "atoms.addon.open-cluster-management.io",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn of_a_merged_type_every_layer_counts_and_the_upper_one_comes_first() {
        let rows: [(&[&str], &[&str], &str); 5] = [
            (&["merged/1", "a/1"], &["merged/2"], "a/1 merged/2* merged/1"),
            (
                &["merged/1", "merged/2"],
                &["merged/4", "merged/3"],
                "merged/4* merged/3* merged/1 merged/2",
            ),
            (&["merged/1", "merged/2"], &["merged/2"], "merged/2* merged/1"),
            (&["merged/1"], &["merged/__reserved_no_default__"], ""),
            (
                &["merged/1"],
                &["merged/__reserved_no_default__", "merged/2"],
                "merged/2*",
            ),
        ];
        for (base, layer, expected) in rows {
            assert_eq!(row(base, layer), expected, "{base:?} {layer:?}");
        }
    }

    #[test]
    fn a_layer_replaces_whole_types_and_keeps_the_order_of_its_author() {
        let rows: [(&[&str], &[&str], &str); 6] = [
            (&["b/1", "a/1"], &[], "a/1 b/1"),
            (&["a/1", "a/2", "b/1"], &["a/3"], "a/3* b/1"),
            (&["a/1"], &["b/9", "b/1", "b/5"], "a/1 b/9* b/1* b/5*"),
            (&["a/1"], &["a/2", "a/2", "a/1"], "a/2* a/1*"),
            (&["a/1", "b/1"], &["a/__reserved_no_default__"], "b/1"),
            (&["a/1"], &["a/__reserved_no_default__", "a/2"], "a/2*"),
        ];
        for (base, layer, expected) in rows {
            assert_eq!(row(base, layer), expected, "{base:?} {layer:?}");
        }
    }
}
