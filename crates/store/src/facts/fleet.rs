//! The facts of the whole fleet, in parts that are shared until they change.
//!
//! Decides which creation template a cluster gets. Never decides whether an object is right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::addon::{AddonFacts, VersionFacts};
use super::cluster::ClusterFacts;
use super::confirmed::Completeness;
use super::confirmed::{Confirmed, LiveFact};
use super::objects::NamespaceFacts;
use super::objects::PlacementFacts;
use super::objects::{ConfigPresence, config_key};
use super::objects::{Rights, UserRight};
use super::peers::PeerFacts;
use super::sharded_map::ShardedMap;
use crate::kind::{Kind, ObjectKey, Place};
use crate::parts::config_watch::Absence;
use crate::record::{CheckRecord, Content};
use crate::registration::RoleFacts;
use model::{
    ConfigReference, ConfigType, InstallNamespace, Name, ResolvedSettings, RolloutProfile, RolloutSettings,
};

/// Values under two names, the outer one first.
pub type ByTwoNames<T> = BTreeMap<Arc<str>, BTreeMap<Arc<str>, T>>;

/// The facts of the whole fleet.
///
/// The parts are shared: when the store publishes new facts, it replaces the parts that changed and clones the rest for free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Of which kinds everything that exists is in here.
    pub known: Completeness,
    /// Add-ons by name.
    pub addons: Arc<BTreeMap<Arc<str>, Arc<AddonFacts>>>,
    /// Settings of the rollouts of add-ons; an add-on of which nothing is set, or nothing that can be read, is absent.
    pub rollouts: Arc<BTreeMap<Arc<str>, Arc<RolloutSettings>>>,
    /// Profiles of rollouts by name.
    pub profiles: Arc<BTreeMap<Arc<str>, ProfileFacts>>,
    /// The upgrades that name a profile, as namespace/name, by profile.
    pub upgrade_profiles: Arc<BTreeMap<Arc<str>, BTreeSet<String>>>,
    /// The upgrades with a stage that names a check, as namespace/name, by check.
    pub upgrade_checks: Arc<BTreeMap<Arc<str>, BTreeSet<String>>>,
    /// RolloutChecks by name.
    pub checks: Arc<BTreeMap<Arc<str>, Arc<CheckRecord>>>,
    /// Placements by namespace, then name.
    pub placements: Arc<ByTwoNames<Arc<PlacementFacts>>>,
    /// Types that agents declared in `status.supportedConfigs`, on whatever cluster, by add-on; an add-on of which no agent has
    /// declared a type is absent.
    pub declared_types: Arc<BTreeMap<Arc<str>, Arc<BTreeSet<ConfigType>>>>,
    /// Versions by add-on; an add-on whose templates carry no version is absent.
    pub versions: Arc<BTreeMap<Arc<str>, Arc<VersionFacts>>>,
    /// Clusters by name.
    pub clusters: ShardedMap<Arc<ClusterFacts>>,
    /// Configuration objects by [`config_key`]; of kinds that the controllers do not read, those that a spec refers to.
    pub configs: ShardedMap<ConfigPresence>,
    /// The clusters that have an add-on, by add-on.
    pub peers: Arc<BTreeMap<Arc<str>, Arc<PeerFacts>>>,
    /// Namespaces by name. One that is not in here is unknown, never absent: no object lives in a place that does not exist.
    pub namespaces: ShardedMap<Arc<NamespaceFacts>>,
    /// Clusters on which an upgrade has a work: cluster, then namespace and name of each such upgrade.
    pub upgrading: Arc<BTreeMap<Arc<str>, BTreeSet<Place>>>,
    /// Roles that are labelled as ones for agents.
    pub hub_roles: Arc<BTreeMap<ObjectKey, RoleFacts>>,
    /// What the one who asks may do on the hub, as far as the hub was asked.
    pub rights: Rights,
    /// What the hub itself has said about objects that are not in here.
    pub confirmed: Confirmed,
    /// The install namespaces that placements give, in the hub's own word: it counts instead of what was watched.
    pub given: Arc<BTreeMap<ObjectKey, Option<InstallNamespace>>>,
}

/// A profile of rollouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileFacts {
    /// Whether it is the default of the hub.
    pub is_default: bool,
    /// What it sets; absent where it is invalid.
    pub profile: Option<Arc<RolloutProfile>>,
}

