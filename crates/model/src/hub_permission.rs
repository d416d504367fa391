//! Which roles and namespaces of the hub the agents of add-ons may have, as far as names tell.
//!
//! Decides by names alone. Never knows what a role allows, nor whether it exists: that is for the gate and the planner,
//! which see the hub.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Roles that are never given to an agent, whatever their labels say.
const NEVER: [&str; 4] = ["admin", "cluster-admin", "edit", "tidegate"];
/// Beginnings of such names: Kubernetes' own roles, and those of this program.
const NEVER_LIKE: [&str; 3] = ["system:", "tidegate-", "tidegate:"];
/// Namespaces that belong to no add-on, though an add-on may be called so.
const RESERVED: [&str; 4] = ["default", "open-cluster-management", "openshift", "tidegate"];
const RESERVED_LIKE: [&str; 4] = ["kube-", "open-cluster-management-", "openshift-", "tidegate-"];

/// Tells whether a role is never given to an agent, whatever its labels say.
pub fn is_never_bound(role: &str) -> bool {
    NEVER.contains(&role) || NEVER_LIKE.iter().any(|start| role.starts_with(start))
}

/// The namespaces, beside that of the cluster and the add-on's own, in which agents may have roles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HubNamespaces(Arc<BTreeSet<Box<str>>>);

impl HubNamespaces {
    /// Returns these namespaces.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Arc::new(names.into_iter().map(Box::from).collect()))
    }

    /// Tells whether the operator has listed the namespace.
    pub fn lists(&self, namespace: &str) -> bool {
        self.0.contains(namespace)
    }
}

/// Tells whether a hub itself lives in a namespace: whatever is called so, it belongs to no cluster and to no add-on.
pub fn is_reserved(namespace: &str) -> bool {
    RESERVED.contains(&namespace) || RESERVED_LIKE.iter().any(|start| namespace.starts_with(start))
}

/// Tells whether a namespace is the add-on's own by its name: it is called like the add-on, and is none of those that a hub
/// itself lives in. Whether a cluster has the same name, and with it the namespace, is for the caller, which sees the clusters.
pub fn is_addons_own(namespace: &str, addon: &str) -> bool {
    !addon.is_empty() && namespace == addon && !is_reserved(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_the_hub_itself_are_never_given_away() {
        for role in [
            "admin",
            "cluster-admin",
            "edit",
            "system:node",
            "tidegate-controllers",
            "tidegate",
        ] {
            assert!(is_never_bound(role), "{role}");
        }
        for role in ["hello-reader", "view", "administrators", "my-tidegate-reader"] {
            assert!(!is_never_bound(role), "{role}");
        }
    }

    #[test]
    fn an_add_on_that_is_called_like_a_namespace_of_the_hub_does_not_own_it() {
        assert!(is_addons_own("hello", "hello"));
        for name in [
            "",
            "default",
            "kube-system",
            "open-cluster-management-hub",
            "openshift-config",
            "tidegate",
        ] {
            assert!(!is_addons_own(name, name), "{name}");
        }
        assert!(!is_addons_own("hello", "other"));
        let listed = HubNamespaces::of(["shared"]);
        assert!(listed.lists("shared") && !listed.lists("share"));
    }
}
