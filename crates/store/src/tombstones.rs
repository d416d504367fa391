//! What the store keeps of deleted objects while other objects still refer to them: add-ons without their object, content that
//! instances still have, and the labels that list the add-ons of clusters.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::kind::Kind;
use super::kind::Owner;
use super::kind::Touched;
use super::record::{
    AddOn, Cluster, Config, ConfigRef, Content, InstallStrategy, Instance, Lifecycle, Meta, Work,
};
use super::store::Store;
use super::terms;
use model::ConfigRollout;
use model::Name;

impl Store {
    /// Keeps an add-on whose object was deleted while instances, works, labels or grants of its name remain: plans for it
    /// see to their end.
    pub(super) fn bury(&mut self, touched: &Touched) {
        for owner in touched.iter().filter(|owner| owner.kind == Kind::AddOn) {
            let name = &owner.name;
            let remains = self
                .objects
                .instances
                .get(name)
                .is_some_and(|all| !all.is_empty())
                || self.objects.works.contains_key(name)
                || self.indexes.features.contains_key(name)
                || self.objects.grants.has(name);
            if self.objects.addons.contains_key(name) || !remains {
                self.tombstones.addons.remove(name);
                if !self.objects.addons.contains_key(name) {
                    self.changes.forget(owner);
                }
            } else if !self.tombstones.addons.contains_key(name) {
                self.tombstones.addons.insert(name.clone(), gone(name));
            }
        }
    }

    /// Files the labels of a cluster again; a label concerns only the add-on that it names.
    pub(super) fn file_features(
        &mut self,
        cluster: &Name,
        old: Option<&Cluster>,
        new: Option<&Cluster>,
        touched: &mut Touched,
    ) {
        let before: BTreeMap<&str, &Name> = old.into_iter().flat_map(features).collect();
        let after: BTreeMap<&str, &Name> = new.into_iter().flat_map(features).collect();
        for addon in before.keys().filter(|addon| !after.contains_key(*addon)) {
            touched.insert(Owner::addon(&Name::from(*addon)));
            let Some(clusters) = self.indexes.features.get_mut(*addon) else {
                continue;
            };
            clusters.remove(cluster);
            if clusters.is_empty() {
                self.indexes.features.remove(*addon);
            }
        }
        for (addon, value) in &after {
            if before.get(addon) != Some(value) {
                let addon = self.names.share(addon);
                touched.insert(Owner::addon(&addon));
                let clusters = self.indexes.features.entry(addon).or_default();
                clusters.insert(self.names.share(cluster), (*value).clone());
            }
        }
    }

    /// Keeps content that is edited or deleted while an instance still holds it: its hooks can only be made from it.
    pub(super) fn retire(&mut self, config: &ConfigRef, old: &Config) {
        match *old.content {
            Content::Template(_) | Content::Deployment(_) => {}
            Content::Hub => return,
        }
        self.tombstones
            .content
            .insert((config.clone(), old.hash.clone()), old.clone());
        self.forget_unused();
    }

    /// Drops the content that no instance holds any more.
    pub(super) fn forget_unused(&mut self) {
        if self.tombstones.content.is_empty() {
            return;
        }
        let (instances, works) = (&self.objects.instances, &self.objects.works);
        self.tombstones.content.retain(|(config, hash), _| {
            let holds = |instance: &Instance| {
                let mut references = instance.references.iter();
                references.any(|one| {
                    (one.config == *config && one.desired == *hash) || one.applied_as(config, hash)
                })
            };
            let mut all = instances.values().flat_map(BTreeMap::values);
            // Where nothing else remembers what a cluster has, the hashes of its works do.
            let carries = |work: &Work| !hash.is_empty() && work.hashes.contains(&**hash);
            all.any(|instance| holds(instance))
                || works
                    .values()
                    .flat_map(BTreeMap::values)
                    .flat_map(|works| &**works)
                    .any(carries)
        });
    }
}

/// The labels by which a cluster tells which add-ons it has: add-on and state.
fn features(cluster: &Cluster) -> impl Iterator<Item = (&str, &Name)> {
    let labels = cluster.labels.iter();
    labels.filter_map(|(key, value)| Some((key.strip_prefix(terms::FEATURE_PREFIX)?, value)))
}

/// Returns whether two states of a cluster have the same labels, those aside by which it tells which add-ons it has.
pub(super) fn same_besides_features(one: &Cluster, other: &Cluster) -> bool {
    let others = |cluster: &'_ Cluster| -> Vec<(Name, Name)> {
        let labels = cluster.labels.iter();
        let others = labels.filter(|(key, _)| !key.starts_with(terms::FEATURE_PREFIX));
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    others(one) == others(other)
}