impl Facts {
    /// Returns these facts, now known to be everything that exists.
    #[must_use]
    pub fn completed(mut self) -> Self {
        self.known = Completeness::all();
        self
    }

    /// Returns these facts with the hub's own word about objects that are not in them.
    #[must_use]
    pub fn confirmed_by(mut self, answers: BTreeMap<ObjectKey, bool>) -> Self {
        self.confirmed = Confirmed::Answers(Arc::new(answers));
        self
    }

    /// Returns these facts as all there is: what they do not have does not exist.
    #[must_use]
    pub fn without_doubt(mut self) -> Self {
        self.confirmed = Confirmed::Everything;
        self
    }

    /// Returns these facts with one more add-on.
    #[must_use]
    pub fn with_addon(mut self, name: &str, addon: AddonFacts) -> Self {
        Arc::make_mut(&mut self.addons).insert(name.into(), Arc::new(addon));
        self
    }

    /// Returns these facts with the settings of the rollouts of an add-on.
    #[must_use]
    pub fn with_rollout(mut self, addon: &str, settings: RolloutSettings) -> Self {
        Arc::make_mut(&mut self.rollouts).insert(addon.into(), Arc::new(settings));
        self
    }

    /// Returns these facts with a profile of rollouts.
    #[must_use]
    pub fn with_profile(mut self, profile: RolloutProfile) -> Self {
        let facts = ProfileFacts {
            is_default: profile.is_default,
            profile: Some(Arc::new(profile)),
        };
        let name = facts.profile.as_ref().map(|profile| profile.name.clone());
        Arc::make_mut(&mut self.profiles).insert(name.unwrap_or_default(), facts);
        self
    }

