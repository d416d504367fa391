//! Types of objects that are never configurations.
//!
//! Decides which types are never listed, watched or read as a configuration, however they are referred to: those whose objects
//! carry credentials or grant rights, and those that change all the time on every hub. Whether a kind exists is not asked.

/// How many types of configurations one object may refer to.
pub const MOST_CONFIG_TYPES: usize = 64;

/// Carry credentials, or what becomes one.
const CREDENTIALS: [(&str, &str); 4] = [
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("bootstrap.cluster.x-k8s.io", "kubeadmconfigs"),
];
/// Everything in these groups says who may do what, or proves who a user is.
const RIGHTS: [&str; 5] = [
    "rbac.authorization.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "oauth.openshift.io",
    "user.openshift.io",
];
/// Change all the time: a watch of them shows everything that happens on a hub.
const RESTLESS: [(&str, &str); 7] = [
    ("", "events"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
    ("", "endpoints"),
    ("discovery.k8s.io", "endpointslices"),
    ("", "pods"),
    ("", "nodes"),
];

/// Returns why objects of a type are never configurations, if they are not.
pub fn off_limits(group: &str, resource: &str) -> Option<&'static str> {
    let of = (group, resource);
    if CREDENTIALS.contains(&of) {
        Some("its objects contain credentials")
    } else if RIGHTS.contains(&group) {
        Some("its objects grant permissions")
    } else if RESTLESS.contains(&of) {
        Some("its objects change continuously")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_rights_and_what_never_rests_are_off_limits() {
        for (group, resource, expected) in [
            ("", "secrets", true),
            ("rbac.authorization.k8s.io", "clusterroles", true),
            ("events.k8s.io", "events", true),
            ("", "configmaps", false),
            ("example.com", "secrets", false),
            (
                "addon.open-cluster-management.io",
                "addondeploymentconfigs",
                false,
            ),
        ] {
            assert_eq!(
                off_limits(group, resource).is_some(),
                expected,
                "{group} {resource}"
            );
        }
    }
}
