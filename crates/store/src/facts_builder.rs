//! From the store to the facts that admission asks: only what changed since the last time is rebuilt.
//!
//! Decides nothing about objects. A kind is complete only when the caller says that it was listed once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::{
    Completeness, ConfigFacts, ConfigPresence, Facts, GroupFacts, PlacementFacts, ProfileFacts, VersionFacts,
    config_key,
};
use super::kind::Place;
use super::kind::{Kind, ObjectKey};
use super::kinds::decision::Placement;
use super::kinds::namespace::Namespace;
use super::kinds::upgrade::Upgrade;
use super::parts::config_watch::ConfigState;
use super::record::ConfigRef;
use super::store::Store;
use api::cluster::UpgradeClusterStatus;
use api::reason::Reason;
use model::Name;

impl Store {
    /// Returns new facts if anything that admission may ask has changed since the last call; `known` are the kinds that were
    /// listed once.
    pub fn publish(&mut self, known: Completeness) -> Option<Facts> {
        let changed = std::mem::take(&mut self.published.changed);
        let mut news = false;
        for addon in &changed.addons {
            news |= self.publish_addon(addon);
        }
        for profile in &changed.profiles {
            news |= self.publish_profile(profile);
        }
        for placement in &changed.placements {
            news |= self.publish_placement(placement);
        }
        for addon in &changed.declared {
            news |= self.publish_declared(addon);
        }
        for addon in &changed.versions {
            news |= self.publish_versions(addon);
        }
        for cluster in &changed.clusters {
            let facts = self
                .objects
                .clusters
                .get(cluster)
                .map(|found| Arc::clone(&found.facts));
            news |= self.published.facts.clusters.set(cluster, facts);
        }
        for namespace in &changed.namespaces {
            let found = self.kept.get::<Namespace>(&(Name::default(), namespace.clone()));
            let facts = found.map(|found| Arc::clone(&found.facts));
            news |= self.published.facts.namespaces.set(namespace, facts);
        }
        for config in &changed.configs {
            news |= self.publish_config(config);
        }
        for role in &changed.hub_roles {
            news |= self.publish_hub_role(role);
        }
        for addon in &changed.peers {
            news |= self.publish_peers(addon);
        }
        for name in &changed.checks {
            let found = self.check(name).cloned().map(Arc::new);
            news |= set(&mut self.published.facts.checks, name, found);
        }
        news |= changed.upgrades && self.publish_upgrading();
        let known = self.published.facts.known.union(known);
        news |= std::mem::replace(&mut self.published.facts.known, known) != known;
        news.then(|| self.published.facts.clone())
    }

    fn publish_addon(&mut self, name: &Name) -> bool {
        let addon = self
            .objects
            .addons
            .get(name)
            .map(|addon| Arc::clone(&addon.facts));
        let settings = self
            .roll_up(name)
            .and_then(|record| record.settings.as_ref().ok());
        let settings = settings.filter(|settings| !settings.is_empty()).map(Arc::clone);
        let news = set(&mut self.published.facts.rollouts, name, settings);
        set(&mut self.published.facts.addons, name, addon) || news
    }

    fn publish_profile(&mut self, name: &Name) -> bool {
        let facts = self.profile(name).map(|record| ProfileFacts {
            is_default: record.is_default,
            profile: record.profile.as_ref().ok().cloned(),
        });
        if self.published.facts.profiles.get(name) == facts.as_ref() {
            return false;
        }
        let known = Arc::make_mut(&mut self.published.facts.profiles);
        match facts {
            Some(facts) => known.insert(name.clone(), facts),
            None => known.remove(name),
        };
        true
    }

    fn publish_hub_role(&mut self, key: &ObjectKey) -> bool {
        let says = self.hub_role(key).map(|role| role.says);
        if self.published.facts.hub_roles.get(key) == says.as_ref() {
            return false;
        }
        let known = Arc::make_mut(&mut self.published.facts.hub_roles);
        match says {
            Some(says) => known.insert(key.clone(), says),
            None => known.remove(key),
        };
        true
    }

