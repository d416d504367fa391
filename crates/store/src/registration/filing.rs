//! Filing what registration needs: grants and certificate signing requests, by add-on.
//!
//! Decides which add-on an event touches. Never decides what should change.

use std::collections::BTreeMap;

use crate::kind::Owner;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::parts::filed::{Happened, OfCluster};
use crate::record::Meta;
use crate::registration::grants::Grant;
use crate::registration::requests::Request;
use crate::store::Store;
use crate::view::View;
use model::Name;

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
    pub(crate) fn insert_grant(
        &mut self,
        key: &ObjectKey,
        addon: Name,
        record: Grant,
        touched: &mut Touched,
    ) {
        let happened = self.objects.grants.insert(key, addon, record);
        self.note(happened, touched);
    }

    pub(crate) fn remove_grant(&mut self, key: &ObjectKey, touched: &mut Touched) {
        let happened = self.objects.grants.remove(key);
        self.note(happened, touched);
    }

    pub(crate) fn insert_request(&mut self, addon: Name, record: Request, touched: &mut Touched) {
        let happened = self.objects.requests.insert(&record.name.clone(), addon, record);
        self.note(happened, touched);
    }

    pub(crate) fn remove_request(&mut self, name: &Name, touched: &mut Touched) {
        let happened = self.objects.requests.remove(name);
        self.note(happened, touched);
    }

    /// Touches the instances that have role bindings in a namespace that begins or ceases to be a cluster's: whose it is decides
    /// whether they may be there.
    pub(crate) fn touch_bindings(&mut self, namespace: &Name, touched: &mut Touched) {
        let first = ObjectKey::new(Kind::RoleBinding, namespace.clone(), "");
        let inside = self.objects.grants.places.range(first..);
        let inside =
            inside.take_while(|(key, _)| key.kind == Kind::RoleBinding && key.namespace == *namespace);
        let happened: Vec<Happened> = inside
            .filter_map(|(key, addon)| Some((addon.clone(), self.objects.grants.at(key)?.cluster.clone())))
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

    pub(crate) fn grant(&self, key: &ObjectKey) -> Option<&Grant> {
        self.objects.grants.at(key)
    }

    pub(crate) fn request(&self, name: &Name) -> Option<&Request> {
        self.objects.requests.at(name)
    }
}

impl<'s> View<'s> {
    /// Returns the add-on's grants in order of their keys.
    pub fn grants(&self) -> impl Iterator<Item = (&'s ObjectKey, &'s Grant)> + use<'s> {
        let filed = self.store.objects.grants.of(&self.addon.name);
        filed.into_iter().flat_map(BTreeMap::iter)
    }

    /// Returns one of the add-on's grants.
    pub fn grant(&self, key: &ObjectKey) -> Option<&'s Grant> {
        self.store.objects.grants.of(&self.addon.name)?.get(key)
    }

    /// Returns the add-on's certificate signing requests in order of their names.
    pub fn requests(&self) -> impl Iterator<Item = &'s Request> + use<'s> {
        let filed = self.store.objects.requests.of(&self.addon.name);
        filed.into_iter().flat_map(BTreeMap::values)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::{Event, Settings, terms};
    use api::names::labels;

    #[test]
    fn a_namespace_that_becomes_a_clusters_touches_add_ons_with_bindings_there() {
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
