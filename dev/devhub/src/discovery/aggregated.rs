//! The discovery document that holds all groups, versions and resources at once.
//!
//! Decides `APIGroupDiscoveryList` in its one version, `apidiscovery.k8s.io/v2`.

use serde_json::{Value, json};

use super::legacy::verbs;
use super::versions::{groups, versions};
use crate::builtin::subresources;
use crate::{Resource, Scope};

/// Content type of the document.
pub const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Which of the two roots is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `/api`, the core group.
    Core,
    /// `/apis`, all named groups.
    Named,
}

/// Returns the aggregated document of a root.
pub fn aggregated(resources: &[Resource], root: Root) -> Value {
    let items: Vec<Value> = match root {
        Root::Core => vec![item(resources, "", &versions(resources, ""))],
        Root::Named => groups(resources)
            .iter()
            .map(|(name, versions)| item(resources, name, versions))
            .collect(),
    };
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items,
    })
}

fn item(resources: &[Resource], group: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let served = resources.iter().filter(|resource| resource.group == group && resource.version == *version);
            json!({ "version": version, "resources": served.map(entry).collect::<Vec<_>>(), "freshness": "Current" })
        })
        .collect();
    let metadata = if group.is_empty() {
        json!({})
    } else {
        json!({ "name": group })
    };
    json!({ "metadata": metadata, "versions": versions })
}

fn entry(resource: &Resource) -> Value {
    let own = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
    let mut entry = json!({
        "resource": resource.plural, "responseKind": own,
        "scope": match resource.scope { Scope::Namespaced => "Namespaced", Scope::Cluster => "Cluster" },
        "singularResource": resource.singular, "verbs": verbs(resource),
    });
    let sub = |name: &str, kind: &Value, verbs: &[&str]| json!({ "subresource": name, "responseKind": kind, "verbs": verbs });
    let read_write = ["get", "patch", "update"];
    let mut below = Vec::new();
    if resource.custom && resource.status {
        below.push(sub("status", &own, &read_write));
    }
    for found in subresources(resource) {
        let kind = json!({ "group": found.group, "version": found.version, "kind": found.kind });
        below.push(sub(found.name, &kind, found.verbs));
    }
    if let Value::Object(map) = &mut entry {
        for (member, names) in [
            ("shortNames", &resource.short_names),
            ("categories", &resource.categories),
        ] {
            if !names.is_empty() {
                map.insert(member.to_owned(), json!(names));
            }
        }
        if !below.is_empty() {
            map.insert("subresources".to_owned(), Value::Array(below));
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::discovery::legacy::tests::{custom, widgets};

    #[test]
    fn custom_groups_are_listed_as_recorded() {
        let list = aggregated(&[custom("Gadget", Scope::Cluster), widgets()], Root::Named);
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
        let expected = json!({"metadata": {"name": "dev.example.io"}, "versions": [{"freshness": "Current", "version": "v1", "resources": [
            {"resource": "gadgets", "responseKind": {"group": "dev.example.io", "kind": "Gadget", "version": "v1"}, "scope": "Cluster", "singularResource": "gadget", "verbs": verbs},
            {"categories": ["devs", "all"], "resource": "widgets", "responseKind": {"group": "dev.example.io", "kind": "Widget", "version": "v1"}, "scope": "Namespaced",
             "shortNames": ["wd"], "singularResource": "widget", "verbs": verbs, "subresources": [
                {"responseKind": {"group": "dev.example.io", "kind": "Widget", "version": "v1"}, "subresource": "status", "verbs": ["get", "patch", "update"]}]},
        ]}]});
        assert_eq!(list["items"], json!([expected]));
        assert_eq!(
            (&list["kind"], &list["apiVersion"]),
            (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
        );
    }

    #[test]
    fn the_core_group_has_no_name_and_a_root_of_its_own() {
        let resources = builtin::resources();
        let core = aggregated(&resources, Root::Core);
        assert_eq!(core["apiVersion"], "apidiscovery.k8s.io/v2");
        assert_eq!(core["items"][0]["metadata"], json!({}));
        let named = aggregated(&resources, Root::Named);
        assert!(
            named["items"]
                .as_array()
                .expect("items")
                .iter()
                .all(|item| item["metadata"]["name"] != "")
        );
    }
}