    /// Rebuilt from all upgrades: there are few, and each lists its clusters in progress.
    fn publish_upgrading(&mut self) -> bool {
        let mut upgrading: BTreeMap<Name, BTreeSet<Place>> = BTreeMap::new();
        let mut profiles: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
        let mut checks: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
        for (place, upgrade) in self.kept.all::<Upgrade>() {
            let clusters = upgrade.status.clusters.iter();
            for cluster in clusters.filter(|cluster| has_a_work(cluster)) {
                let owners = upgrading.entry(Name::from(cluster.name.as_str())).or_default();
                owners.insert(place.clone());
            }
            let name = format!("{}/{}", place.0, place.1);
            if let Some(profile) = upgrade.profile() {
                profiles
                    .entry(Name::from(profile))
                    .or_default()
                    .insert(name.clone());
            }
            for check in upgrade.checks() {
                checks.entry(Name::from(check)).or_default().insert(name.clone());
            }
        }
        let facts = &mut self.published.facts;
        let mut news = replaced(&mut facts.upgrading, upgrading);
        news |= replaced(&mut facts.upgrade_profiles, profiles);
        news | replaced(&mut facts.upgrade_checks, checks)
    }

    fn publish_peers(&mut self, name: &Name) -> bool {
        let peers = self.published.peers.get(name).cloned().map(Arc::new);
        set(&mut self.published.facts.peers, name, peers)
    }

    fn publish_versions(&mut self, addon: &Name) -> bool {
        let versions = self.versions(addon);
        let supported: Vec<Name> = versions
            .supported()
            .map(|offer| Arc::from(offer.text()))
            .collect();
        let default = versions.preset().map(|offer| Arc::from(offer.text()));
        let templates = versions.supported().map(|offer| offer.template.name.clone());
        let facts = VersionFacts {
            templates: templates.collect(),
            supported,
            default,
        };
        let facts = (!facts.supported.is_empty()).then(|| Arc::new(facts));
        set(&mut self.published.facts.versions, addon, facts)
    }

    fn publish_placement(&mut self, place: &Place) -> bool {
        let placement = self.kept.get::<Placement>(place);
        let exists = placement.is_some();
        let decisions = self.objects.decisions.get(place);
        let facts = (exists || decisions.is_some()).then(|| {
            let each = || decisions.into_iter().flat_map(BTreeMap::values);
            let mut groups: BTreeMap<(u32, &Name), Vec<Name>> = BTreeMap::new();
            for decision in each() {
                let group = groups.entry((decision.group_index, &decision.group_name));
                group.or_default().extend(decision.clusters.iter().cloned());
            }
            let groups = groups.into_iter().map(|((index, name), clusters)| GroupFacts {
                index,
                name: name.clone(),
                clusters: clusters.into(),
            });
            Arc::new(PlacementFacts {
                exists,
                decided: decisions.is_some(),
                groups: groups.collect(),
                per_group: placement.and_then(|placement| placement.per_group),
                clusters: Arc::new(each().flat_map(|decision| &decision.clusters).cloned().collect()),
            })
        });
        let known = self.published.facts.placement(&place.0, &place.1);
        if known == facts.as_deref() {
            return false;
        }
        let namespaces = Arc::make_mut(&mut self.published.facts.placements);
        let names = namespaces.entry(place.0.clone()).or_default();
        match facts {
            Some(facts) => names.insert(place.1.clone(), facts),
            None => names.remove(&place.1),
        };
        if names.is_empty() {
            namespaces.remove(&place.0);
        }
        true
    }

    fn publish_declared(&mut self, addon: &Name) -> bool {
        let types = self.published.declared_by(addon);
        set(&mut self.published.facts.declared_types, addon, types)
    }

    fn publish_config(&mut self, config: &ConfigRef) -> bool {
        let found = self.objects.configs.get(config);
        let is_read = Kind::of_config(&config.of.group, &config.of.resource).is_some();
        let facts = match (found, self.config_state(config)) {
            (Some(found), _) => Some(ConfigPresence::Exists(ConfigFacts {
                hash: found.hash.clone(),
                version: found.version.clone(),
                content: Some(Arc::clone(&found.content)),
            })),
            (None, ConfigState::Exists { hash, .. }) => Some(ConfigPresence::Exists(ConfigFacts {
                hash: hash.clone(),
                version: None,
                content: None,
            })),
            // Of a kind that is read, what is not there is absent as soon as the kind is complete.
            (None, ConfigState::Absent(why)) => (!is_read).then_some(ConfigPresence::Absent(why)),
            (None, ConfigState::Unanswered | ConfigState::Faulty(_)) => None,
        };
        let of = &config.of;
        let key = config_key(&of.group, &of.resource, &config.namespace, &config.name);
        self.published.facts.configs.set(&Name::from(key), facts)
    }
}

