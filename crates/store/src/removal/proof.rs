//! What the objects that are there prove about objects that no list has shown: an instance lives on a cluster, a work belongs to
//! an instance, an add-on names a placement.
//!
//! Decides whose absence must be looked into before anything is concluded from it, and how far the absence of clusters can be
//! believed. Never looks itself: the controllers read one object after the other and tell what they found.

use std::collections::BTreeSet;

use crate::kind::{Kind, ObjectKey};
use crate::kinds::decision::Placement;
use crate::kinds::namespace::Namespace;
use crate::parts::config_watch::{Absence, absence};
use crate::record::ConfigRef;
use crate::store::Store;
use crate::terms;
use crate::view::View;
use model::Name;
use model::Percent;

/// So many of the clusters in which add-ons live may be absent before the absences are doubted as a whole.
const FEW: Percent = const { Percent::new(10).expect("ten is at most a hundred") };

/// How many of the clusters in which add-ons live are absent, although they were not seen to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absences {
    /// How many are absent and were not seen to go.
    pub absent: usize,
    /// In how many clusters add-ons live.
    pub all: usize,
}

impl Absences {
    /// Returns whether so many are absent that something else must be wrong: a list, or a restore that is not done.
    pub fn are_doubtful(self) -> bool {
        self.absent > FEW.of(self.all)
    }
}

impl Store {
    /// Returns the objects that must be there, by what is known of others, and that no list has shown.
    pub fn unproven(&self) -> BTreeSet<ObjectKey> {
        let absent = self.living_places().filter(|cluster| self.is_unseen(cluster));
        let clusters = absent.map(|cluster| ObjectKey::new(Kind::Cluster, "", cluster.clone()));
        let addons = self.tombstones.addons.keys();
        let addons = addons.map(|name| ObjectKey::new(Kind::AddOn, "", name.clone()));
        let placements = self
            .indexes
            .by_placement
            .keys()
            .filter(|place| self.kept.get::<Placement>(place).is_none());
        let placements = placements
            .map(|(namespace, name)| ObjectKey::new(Kind::Placement, namespace.clone(), name.clone()));
        let configs = self
            .indexes
            .by_config
            .keys()
            .filter(|config| !self.objects.configs.contains_key(*config));
        let all = clusters
            .chain(addons)
            .chain(placements)
            .chain(configs.filter_map(key_of));
        all.chain(self.absent_instances()).filter(is_plain).collect()
    }

    /// Returns whether a placement is not decided as a whole: a list of decisions may have left some out.
    pub fn is_undecided(&self) -> bool {
        let mut used = self.indexes.by_placement.keys();
        used.any(|place| {
            let placement = self.kept.get::<Placement>(place);
            let counted = placement.and_then(|placement| placement.selected);
            let decisions = self.objects.decisions.get(place).into_iter().flatten();
            let named: usize = decisions.map(|(_, decision)| decision.clusters.len()).sum();
            counted.is_some_and(|counted| i64::try_from(named).is_ok_and(|named| named < counted))
        })
    }

    /// Returns the objects of a kind that are known and that a list does not show.
    pub fn missing(&self, kind: Kind, listed: &BTreeSet<ObjectKey>) -> Vec<ObjectKey> {
        let known = self.keys(kind).into_iter();
        known.filter(|key| !listed.contains(key)).collect()
    }

    /// Returns how many clusters are absent in which add-ons live.
    pub fn absences(&self) -> Absences {
        Absences {
            absent: self
                .living_places()
                .filter(|cluster| self.is_unseen(cluster))
                .count(),
            all: self.living_places().count(),
        }
    }

    /// Returns the objects that say on which clusters an add-on should be, the clusters aside.
    pub fn reasons(&self, addon: &Name) -> BTreeSet<ObjectKey> {
        let mut reasons = BTreeSet::from([ObjectKey::new(Kind::AddOn, "", addon.clone())]);
        let found = self.objects.addons.get(addon);
        for used in found.into_iter().flat_map(|addon| &addon.placements) {
            reasons.insert(ObjectKey::new(
                Kind::Placement,
                used.namespace.clone(),
                used.name.clone(),
            ));
            let decisions = self
                .objects
                .decisions
                .get(&(used.namespace.clone(), used.name.clone()));
            let decisions = decisions.into_iter().flat_map(|filed| filed.keys());
            reasons.extend(
                decisions.map(|name| ObjectKey::new(Kind::Decision, used.namespace.clone(), name.clone())),
            );
        }
        reasons.retain(is_plain);
        reasons
    }

