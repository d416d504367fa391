//! The discovery documents that every client understands.
//!
//! Decides `APIVersions`, `APIGroupList`, `APIGroup` and `APIResourceList`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::versions::{groups, versions};
use crate::builtin::subresources;
use crate::resource::CUSTOM_VERBS;
use crate::{Resource, Scope};

/// Version in which a resource is stored, by `plural.group`; a resource that is absent is stored as it is served.
pub type StorageVersions = BTreeMap<String, String>;

const READ_WRITE: &[&str] = &["get", "patch", "update"];

/// Returns the document of `/api`; `address` is the host and port of the server.
pub fn api_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// Returns the document of `/apis`.
pub fn group_list(resources: &[Resource]) -> Value {
    let groups: Vec<Value> = groups(resources)
        .iter()
        .map(|(name, versions)| Value::Object(described(name, versions)))
        .collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// Returns the document of `/apis/<name>`, or `None` when there is no such group.
pub fn group(resources: &[Resource], name: &str) -> Option<Value> {
    let versions = versions(resources, name);
    if versions.is_empty() || name.is_empty() {
        return None;
    }
    let mut group = described(name, &versions);
    group.insert("kind".to_owned(), json!("APIGroup"));
    group.insert("apiVersion".to_owned(), json!("v1"));
    Some(Value::Object(group))
}

fn described(name: &str, versions: &[String]) -> Map<String, Value> {
    let described: Vec<Value> = versions
        .iter()
        .map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version }))
        .collect();
    let mut group = Map::new();
    group.insert("name".to_owned(), json!(name));
    group.insert(
        "preferredVersion".to_owned(),
        described.first().cloned().unwrap_or_default(),
    );
    group.insert("versions".to_owned(), Value::Array(described));
    group
}

/// Returns the document of `/api/v1` (empty `group`) or `/apis/<group>/<version>`, or `None` when nothing is served there.
pub fn resource_list(
    resources: &[Resource],
    group: &str,
    version: &str,
    stored: &StorageVersions,
) -> Option<Value> {
    let served: Vec<&Resource> = resources
        .iter()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    let group_version = served.first()?.api_version();
    let items: Vec<Value> = served
        .iter()
        .flat_map(|resource| entries(resource, stored))
        .collect();
    Some(
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": items }),
    )
}