/// Whether an upgrade has a work on a cluster, by what it tells: one that took too long is still looked at.
fn has_a_work(cluster: &UpgradeClusterStatus) -> bool {
    match &*cluster.state {
        "Initialized" | "Partial" => true,
        "Complete" => cluster.phase != "Done",
        "Failed" => *cluster.reason == Reason::UpgradeTimeout,
        _ => false,
    }
}

/// Gives a name a value, or takes it away; tells whether that changed anything.
fn set<T: PartialEq>(map: &mut Arc<BTreeMap<Name, Arc<T>>>, name: &Name, value: Option<Arc<T>>) -> bool {
    if map.get(name) == value.as_ref() {
        return false;
    }
    match value {
        Some(value) => Arc::make_mut(map).insert(name.clone(), value),
        None => Arc::make_mut(map).remove(name),
    };
    true
}

/// Replaces a value by another one, and returns whether they differ.
fn replaced<T: PartialEq>(known: &mut Arc<T>, now: T) -> bool {
    let differs = **known != now;
    if differs {
        *known = Arc::new(now);
    }
    differs
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Absence, ConfigLookup, Event, ObservedConfig, Settings, terms};
    use api::names::{conditions::PROGRESSING, labels};
    use model::{ConfigReference, RawReference};

    fn put(store: &mut Store, kind: Kind, namespace: &str, name: &str, mut object: Value) -> usize {
        let version = store.published.facts.clusters.len() + 1;
        let metadata = json!({"name": name, "namespace": namespace, "uid": name, "resourceVersion": version.to_string()});
        let given = object["metadata"].take();
        object["metadata"] = metadata;
        for (key, value) in given.as_object().into_iter().flatten() {
            object["metadata"][key] = value.clone();
        }
        let touched = store.apply(Event::Applied { kind, object }).len();
        assert!(store.faults().is_empty(), "{:?}", store.faults());
        touched
    }

    fn gone(store: &mut Store, kind: Kind, namespace: &str, name: &str) {
        let object = json!({"metadata": {"name": name, "namespace": namespace}});
        drop(store.apply(Event::Deleted { kind, object }));
    }

    fn published(store: &mut Store) -> Facts {
        store.publish(Completeness::all()).expect("there is news")
    }

    fn instance(store: &mut Store, cluster: &str, version: &str, (status, reason): (&str, &str)) {
        let condition = json!({"type": PROGRESSING, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let annotations = json!({(terms::INSTALLED_BY): "default/all"});
        let object = json!({"metadata": {"annotations": annotations}, "spec": {},
            "status": {"currentVersion": version, "conditions": [condition]}});
        put(store, Kind::Instance, cluster, "hello", object);
    }

    #[test]
    fn the_types_that_any_instance_declares_are_known_until_the_last_one_goes() {
        fn declares(store: &mut Store, cluster: &str, resources: &[&str]) {
            let types = resources
                .iter()
                .map(|resource| json!({"group": "example.com", "resource": resource}));
            let object = json!({"spec": {}, "status": {"supportedConfigs": types.collect::<Vec<_>>()}});
            put(store, Kind::Instance, cluster, "hello", object);
        }
        let known = |facts: &Facts| -> Vec<String> {
            let types = facts.declared_types("hello").into_iter().flatten();
            types.map(|of| of.resource().to_owned()).collect()
        };
        let mut store = Store::new(Settings::default());
        declares(&mut store, "c1", &["ones"]);
        declares(&mut store, "c2", &["ones", "twos"]);
        assert_eq!(known(&published(&mut store)), ["ones", "twos"]);
        declares(&mut store, "c2", &["ones"]);
        assert_eq!(known(&published(&mut store)), ["ones"]);
        gone(&mut store, Kind::Instance, "c1", "hello");
        assert_eq!(known(&published(&mut store)), ["ones"]);
        gone(&mut store, Kind::Instance, "c2", "hello");
        let facts = published(&mut store);
        assert!(facts.declared_types("hello").is_none());
    }

    #[test]
    fn peers_are_counted_as_they_come_change_and_go() {
        let mut store = Store::new(Settings::default());
        instance(&mut store, "c1", "v1", ("True", "Upgrading"));
        instance(&mut store, "c2", "v1", ("False", "UpgradeFailed"));
        instance(&mut store, "c3", "v2", ("False", "ConfigurationUnsupported"));
        instance(&mut store, "c4", "", ("False", "InstallSucceed"));
        let told = |facts: &Facts| {
            facts.peers("hello").map(|peers| {
                let versions: Vec<String> = peers
                    .by_version
                    .iter()
                    .map(|(version, count)| format!("{version}={count}"))
                    .collect();
                format!(
                    "{} clusters, {} progressing, {} failed, {}",
                    peers.clusters,
                    peers.progressing,
                    peers.failed,
                    versions.join(" ")
                )
            })
        };
        let facts = published(&mut store);
        assert_eq!(
            told(&facts).as_deref(),
            Some("4 clusters, 1 progressing, 2 failed, v1=2 v2=1")
        );
        let mark = facts.peers("hello").and_then(|peers| peers.instances.get("c1"));
        assert_eq!(mark.map(|peer| &*peer.installed_by), Some("default/all"));
        instance(&mut store, "c1", "v2", ("False", "UpgradeSucceed"));
        gone(&mut store, Kind::Instance, "c2", "hello");
        let facts = published(&mut store);
        assert_eq!(
            told(&facts).as_deref(),
            Some("3 clusters, 0 progressing, 1 failed, v2=2")
        );
        for cluster in ["c1", "c3", "c4"] {
            gone(&mut store, Kind::Instance, cluster, "hello");
        }
        assert_eq!(told(&published(&mut store)), None);
        assert!(store.published.peers.is_empty());
    }

    #[test]
    fn a_placement_is_known_with_its_clusters_and_groups() {
        let mut store = Store::new(Settings::default());
        put(&mut store, Kind::Placement, "default", "all", json!({"spec": {}}));
        let facts = published(&mut store);
        let placement = facts.placement("default", "all").expect("it is there");
        assert_eq!((placement.exists, placement.decided), (true, false));
        for (name, index, group, clusters) in [
            ("all-1", "0", "canary", vec!["c1", "c2"]),
            ("all-2", "1", "", vec!["c3"]),
            ("all-3", "0", "canary", vec!["c4"]),
        ] {
            let of = json!({(labels::PLACEMENT): "all", (labels::DECISION_GROUP_INDEX): index,
                (labels::DECISION_GROUP_NAME): group});
            let decisions: Vec<Value> = clusters
                .iter()
                .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
                .collect();
            let object = json!({"metadata": {"labels": of}, "status": {"decisions": decisions}});
            put(&mut store, Kind::Decision, "default", name, object);
        }
        let facts = published(&mut store);
        let placement = facts.placement("default", "all").expect("it is there");
        let groups: Vec<(u32, &str, usize)> = placement
            .groups
            .iter()
            .map(|group| (group.index, &*group.name, group.clusters.len()))
            .collect();
        assert_eq!(groups, [(0, "canary", 3), (1, "", 1)]);
        assert!(placement.decided && facts.selects("default", "all", "c4"));
        gone(&mut store, Kind::Placement, "default", "all");
        let facts = published(&mut store);
        let placement = facts.placement("default", "all").expect("decisions are left");
        assert_eq!((placement.exists, placement.clusters.len()), (false, 4));
        for name in ["all-1", "all-2", "all-3"] {
            gone(&mut store, Kind::Decision, "default", name);
        }
        assert_eq!(published(&mut store).placement("default", "all"), None);
    }

    #[test]
    fn facts_that_only_admission_reads_touch_no_plan() {
        let mut store = Store::new(Settings::default());
        let strategy = json!({"type": "ClusterLabelSelector", "labelSelector": {}});
        put(
            &mut store,
            Kind::AddOn,
            "",
            "hello",
            json!({"spec": {"installStrategy": strategy}}),
        );
        let cluster = |claim: &str| json!({"spec": {}, "status": {"clusterClaims": [{"name": "region", "value": claim}]}});
        assert_eq!(put(&mut store, Kind::Cluster, "", "c1", cluster("east")), 1);
        let region = |facts: &Facts| {
            facts
                .cluster("c1")
                .and_then(|cluster| cluster.claims.get("region").cloned())
        };
        assert_eq!(region(&published(&mut store)).as_deref(), Some("east"));
        assert_eq!(put(&mut store, Kind::Cluster, "", "c1", cluster("west")), 0);
        assert_eq!(region(&published(&mut store)).as_deref(), Some("west"));
        gone(&mut store, Kind::Cluster, "", "c1");
        assert!(published(&mut store).cluster("c1").is_none());
    }

    #[test]
    fn configurations_of_any_kind_are_there_absent_or_unknown() {
        let mut store = Store::new(Settings::default());
        let group = "addon.open-cluster-management.io";
        let configs = json!([{"group": "", "resource": "configmaps", "namespace": "n", "name": "s"}]);
        put(
            &mut store,
            Kind::AddOn,
            "",
            "hello",
            json!({"spec": {"configuration": {"configs": configs}}}),
        );
        put(&mut store, Kind::DeploymentConfig, "n", "d", json!({"spec": {}}));
        let config = |facts: &Facts, group, resource, name| {
            let raw = RawReference {
                group: Some(group),
                resource: Some(resource),
                namespace: Some("n"),
                name: Some(name),
            };
            let reference = ConfigReference::parse(raw, &kubernetes::field::Path::root());
            facts.config(&reference.expect("a whole reference"))
        };
        let facts = published(&mut store);
        let deployment = config(&facts, group, "addondeploymentconfigs", "d");
        assert!(matches!(&deployment, ConfigPresence::Exists(found) if found.content.is_some()));
        let missing = config(&facts, group, "addondeploymentconfigs", "e");
        assert_eq!(missing, ConfigPresence::Absent(Absence::Missing));
        assert_eq!(config(&facts, "", "configmaps", "s"), ConfigPresence::Unknown);
        let watch_list = store.take_watch_list().expect("a secret to look at");
        let secret = watch_list.begin.first().expect("the secret").clone();
        let mut answer = |answer| {
            let config = secret.clone();
            drop(store.apply(Event::Answered { config, answer }));
            published(&mut store)
        };
        let seen = ObservedConfig::of(&json!({"data": {"k": "c2VjcmV0"}}));
        let facts = answer(ConfigLookup::Exists(seen.clone()));
        let expected = ConfigFacts {
            hash: seen.hash,
            version: None,
            content: None,
        };
        assert_eq!(
            config(&facts, "", "configmaps", "s"),
            ConfigPresence::Exists(expected)
        );
        let facts = answer(ConfigLookup::Absent(Absence::Missing));
        assert_eq!(
            config(&facts, "", "configmaps", "s"),
            ConfigPresence::Absent(Absence::Missing)
        );
        put(&mut store, Kind::AddOn, "", "hello", json!({"spec": {}}));
        assert!(store.take_watch_list().is_some());
        let facts = published(&mut store);
        assert_eq!(config(&facts, "", "configmaps", "s"), ConfigPresence::Unknown);
        assert!(
            store.publish(Completeness::all()).is_none(),
            "nothing has changed"
        );
    }

    #[test]
    fn a_kind_stays_complete_once_it_was_listed() {
        let mut store = Store::new(Settings::default());
        let facts = store
            .publish(Completeness::of([Kind::AddOn]))
            .expect("that is news");
        assert!(facts.knows(Kind::AddOn) && !facts.knows(Kind::Cluster));
        assert!(store.publish(Completeness::NONE).is_none());
        let facts = store
            .publish(Completeness::of([Kind::Cluster]))
            .expect("that is news");
        assert!(facts.knows(Kind::AddOn) && facts.knows(Kind::Cluster));
    }
}