    /// Remembers that a cluster was seen to go for as long as anything stands for it.
    pub(crate) fn depart(&mut self, cluster: &Name) {
        let alive = &self.indexes.by_cluster;
        self.tombstones
            .clusters
            .retain(|one| alive.of(one).next().is_some());
        self.tombstones.clusters.insert(cluster.clone());
    }

    /// The clusters in which add-ons live.
    fn living_places(&self) -> impl Iterator<Item = &Name> {
        self.indexes.by_cluster.keys()
    }

    fn is_unseen(&self, cluster: &Name) -> bool {
        !self.objects.clusters.contains_key(cluster) && !self.is_seen_gone(cluster)
    }

    fn is_seen_gone(&self, cluster: &Name) -> bool {
        let namespace = self.kept.get::<Namespace>(&(Name::default(), cluster.clone()));
        self.tombstones.clusters.contains(cluster)
            || namespace.is_some_and(|namespace| namespace.meta.deleting)
    }

    /// Works and labels of clusters tell of instances.
    fn absent_instances(&self) -> impl Iterator<Item = ObjectKey> {
        let works = self
            .objects
            .works
            .iter()
            .flat_map(|(addon, all)| all.keys().map(move |cluster| (addon, cluster)));
        let labels = self
            .indexes
            .features
            .iter()
            .flat_map(|(addon, all)| all.keys().map(move |cluster| (addon, cluster)));
        let told = works.chain(labels);
        let absent = told.filter(|(addon, cluster)| {
            let all = self.objects.instances.get(*addon);
            all.is_none_or(|all| !all.contains_key(*cluster))
        });
        absent.map(|(addon, cluster)| ObjectKey::new(Kind::Instance, cluster.clone(), addon.clone()))
    }
}

/// The object of a reference, if the store reads its kind and there can be one.
fn key_of(config: &ConfigRef) -> Option<ObjectKey> {
    let kind = Kind::of_config(&config.of.group, &config.of.resource).filter(|kind| kind.must_exist())?;
    let can_be = absence(config, kind.address().namespaced) == Absence::Missing;
    let is_named = !config.name.is_empty() && *config.name != *terms::NO_DEFAULT;
    (can_be && is_named).then(|| ObjectKey::new(kind, config.namespace.clone(), config.name.clone()))
}

/// Names come from users and end in a path; what no object can be called need not be asked for.
fn is_plain(key: &ObjectKey) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    [&key.namespace, &key.name]
        .into_iter()
        .all(|text| text.chars().all(is_plain) && !matches!(&**text, "." | ".."))
}

