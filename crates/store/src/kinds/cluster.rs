//! `ManagedCluster`: labels that select, conditions that hold, annotations that are copied.
//!
//! Decides which add-ons a change of a cluster touches.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::stored::Stored;
use crate::copied::record_of;
use crate::decode::read::{annotation, meta, parse, shared, travelling};
use crate::decode::status::status_of;
use crate::facts::ClusterFacts;
use crate::kind::Owner;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::names::LabelMap;
use crate::names::Names;
use crate::parts::objects::replace;
use crate::record::{self, AddOn, Config, Content, InstallStrategy, Meta, Status};
use crate::store::Store;
use crate::terms;
use crate::tombstones::same_besides_features;
use api::cluster::ManagedCluster;
use api::names::annotations::IMAGE_REGISTRIES;
use api::names::conditions::CLUSTER_AVAILABLE;
use model::Name;

/// The longest annotation in bytes that a template may use.
const LONGEST_VALUE: usize = 4096;
/// What `kubectl apply` keeps for itself.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The row of the kind.
pub(crate) struct Cluster;

impl Stored for Cluster {
    type Record = record::Cluster;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        decode(&parse(object)?, &mut store.names)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let mut own = Touched::new();
        let name = store.names.share(&key.name);
        store.tombstones.clusters.remove(&name);
        let mut slot = store.objects.clusters.remove(&name);
        let mut selecting: Vec<Owner> = store.selecting(&record).collect();
        selecting.extend(slot.iter().flat_map(|old| store.selecting(old)));
        store.file_features(&key.name, slot.as_ref(), Some(&record), &mut own);
        let is_asked_for = slot.as_ref().is_some_and(|old| store.is_asked_for(old, &record));
        if let Some(old) = slot.as_mut().filter(|old| old.labels != record.labels) {
            own.extend(selecting.iter().cloned());
            if same_besides_features(old, &record) {
                // Telling which add-ons it has concerns those that it tells of, and those that select by it.
                old.labels.clone_from(&record.labels);
            }
        }
        if slot.as_ref().is_none_or(|old| old.facts != record.facts) {
            store.published.cluster_changed(&key.name);
        }
        if let Some(old) = &mut slot {
            // What only admission asks about touches no plan, nor do words of a cluster that no template uses.
            old.facts = Arc::clone(&record.facts);
            old.said.clone_from(&record.said);
        }
        if slot.is_none() {
            store.touch_bindings(&key.name, touched);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        store.objects.clusters.extend(slot.map(|record| (name, record)));
        store.cluster_changed_for_upgrades(&key.name, touched);
        if differs || is_asked_for {
            store.touch_cluster(&key.name, &mut own);
            own.extend(selecting);
        }
        store.attribute(&key.name, own, touched);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.objects.clusters.get(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.objects.clusters.keys();
        names
            .map(|name| ObjectKey::new(Kind::Cluster, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let Some(old) = store.objects.clusters.remove(&key.name) else {
            return;
        };
        store.depart(&key.name);
        store.cluster_changed_for_upgrades(&key.name, touched);
        store.touch_bindings(&key.name, touched);
        store.published.cluster_changed(&key.name);
        let mut own = Touched::new();
        store.file_features(&key.name, Some(&old), None, &mut own);
        store.touch_cluster(&key.name, &mut own);
        own.extend(store.selecting(&old));
        store.attribute(&key.name, own, touched);
    }
}

fn decode(object: &ManagedCluster, names: &mut Names) -> Result<record::Cluster, String> {
    let mut stated = object.status.iter().flat_map(|status| &status.conditions);
    let stated = stated.find(|condition| condition.type_ == CLUSTER_AVAILABLE);
    let available = stated.map(|condition| status_of(&condition.status));
    let unknown = stated.filter(|_| available == Some(Status::Unknown));
    let annotations = travelling(&object.metadata, names);
    Ok(record::Cluster {
        meta: meta(&object.metadata)?,
        copied: names.share(&record_of(&annotations)),
        annotations,
        labels: LabelMap::share(object.metadata.labels.iter().flatten(), names),
        accepted: object.spec.hub_accepts_client == Some(true),
        opt_out: shared(annotation(&object.metadata, terms::OPT_OUT), names),
        available,
        unknown: unknown.map(|condition| (names.share(&condition.reason), names.share(&condition.message))),
        image_registries: shared(annotation(&object.metadata, IMAGE_REGISTRIES), names),
        said: usable(&object.metadata, names),
        facts: Arc::new(ClusterFacts::of(object, names)),
    })
}

/// A note that programs keep for themselves fits into no manifest, and thousands of clusters carry one.
fn usable(metadata: &ObjectMeta, names: &mut Names) -> LabelMap {
    let all = metadata.annotations.iter().flatten();
    LabelMap::share(
        all.filter(|(key, value)| value.len() <= LONGEST_VALUE && *key != LAST_APPLIED),
        names,
    )
}

impl Store {
    /// Tells whether a template asks for something that two states of a cluster say differently.
    fn is_asked_for(&self, one: &record::Cluster, other: &record::Cluster) -> bool {
        let is_same = one.labels == other.labels
            && one.said == other.said
            && (Arc::ptr_eq(&one.facts, &other.facts) || one.facts.claims == other.facts.claims);
        let mut contents = (self.objects.configs.values()).chain(self.tombstones.content.values());
        let asks = |config: &Config| match &*config.content {
            Content::Template(template) => {
                let mut keys = template.cluster_keys.iter();
                keys.any(|key| one.value(key) != other.value(key))
            }
            Content::Deployment(_) | Content::Hub => false,
        };
        !is_same && contents.any(asks)
    }

    /// Returns the add-ons whose label selector matches a cluster.
    fn selecting(&self, cluster: &record::Cluster) -> impl Iterator<Item = Owner> {
        let selects = |addon: &&AddOn| match &addon.strategy {
            InstallStrategy::Labels(Some(selector)) => cluster.is_matched_by(selector),
            InstallStrategy::Labels(None)
            | InstallStrategy::Manual
            | InstallStrategy::Placements
            | InstallStrategy::BadLabels(_)
            | InstallStrategy::Other(_) => false,
        };
        self.objects
            .addons
            .values()
            .filter(selects)
            .map(|addon| Owner::addon(&addon.name))
    }

    /// What an event about a cluster touches, it touches because of this cluster.
    fn attribute(&mut self, cluster: &Name, mut own: Touched, touched: &mut Touched) {
        for owner in &own {
            self.changes.of_cluster(owner, cluster);
        }
        touched.append(&mut own);
    }

    fn touch_cluster(&self, cluster: &Name, touched: &mut Touched) {
        touched.extend(self.indexes.by_cluster.of(cluster).map(Owner::addon));
        for place in self.indexes.placements_by_cluster.of(cluster) {
            touched.extend(self.indexes.by_placement.of(place).cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Settings};
    use serde_json::json;

    fn apply(store: &mut Store, kind: Kind, mut object: Value, version: u8) -> Vec<String> {
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let touched = store.apply(Event::Applied { kind, object });
        touched.iter().map(|owner| owner.name.to_string()).collect()
    }

    fn cluster(store: &mut Store, version: u8, annotation: (&str, &str), claim: (&str, &str)) -> Vec<String> {
        let object = json!({"metadata": {"name": "c1", "annotations": {annotation.0: annotation.1}},
            "status": {"clusterClaims": [{"name": claim.0, "value": claim.1}]}});
        apply(store, Kind::Cluster, object, version)
    }

    #[test]
    fn what_a_cluster_says_touches_its_add_ons_if_a_template_asks_for_it() {
        let mut store = Store::new(Settings::default());
        let text = "{{CLUSTER_CLAIM:id}} {{CLUSTER_ANNOTATION:owner:-x}}";
        let spec =
            json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": [{"data": {"a": text}}]}}});
        apply(
            &mut store,
            Kind::Template,
            json!({"metadata": {"name": "t"}, "spec": spec}),
            1,
        );
        let instance = json!({"metadata": {"name": "hello", "namespace": "c1"}});
        apply(&mut store, Kind::Instance, instance, 1);
        cluster(&mut store, 1, ("owner", "a"), ("id", "1"));
        let none: [String; 0] = [];
        assert_eq!(cluster(&mut store, 2, ("owner", "b"), ("id", "1")), ["hello"]);
        assert_eq!(cluster(&mut store, 3, ("owner", "b"), ("id", "2")), ["hello"]);
        assert_eq!(cluster(&mut store, 4, ("owner", "b"), ("id", "2")), none);
        assert_eq!(
            cluster(&mut store, 5, ("other", "b"), ("id", "2")),
            ["hello"],
            "the claim was removed"
        );
        assert_eq!(cluster(&mut store, 6, ("other", "c"), ("id", "2")), none);
        let long = "x".repeat(LONGEST_VALUE + 1);
        assert_eq!(
            cluster(&mut store, 7, ("owner", &long), ("id", "2")),
            none,
            "a value that is too long is not stored"
        );
    }
}
