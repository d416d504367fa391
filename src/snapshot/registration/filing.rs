//! Filing what registration needs: grants and certificate signing requests, by add-on.
//!
//! Decides which add-on an event touches. Never decides what should change.

use std::collections::BTreeMap;

use crate::snapshot::kind::Owner;
use crate::snapshot::kind::{Kind, ObjectKey};
use crate::snapshot::kinds::slot::replace;
use crate::snapshot::names::Name;
use crate::snapshot::record::Meta;
use crate::snapshot::registration::grants::Grant;
use crate::snapshot::registration::requests::Request;
use crate::snapshot::store::{Store, Touched};
use crate::snapshot::view::View;

/// Records by add-on, each found again by a key of its own.
#[derive(Debug)]
pub(in crate::snapshot) struct Filed<K, R> {
    by_addon: BTreeMap<Name, BTreeMap<K, R>>,
    places: BTreeMap<K, Name>,
}

/// A record that is about one cluster.
pub(in crate::snapshot) trait OfCluster: PartialEq {
    /// Identity and revision.
    fn meta(&mut self) -> &mut Meta;
    /// The cluster.
    fn cluster(&self) -> &Name;
}

/// An add-on and a cluster that something has happened to.
type Happened = (Name, Name);

impl<K, R> Default for Filed<K, R> {
    fn default() -> Self {
        Self {
            by_addon: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, R: OfCluster> Filed<K, R> {
    /// Returns the keys of all records, in their order.
    pub(in crate::snapshot) fn keys(&self) -> impl Iterator<Item = &K> {
        self.places.keys()
    }

    /// Tells whether an add-on has any record.
    pub(in crate::snapshot) fn has(&self, addon: &Name) -> bool {
        self.by_addon.contains_key(addon)
    }

    fn insert(&mut self, key: &K, addon: Name, record: R) -> Vec<Happened> {
        let mut happened = Vec::new();
        if self.places.get(key).is_some_and(|filed| *filed != addon) {
            happened.extend(self.remove(key));
        }
        let filed = self.by_addon.entry(addon.clone()).or_default();
        let mut slot = filed.remove(key);
        let before = slot.as_ref().map(|old| old.cluster().clone());
        let cluster = record.cluster().clone();
        if replace(&mut slot, record, R::meta) {
            let clusters = before.into_iter().chain([cluster]);
            happened.extend(clusters.map(|cluster| (addon.clone(), cluster)));
        }
        filed.extend(slot.map(|record| (key.clone(), record)));
        self.places.insert(key.clone(), addon);
        happened
    }

    fn remove(&mut self, key: &K) -> Option<Happened> {
        let addon = self.places.remove(key)?;
        let filed = self.by_addon.get_mut(&addon)?;
        let old = filed.remove(key);
        if filed.is_empty() {
            self.by_addon.remove(&addon);
        }
        old.map(|old| (addon, old.cluster().clone()))
    }

    fn of(&self, addon: &Name) -> Option<&BTreeMap<K, R>> {
        self.by_addon.get(addon)
    }

    fn at(&self, key: &K) -> Option<&R> {
        self.of(self.places.get(key)?)?.get(key)
    }
}

impl OfCluster for Grant {
    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn cluster(&self) -> &Name {
        &self.cluster
    }
}

impl OfCluster for Request {
    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn cluster(&self) -> &Name {
        &self.cluster
    }
}

impl Store {
    pub(in crate::snapshot) fn insert_grant(
        &mut self,
        key: &ObjectKey,
        addon: Name,
        record: Grant,
        touched: &mut Touched,
    ) {
        let happened = self.grants.insert(key, addon, record);
        self.note(happened, touched);
    }

    pub(in crate::snapshot) fn remove_grant(&mut self, key: &ObjectKey, touched: &mut Touched) {
        let happened = self.grants.remove(key);
        self.note(happened, touched);
    }

    pub(in crate::snapshot) fn insert_request(
        &mut self,
        addon: Name,
        record: Request,
        touched: &mut Touched,
    ) {
        let happened = self.requests.insert(&record.name.clone(), addon, record);
        self.note(happened, touched);
    }

    pub(in crate::snapshot) fn remove_request(&mut self, name: &Name, touched: &mut Touched) {
        let happened = self.requests.remove(name);
        self.note(happened, touched);
    }

    /// Touches the instances that have role bindings in a namespace that begins or ceases to be a cluster's: whose it is decides
    /// whether they may be there.
    pub(in crate::snapshot) fn touch_bindings(&mut self, namespace: &Name, touched: &mut Touched) {
        let first = ObjectKey::new(Kind::RoleBinding, namespace.clone(), "");
        let inside = self.grants.places.range(first..);
        let inside =
            inside.take_while(|(key, _)| key.kind == Kind::RoleBinding && key.namespace == *namespace);
        let happened: Vec<Happened> = inside
            .filter_map(|(key, addon)| Some((addon.clone(), self.grants.at(key)?.cluster.clone())))
            .collect();
        self.note(happened, touched);
    }

    fn note(&mut self, happened: impl IntoIterator<Item = Happened>, touched: &mut Touched) {
        for (addon, cluster) in happened {
            let owner = Owner::addon(&addon);
            self.changes.of_cluster(&owner, &cluster);
            touched.insert(owner);
        }
    }

    pub(in crate::snapshot) fn grant(&self, key: &ObjectKey) -> Option<&Grant> {
        self.grants.at(key)
    }

    pub(in crate::snapshot) fn request(&self, name: &Name) -> Option<&Request> {
        self.requests.at(name)
    }
}

impl<'s> View<'s> {
    /// Returns the add-on's grants in order of their keys.
    pub fn grants(&self) -> impl Iterator<Item = (&'s ObjectKey, &'s Grant)> + use<'s> {
        let filed = self.store.grants.of(&self.addon.name);
        filed.into_iter().flat_map(BTreeMap::iter)
    }

    /// Returns one of the add-on's grants.
    pub fn grant(&self, key: &ObjectKey) -> Option<&'s Grant> {
        self.store.grants.of(&self.addon.name)?.get(key)
    }

    /// Returns the add-on's certificate signing requests in order of their names.
    pub fn requests(&self) -> impl Iterator<Item = &'s Request> + use<'s> {
        let filed = self.store.requests.of(&self.addon.name);
        filed.into_iter().flat_map(BTreeMap::values)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::api::names::labels;
    use crate::snapshot::{Event, Settings, terms};

    #[test]
    fn a_namespace_that_becomes_a_clusters_touches_whoever_has_bindings_there() {
        let mut store = Store::new(Settings::default());
        let objects =
            |name: &str| json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": {}});
        for name in ["hello", "hell", "other"] {
            store.apply(Event::Applied {
                kind: Kind::AddOn,
                object: objects(name),
            });
            let of = json!({(labels::TOKEN_ADDON_NAME): name, (terms::PERMISSION): "x", (terms::CLUSTER_NAME): "c1"});
            let metadata =
                json!({"name": name, "namespace": name, "uid": name, "resourceVersion": "1", "labels": of});
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"});
            store.apply(Event::Applied {
                kind: Kind::RoleBinding,
                object: json!({"metadata": metadata, "roleRef": role, "subjects": []}),
            });
        }
        let before = store.view("hello").expect("it is there").last_change();
        let kind = Kind::Cluster;
        for event in [
            Event::Applied {
                kind,
                object: objects("hello"),
            },
            Event::Deleted {
                kind,
                object: objects("hello"),
            },
        ] {
            let before = store.view("hello").expect("it is there").last_change();
            assert_eq!(
                store.apply(event),
                BTreeSet::from([Owner::addon(&"hello".into())])
            );
            let changed = store.view("hello").expect("it is there").changed_since(before);
            assert_eq!(changed, Some(BTreeSet::from(["c1".into()])));
        }
        let of_others = store.view("hell").expect("it is there").changed_since(before);
        assert_eq!(of_others, Some(BTreeSet::new()));
    }
}