impl View<'_> {
    /// Returns whether a cluster that is absent was seen to go, or its namespace goes.
    pub fn is_seen_gone(&self, cluster: &Name) -> bool {
        self.store.is_seen_gone(cluster)
    }

    /// Returns how many clusters are absent in which add-ons live, those of other add-ons included.
    pub fn absences(&self) -> Absences {
        self.store.absences()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Event, Settings};

    fn put(store: &mut Store, kind: Kind, namespace: &str, name: &str, mut object: Value) {
        let labels = object["labels"].take();
        object["metadata"] =
            json!({"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"});
        object["metadata"]["labels"] = labels;
        store.apply(Event::Applied { kind, object });
    }

    fn told(store: &Store) -> String {
        let keys: Vec<String> = store.unproven().iter().map(ToString::to_string).collect();
        keys.join(", ")
    }

    #[test]
    fn what_others_stand_for_must_be_looked_for() {
        let mut store = Store::new(Settings::default());
        put(&mut store, Kind::Instance, "c1", "hello", json!({"spec": {}}));
        assert_eq!(told(&store), "ManagedCluster c1, ClusterManagementAddOn hello");
        let strategy = json!({"type": "Placements", "placements": [{"name": "all", "namespace": "n"}, {"name": "../x", "namespace": "n"}]});
        let of = "addon.open-cluster-management.io";
        let configs = json!([{"group": of, "resource": "addontemplates", "name": "t"},
            {"group": of, "resource": "addontemplates", "namespace": "wrong", "name": "u"},
            {"group": "", "resource": "configmaps", "namespace": "n", "name": "m"}]);
        let spec = json!({"installStrategy": strategy, "configuration": {"configs": configs}});
        put(&mut store, Kind::AddOn, "", "hello", json!({"spec": spec}));
        put(&mut store, Kind::Cluster, "", "c1", json!({"spec": {}}));
        assert_eq!(told(&store), "Placement n/all, AddOnTemplate t");
        let label = json!({"feature.open-cluster-management.io/addon-hello": "available"});
        put(
            &mut store,
            Kind::Cluster,
            "",
            "c2",
            json!({"spec": {}, "labels": label}),
        );
        let label = json!({"open-cluster-management.io/addon-name": "hello"});
        put(
            &mut store,
            Kind::Work,
            "c3",
            "addon-hello-deploy-0",
            json!({"spec": {}, "labels": label}),
        );
        assert_eq!(
            told(&store),
            "Placement n/all, AddOnTemplate t, ManagedClusterAddOn c2/hello, ManagedClusterAddOn c3/hello"
        );
    }

    fn is_seen_gone(store: &Store, cluster: &str) -> bool {
        store
            .view("hello")
            .expect("it is there")
            .is_seen_gone(&cluster.into())
    }

    /// Twenty clusters with the add-on, so many of which are absent.
    fn fleet(absent: usize) -> Store {
        let mut store = Store::new(Settings::default());
        put(&mut store, Kind::AddOn, "", "hello", json!({"spec": {}}));
        for number in 0..20 {
            put(
                &mut store,
                Kind::Instance,
                &format!("c{number}"),
                "hello",
                json!({"spec": {}}),
            );
            if number >= absent {
                put(
                    &mut store,
                    Kind::Cluster,
                    "",
                    &format!("c{number}"),
                    json!({"spec": {}}),
                );
            }
        }
        store
    }

    #[test]
    fn few_absences_are_possible_and_many_are_doubted() {
        for (absent, doubtful) in [(0, false), (2, false), (3, true), (20, true)] {
            let absences = fleet(absent).absences();
            assert_eq!(absences, Absences { absent, all: 20 });
            assert_eq!(absences.are_doubtful(), doubtful, "{absent}");
        }
    }

    #[test]
    fn a_cluster_that_was_seen_to_go_is_believed_to_be_gone_until_it_is_back() {
        let mut store = fleet(0);
        for number in 0..20 {
            let object = json!({"metadata": {"name": format!("c{number}")}});
            let kind = Kind::Cluster;
            store.apply(Event::Deleted { kind, object });
        }
        assert!(is_seen_gone(&store, "c0"));
        assert_eq!(store.absences().absent, 0);
        put(&mut store, Kind::Cluster, "", "c0", json!({"spec": {}}));
        assert!(!store.tombstones.clusters.contains("c0"));
    }

    #[test]
    fn a_namespace_that_goes_tells_of_its_cluster() {
        let mut store = fleet(20);
        let metadata = json!({"name": "c0", "uid": "c0", "resourceVersion": "2", "deletionTimestamp": "2030-01-01T00:00:00Z"});
        let kind = Kind::Namespace;
        store.apply(Event::Applied {
            kind,
            object: json!({"metadata": metadata}),
        });
        assert!(is_seen_gone(&store, "c0") && !is_seen_gone(&store, "c1"));
        assert_eq!(store.absences().absent, 19);
    }

    #[test]
    fn a_list_is_compared_with_what_is_known() {
        let store = fleet(0);
        let key = |number: u8| ObjectKey::new(Kind::Cluster, "", format!("c{number}"));
        let listed = (1..20).map(key).collect();
        assert_eq!(store.missing(Kind::Cluster, &listed), [key(0)]);
    }
}