    /// Returns these facts with a placement that selects these clusters, all in one decision group without a name.
    #[must_use]
    pub fn with_placement<'a>(
        mut self,
        namespace: &str,
        name: &str,
        clusters: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let facts = PlacementFacts {
            exists: true,
            decided: true,
            clusters: Arc::new(clusters.into_iter().map(Arc::from).collect()),
            groups: Vec::new(),
            per_group: None,
        };
        let names = Arc::make_mut(&mut self.placements)
            .entry(namespace.into())
            .or_default();
        names.insert(name.into(), Arc::new(facts));
        self
    }

    /// Returns these facts with more types that agents of an add-on declared.
    #[must_use]
    pub fn with_declared(mut self, addon: &str, types: impl IntoIterator<Item = ConfigType>) -> Self {
        let mut all = self.declared_types(addon).cloned().unwrap_or_default();
        all.extend(types);
        if !all.is_empty() {
            Arc::make_mut(&mut self.declared_types).insert(addon.into(), Arc::new(all));
        }
        self
    }

    /// Returns these facts with the versions of an add-on, lowest first; the last one is the default.
    #[must_use]
    pub fn with_versions<'a>(mut self, addon: &str, versions: impl IntoIterator<Item = &'a str>) -> Self {
        let supported: Vec<Arc<str>> = versions.into_iter().map(Arc::from).collect();
        let default = supported.last().cloned();
        let templates = vec![Arc::from(""); supported.len()];
        let facts = VersionFacts {
            supported,
            templates,
            default,
        };
        Arc::make_mut(&mut self.versions).insert(addon.into(), Arc::new(facts));
        self
    }

    /// Returns these facts with what the hub has said of single objects.
    #[must_use]
    pub fn told(mut self, answers: BTreeMap<ObjectKey, LiveFact>) -> Self {
        let mut exist = BTreeMap::new();
        for (object, told) in answers {
            let exists = match told {
                LiveFact::Absent => false,
                LiveFact::Exists => true,
                LiveFact::Namespace(namespace) => {
                    self.namespaces.set(&object.name, Some(Arc::new(namespace)));
                    true
                }
                LiveFact::Role(role) => {
                    Arc::make_mut(&mut self.hub_roles).insert(object.clone(), role);
                    true
                }
                LiveFact::Given(namespace) => {
                    Arc::make_mut(&mut self.given).insert(object, namespace);
                    continue;
                }
            };
            exist.insert(object, exists);
        }
        self.confirmed_by(exist)
    }

    /// Returns these facts with what the hub has said about the rights of the one who asks.
    #[must_use]
    pub fn entitled(mut self, answers: BTreeMap<UserRight, bool>) -> Self {
        self.rights = Rights::of(answers);
        self
    }

    /// Returns what is known about a namespace.
    pub fn namespace(&self, name: &str) -> Option<&NamespaceFacts> {
        self.namespaces.get(name).map(Arc::as_ref)
    }

    /// Tells whether everything that exists of a kind is known. Until then the absence of something means nothing.
    pub fn knows(&self, kind: Kind) -> bool {
        self.known.covers(kind)
    }

    /// Returns the kinds of which it is not known yet what exists, in the order in which they are read.
    pub fn unread(&self) -> Vec<&'static str> {
        let unread = Kind::ALL.into_iter().filter(|kind| !self.known.covers(*kind));
        unread.map(|kind| kind.address().resource).collect()
    }

    /// Tells whether everything that exists is known.
    pub fn is_complete(&self) -> bool {
        self.known.is_whole()
    }

    /// Returns the versions of an add-on, if its templates carry any.
    pub fn versions(&self, addon: &str) -> Option<&VersionFacts> {
        self.versions.get(addon).map(Arc::as_ref)
    }

    /// Returns what is known about an add-on.
    pub fn addon(&self, name: &str) -> Option<&AddonFacts> {
        self.addons.get(name).map(Arc::as_ref)
    }

    /// Returns the settings of the rollouts of an add-on.
    pub fn rollout(&self, addon: &str) -> Option<&RolloutSettings> {
        self.rollouts.get(addon).map(Arc::as_ref)
    }

    /// Returns the settings that count for an object with these settings: with those of the profile that they name and of the default one.
    pub fn resolve<'f>(&'f self, own: &'f RolloutSettings) -> ResolvedSettings<'f> {
        let valid = |name: &Name| self.profiles.get(name)?.profile.as_deref();
        let mut defaults = self.profiles.values().filter(|profile| profile.is_default);
        let default = defaults.next().and_then(|facts| facts.profile.as_deref());
        own.resolve(own.profile().and_then(valid), default)
    }

    /// Returns the settings that count for the rollouts of an add-on.
    pub fn settings(&self, addon: &str) -> ResolvedSettings<'_> {
        self.resolve(self.rollout(addon).unwrap_or_default())
    }

    /// Returns the add-ons that have to run on a cluster before this one: those of its AddOnRollout and those of its
    /// ClusterManagementAddOn.
    pub fn depends_on(&self, addon: &str) -> impl Iterator<Item = &Name> {
        let settings = self
            .rollout(addon)
            .into_iter()
            .flat_map(RolloutSettings::depends_on);
        settings.chain(
            self.addon(addon)
                .into_iter()
                .flat_map(|addon| &addon.dependencies),
        )
    }

    /// Returns the names of all add-ons.
    pub fn addon_names(&self) -> impl Iterator<Item = &str> {
        self.addons.keys().map(Arc::as_ref)
    }

    /// Returns what is known about a cluster.
    pub fn cluster(&self, name: &str) -> Option<&ClusterFacts> {
        self.clusters.get(name).map(Arc::as_ref)
    }

    /// Returns what is known about the clusters that have an add-on; nothing when none has it.
    pub fn peers(&self, addon: &str) -> Option<&PeerFacts> {
        self.peers.get(addon).map(Arc::as_ref)
    }

    /// Returns what is known about a placement.
    pub fn placement(&self, namespace: &str, name: &str) -> Option<&PlacementFacts> {
        self.placements.get(namespace)?.get(name).map(Arc::as_ref)
    }

    /// Returns the types that the agents of an add-on declared on any cluster; nothing while none has declared one: then the types
    /// that the add-on supports are not known, unless it is deployed from templates.
    pub fn declared_types(&self, addon: &str) -> Option<&BTreeSet<ConfigType>> {
        self.declared_types.get(addon).map(Arc::as_ref)
    }

    /// Tells whether a placement selects a cluster.
    pub fn selects(&self, namespace: &str, name: &str, cluster: &str) -> bool {
        self.placement(namespace, name)
            .is_some_and(|placement| placement.clusters.contains(cluster))
    }

    /// Returns whether a configuration object exists, as far as is known.
    pub fn config(&self, reference: &ConfigReference) -> ConfigPresence {
        let of = reference.config();
        let namespace = reference.namespace().unwrap_or_default();
        let key = config_key(of.group(), of.resource(), namespace, reference.name());
        if let Some(found) = self.configs.get(&key) {
            return found.clone();
        }
        match Kind::of_config(of.group(), of.resource()) {
            Some(kind) if self.knows(kind) => {
                let absence = match (kind.address().namespaced, namespace.is_empty()) {
                    (true, true) => Absence::NeedsNamespace,
                    (false, false) => Absence::HasNoNamespace,
                    (true, false) | (false, true) => Absence::Missing,
                };
                ConfigPresence::Absent(absence)
            }
            Some(_) | None => ConfigPresence::Unknown,
        }
    }

    /// Returns what a configuration object says that is known to exist, without a copy of it.
    pub fn config_content(&self, reference: &ConfigReference) -> Option<&Content> {
        let of = reference.config();
        let namespace = reference.namespace().unwrap_or_default();
        let key = config_key(of.group(), of.resource(), namespace, reference.name());
        match self.configs.get(&key)? {
            ConfigPresence::Exists(found) => found.content.as_deref(),
            ConfigPresence::Absent(_) | ConfigPresence::Unknown => None,
        }
    }

    /// Returns the install namespace that the templates give to an add-on on a cluster.
    ///
    /// Where all placements give the same one, it is the add-on's, even without a decision for the cluster. Else later placements
    /// win over earlier ones, as they do for configurations; one that is silent takes nothing away.
    pub fn install_namespace(&self, addon: &str, cluster: &str) -> Option<&InstallNamespace> {
        let addon = self.addon(addon)?;
        if let Some(namespace) = addon.only_namespace() {
            return Some(namespace);
        }
        let placements = &addon.placements;
        placements
            .iter()
            .rev()
            .filter(|placement| self.selects(&placement.namespace, &placement.name, cluster))
            .find_map(|placement| placement.template.install_namespace.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubernetes::field::Path;
    use model::RawReference;
    use serde_json::json;

    fn placed() -> AddonFacts {
        let spec = json!({"installStrategy": {"type": "Placements", "placements": [
            {"namespace": "default", "name": "all", "addonSpec": {"installNamespace": "everywhere"}},
            {"namespace": "default", "name": "canary", "addonTemplate": {"installNamespace": "canary-ns"}},
            {"namespace": "default", "name": "silent"},
        ]}});
        AddonFacts::of(&serde_json::from_value(spec).expect("the wire type reads it"))
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
    fn what_all_placements_say_needs_no_decision() {
        let spec = |second: serde_json::Value| {
            let first = json!({"namespace": "default", "name": "a", "addonSpec": {"installNamespace": "x"}});
            let spec = json!({"installStrategy": {"type": "Placements", "placements": [first, second]}});
            AddonFacts::of(&serde_json::from_value(spec).expect("the wire type reads it"))
        };
        let other = |name: &str| json!({"namespace": "default", "name": "b", "addonSpec": {"installNamespace": name}});
        let given = |addon| {
            let facts = Facts::default().with_addon("helloworld", addon);
            let given = facts.install_namespace("helloworld", "c1");
            given.map(|given| given.as_str().to_owned()).unwrap_or_default()
        };
        assert_eq!(given(spec(other("x"))), "x");
        assert_eq!(given(spec(other("y"))), "");
        assert_eq!(given(spec(json!({"namespace": "default", "name": "b"}))), "");
        assert_eq!(given(AddonFacts::default()), "");
    }

    #[test]
    fn an_object_that_was_not_listed_is_unknown_and_not_absent() {
        let raw = |group, resource, namespace| RawReference {
            group: Some(group),
            resource: Some(resource),
            namespace: Some(namespace),
            name: Some("x"),
        };
        let addon_group = "addon.open-cluster-management.io";
        let config = |facts: &Facts, raw| {
            facts.config(&ConfigReference::parse(raw, &Path::root()).expect("a whole reference"))
        };
        let deployment = raw(addon_group, "addondeploymentconfigs", "n");
        let secret = raw("", "secrets", "n");
        let partly = Facts {
            known: Completeness::of([Kind::Template]),
            ..Facts::default()
        };
        assert_eq!(config(&partly, deployment), ConfigPresence::Unknown);
        let whole = Facts::default().completed();
        assert_eq!(
            config(&whole, deployment),
            ConfigPresence::Absent(Absence::Missing)
        );
        assert_eq!(config(&whole, secret), ConfigPresence::Unknown);
        let nowhere = raw(addon_group, "addondeploymentconfigs", "");
        assert_eq!(
            config(&whole, nowhere),
            ConfigPresence::Absent(Absence::NeedsNamespace)
        );
    }
}
