//! What has changed for an owner since a plan was made: single clusters, or anything that concerns all of them.
//!
//! Decides nothing: `parts::changes` attributes them.

use std::collections::BTreeSet;

use super::kind::Owner;
use super::store::Store;
use super::view::View;
use model::Name;

impl Store {
    /// Forgets which clusters of an owner have changed up to a change: a plan has been made since.
    pub fn forget_changes(&mut self, owner: &Owner, until: u64) {
        self.changes.forget_until(owner, until);
    }
}

impl View<'_> {
    /// Returns the number of the last change that the view shows.
    pub fn last_change(&self) -> u64 {
        self.store.changes.last()
    }

    /// Returns the clusters of the add-on that have changed after a change; `None` if that may be any of them.
    pub fn changed_since(&self, change: u64) -> Option<BTreeSet<Name>> {
        self.store.changes.since(&self.owner(), change)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Event, Kind, ObjectKey, Settings};

    const GROUP: &str = "addon.open-cluster-management.io";

    fn put(store: &mut Store, kind: Kind, version: u64, mut object: Value) {
        let name = object["metadata"]["name"].clone();
        object["metadata"]["uid"] = name;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        store.apply(Event::Applied { kind, object });
    }

    fn addon(version: u64, status: &Value) -> Value {
        let config = json!({"name": "base", "namespace": "default"});
        let supported =
            json!([{"group": GROUP, "resource": "addondeploymentconfigs", "defaultConfig": config}]);
        json!({"metadata": {"name": "hello", "generation": version}, "status": status, "spec": {
            "supportedConfigs": supported,
            "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}}})
    }

    fn store() -> Store {
        let mut store = Store::new(Settings::default());
        put(&mut store, Kind::AddOn, 1, addon(1, &json!({})));
        for cluster in ["c1", "c2"] {
            put(
                &mut store,
                Kind::Cluster,
                1,
                json!({"metadata": {"name": cluster}, "spec": {}}),
            );
            let metadata = json!({"name": "hello", "namespace": cluster});
            put(
                &mut store,
                Kind::Instance,
                1,
                json!({"metadata": metadata, "spec": {}}),
            );
        }
        store
    }

    /// What an event changes for the add-on: the clusters, or `all`.
    fn changed(kind: Kind, object: Value) -> String {
        let mut store = store();
        let before = store.view("hello").expect("the add-on").last_change();
        put(&mut store, kind, 2, object);
        match store.view("hello").expect("the add-on").changed_since(before) {
            None => "all".to_owned(),
            Some(clusters) => clusters.iter().map(|name| &**name).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn only_what_concerns_one_cluster_is_attributed_to_it() {
        let label = "open-cluster-management.io/addon-name";
        let work = json!({"name": "addon-hello-deploy-0", "namespace": "c1", "labels": {(label): "hello"}});
        let place = "cluster.open-cluster-management.io/placement";
        let decision = json!({"name": "d", "namespace": "default", "labels": {(place): "all"}});
        let ready = json!([{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}]);
        let hash = json!({"name": "base", "namespace": "default", "specHash": "x"});
        let noted = json!([{"group": GROUP, "resource": "addondeploymentconfigs", "desiredConfig": hash}]);
        let rows = [
            (Kind::Work, json!({"metadata": work, "spec": {}}), "c1"),
            (
                Kind::Instance,
                json!({"metadata": {"name": "hello", "namespace": "c2"}, "spec": {"installNamespace": "x"}}),
                "c2",
            ),
            (
                Kind::Cluster,
                json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
                "c1",
            ),
            (Kind::Cluster, json!({"metadata": {"name": "c1"}, "spec": {}}), ""),
            (Kind::Cluster, json!({"metadata": {"name": "c3"}, "spec": {}}), ""),
            (
                Kind::Decision,
                json!({"metadata": decision, "status": {"decisions": [{"clusterName": "c1", "reason": ""}]}}),
                "all",
            ),
            (
                Kind::Placement,
                json!({"metadata": {"name": "all", "namespace": "default"}}),
                "all",
            ),
            (
                Kind::DeploymentConfig,
                json!({"metadata": {"name": "base", "namespace": "default"}, "spec": {}}),
                "all",
            ),
            (Kind::AddOn, addon(2, &json!({})), "all"),
            // What is in the status for people to read changes nothing for a cluster; a hash that is noted there may.
            (Kind::AddOn, addon(1, &json!({"conditions": ready})), ""),
            (
                Kind::AddOn,
                addon(1, &json!({"defaultconfigReferences": noted})),
                "all",
            ),
        ];
        for (kind, object, expected) in rows {
            assert_eq!(changed(kind, object.clone()), expected, "{object}");
        }
    }

    #[test]
    fn what_is_forgotten_may_be_anything() {
        let mut store = store();
        let first = store.view("hello").expect("the add-on").last_change();
        put(
            &mut store,
            Kind::Cluster,
            2,
            json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
        );
        let second = store.view("hello").expect("the add-on").last_change();
        put(
            &mut store,
            Kind::Cluster,
            2,
            json!({"metadata": {"name": "c2"}, "spec": {"hubAcceptsClient": true}}),
        );
        store.forget_changes(&ObjectKey::addon(&"hello".into()), second);
        let view = store.view("hello").expect("the add-on");
        assert_eq!(view.changed_since(first), None);
        assert_eq!(view.changed_since(second), Some(BTreeSet::from(["c2".into()])));
    }
}