/// An add-on of which only the name is known.
fn gone(name: &Name) -> AddOn {
    let empty = Name::from("");
    AddOn {
        meta: Meta {
            uid: empty.clone(),
            version: empty.clone(),
            generation: 0,
            deleting: true,
        },
        name: name.clone(),
        managed: true,
        lifecycle: Lifecycle::Managed,
        conditions: Vec::new(),
        supported: Vec::new(),
        configuration: Vec::new(),
        configuration_rollout: Ok(ConfigRollout::UpdateAll),
        outdated: None,
        removals_until: None,
        strategy: InstallStrategy::Manual,
        placements: Vec::new(),
        observed: None,
        defaults: Vec::new(),
        progressions: None,
        supported_versions: Vec::new(),
        default_version: empty,
        facts: Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{ConfigType, Event, Settings};

    fn event(store: &mut Store, kind: Kind, mut object: Value) {
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!("1");
        store.apply(Event::Applied { kind, object });
    }

    fn gone(store: &mut Store, kind: Kind, namespace: &str, name: &str) {
        let object = json!({"metadata": {"name": name, "namespace": namespace}});
        store.apply(Event::Deleted { kind, object });
    }

    fn is_mourned(store: &Store) -> bool {
        store.view("hello").is_some_and(|view| view.addon.meta.deleting)
    }

    #[test]
    fn an_add_on_is_seen_to_until_its_last_instance_work_and_label_are_gone() {
        let mut store = Store::new(Settings::default());
        let label = "feature.open-cluster-management.io/addon-hello";
        event(
            &mut store,
            Kind::AddOn,
            json!({"metadata": {"name": "hello"}, "spec": {}}),
        );
        event(
            &mut store,
            Kind::Cluster,
            json!({"metadata": {"name": "c1", "labels": {(label): "available"}}}),
        );
        event(
            &mut store,
            Kind::Instance,
            json!({"metadata": {"name": "hello", "namespace": "c1"}, "spec": {}}),
        );
        let labels = json!({"open-cluster-management.io/addon-name": "hello"});
        let work = json!({"metadata": {"name": "w", "namespace": "c1", "labels": labels}, "spec": {}});
        event(&mut store, Kind::Work, work);
        assert!(!is_mourned(&store), "it is there");
        gone(&mut store, Kind::AddOn, "", "hello");
        assert!(is_mourned(&store));
        gone(&mut store, Kind::Instance, "c1", "hello");
        gone(&mut store, Kind::Work, "c1", "w");
        assert!(is_mourned(&store), "the label is left");
        event(&mut store, Kind::Cluster, json!({"metadata": {"name": "c1"}}));
        assert!(store.view("hello").is_none());
        assert!(store.tombstones.addons.is_empty() && store.indexes.features.is_empty());
    }

    #[test]
    fn content_without_references_is_dropped() {
        let mut store = Store::new(Settings::default());
        let template = |text: &str| json!({"metadata": {"name": "t"}, "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [{"kind": text}]}}}});
        event(&mut store, Kind::Template, template("A"));
        let hash = |store: &Store| {
            store
                .objects
                .configs
                .values()
                .next()
                .map(|found| found.hash.clone())
        };
        let first = hash(&store).expect("a hash");
        let reference = json!({"group": "addon.open-cluster-management.io", "resource": "addontemplates", "name": "t",
            "desiredConfig": {"name": "t", "specHash": &*first}});
        let instance = json!({"metadata": {"name": "hello", "namespace": "c1"}, "spec": {}, "status": {"configReferences": [reference]}});
        event(&mut store, Kind::Instance, instance);
        event(&mut store, Kind::Template, template("B"));
        gone(&mut store, Kind::Template, "", "t");
        let config = ConfigRef {
            of: ConfigType {
                group: "addon.open-cluster-management.io".into(),
                resource: "addontemplates".into(),
            },
            namespace: "".into(),
            name: "t".into(),
        };
        let view = store.view("hello").expect("an instance is enough");
        assert!(
            view.last_content(&config, &first).is_some(),
            "an instance holds it"
        );
        assert_eq!(store.tombstones.content.len(), 1, "no instance had the second");
        gone(&mut store, Kind::Instance, "c1", "hello");
        assert!(store.tombstones.content.is_empty());
    }
}