fn entries(resource: &Resource, stored: &StorageVersions) -> Vec<Value> {
    let namespaced = resource.scope == Scope::Namespaced;
    let mut main = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": namespaced,
        "kind": resource.kind, "verbs": verbs(resource),
    });
    if let Value::Object(map) = &mut main {
        for (member, names) in [
            ("shortNames", &resource.short_names),
            ("categories", &resource.categories),
        ] {
            if !names.is_empty() {
                map.insert(member.to_owned(), json!(names));
            }
        }
        if resource.verbs.iter().any(|verb| verb == "list") {
            map.insert(
                "storageVersionHash".to_owned(),
                json!(storage_version_hash(resource, stored)),
            );
        }
    }
    let sub = |name: &str, kind: &str, verbs: &[&str]| json!({ "name": format!("{}/{name}", resource.plural), "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs });
    let mut entries = vec![main];
    if resource.custom && resource.status {
        entries.push(sub("status", &resource.kind, READ_WRITE));
    }
    for subresource in subresources(resource) {
        let entry = sub(subresource.name, subresource.kind, subresource.verbs);
        let own = subresource.group == resource.group;
        entries.push(if own {
            entry
        } else {
            foreign(entry, subresource.group, subresource.version)
        });
    }
    entries
}

fn foreign(mut entry: Value, group: &str, version: &str) -> Value {
    if let Value::Object(map) = &mut entry {
        map.insert("group".to_owned(), json!(group));
        map.insert("version".to_owned(), json!(version));
    }
    entry
}

/// Returns the verbs in the order of the API.
pub(super) fn verbs(resource: &Resource) -> Vec<&str> {
    if !resource.custom {
        return resource.verbs.iter().map(String::as_str).collect();
    }
    CUSTOM_VERBS
        .iter()
        .copied()
        .filter(|verb| resource.verbs.iter().any(|offered| offered == verb))
        .collect()
}

/// Returns the hash by which clients see that the stored version changed: the first 8 bytes of the SHA-256 of
/// `group/version/Kind`, in base64. Events of `events.k8s.io` are stored as core events.
pub fn storage_version_hash(resource: &Resource, stored: &StorageVersions) -> String {
    let view = !resource.custom && resource.group == "events.k8s.io";
    let group = if view { "" } else { resource.group.as_str() };
    let version = stored
        .get(&resource.group_resource())
        .unwrap_or(&resource.version);
    let digest = Sha256::digest(format!("{group}/{version}/{}", resource.kind));
    BASE64.encode(digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::builtin;

    /// A custom resource like those of the recordings.
    pub(in crate::discovery) fn custom(kind: &str, scope: Scope) -> Resource {
        let mut resource = builtin::resources().remove(0);
        resource.custom = true;
        "dev.example.io".clone_into(&mut resource.group);
        resource.kind = kind.to_owned();
        resource.singular = kind.to_lowercase();
        resource.plural = format!("{}s", resource.singular);
        resource.short_names = vec![];
        resource.scope = scope;
        resource
    }

    pub(in crate::discovery) fn widgets() -> Resource {
        let mut widgets = custom("Widget", Scope::Namespaced);
        widgets.short_names = vec!["wd".into()];
        widgets.categories = vec!["devs".into(), "all".into()];
        widgets.status = true;
        widgets
    }

    #[test]
    fn custom_resources_are_listed_as_recorded() {
        let resources = [custom("Gadget", Scope::Cluster), widgets()];
        let verbs = json!([
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch"
        ]);
        let list =
            resource_list(&resources, "dev.example.io", "v1", &StorageVersions::new()).expect("a list");
        let expected = json!({"apiVersion": "v1", "groupVersion": "dev.example.io/v1", "kind": "APIResourceList", "resources": [
            {"kind": "Gadget", "name": "gadgets", "namespaced": false, "singularName": "gadget", "storageVersionHash": "F1ZHBgtXuyA=", "verbs": verbs},
            {"categories": ["devs", "all"], "kind": "Widget", "name": "widgets", "namespaced": true, "shortNames": ["wd"], "singularName": "widget", "storageVersionHash": "7THr+Zc+eFI=", "verbs": verbs},
            {"kind": "Widget", "name": "widgets/status", "namespaced": true, "singularName": "", "verbs": ["get", "patch", "update"]},
        ]});
        assert_eq!(list, expected);
    }

    #[test]
    fn built_in_resources_are_listed_as_recorded() {
        let resources = builtin::resources();
        let core = resource_list(&resources, "", "v1", &StorageVersions::new()).expect("a list");
        let items = core["resources"].as_array().expect("resources");
        let names: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
        for name in [
            "configmaps",
            "events",
            "namespaces",
            "namespaces/finalize",
            "namespaces/status",
            "pods",
            "pods/status",
            "secrets",
            "serviceaccounts",
            "serviceaccounts/token",
            "services",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        let item = |name: &str| items.iter().find(|item| item["name"] == name).expect("an item");
        assert_eq!(
            item("serviceaccounts/token"),
            &json!({"group": "authentication.k8s.io", "kind": "TokenRequest", "name": "serviceaccounts/token", "namespaced": true, "singularName": "", "verbs": ["create"], "version": "v1"})
        );
        assert_eq!(item("namespaces")["storageVersionHash"], "Q3oi5N2YM8M=");
        assert_eq!(item("events")["storageVersionHash"], "r2yiGXH7wu8=");
        let reviews =
            resource_list(&resources, "authorization.k8s.io", "v1", &StorageVersions::new()).expect("a list");
        assert_eq!(
            reviews["resources"][0],
            json!({"kind": "LocalSubjectAccessReview", "name": "localsubjectaccessreviews", "namespaced": true, "singularName": "localsubjectaccessreview", "verbs": ["create"]})
        );
        let leases =
            resource_list(&resources, "coordination.k8s.io", "v1", &StorageVersions::new()).expect("a list");
        assert_eq!(leases["resources"][0]["storageVersionHash"], "gqkMMb/YqFM=");
        assert_eq!(resource_list(&resources, "", "v2", &StorageVersions::new()), None);
    }

    #[test]
    fn hashes_name_the_stored_version() {
        let mut addon = custom("ManagedClusterAddOn", Scope::Namespaced);
        "addon.open-cluster-management.io".clone_into(&mut addon.group);
        "v1beta1".clone_into(&mut addon.version);
        let stored = StorageVersions::from([(addon.group_resource(), "v1alpha1".to_owned())]);
        assert_eq!(storage_version_hash(&addon, &stored), "xaW1JUoc3Ws=");
    }

    #[test]
    fn groups_prefer_their_best_version() {
        let mut old = widgets();
        "v1alpha1".clone_into(&mut old.version);
        let mut new = widgets();
        "v1beta1".clone_into(&mut new.version);
        let expected = json!({"kind": "APIGroup", "apiVersion": "v1", "name": "dev.example.io",
            "preferredVersion": {"groupVersion": "dev.example.io/v1beta1", "version": "v1beta1"},
            "versions": [{"groupVersion": "dev.example.io/v1beta1", "version": "v1beta1"}, {"groupVersion": "dev.example.io/v1alpha1", "version": "v1alpha1"}]});
        assert_eq!(group(&[old, new], "dev.example.io"), Some(expected));
        assert_eq!(group(&[widgets()], "nosuch.example.io"), None);
    }
}
