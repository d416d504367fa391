//! What is known about one managed cluster.
//!
//! Decides nothing.

use crate::names::LabelMap;
use crate::names::Names;
use crate::terms::OPT_OUT;
use api::cluster::ManagedCluster;
use api::names::conditions::CLUSTER_AVAILABLE;
use model::Name;

/// The most claims of a cluster that are kept.
const MOST_CLAIMS: usize = 200;

/// What is known about one managed cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Its labels.
    pub labels: LabelMap,
    /// What it claims about itself.
    pub claims: LabelMap,
    /// The version of Kubernetes that it runs, "" while it has not said.
    pub kubernetes_version: Name,
    /// Whether the hub has accepted it.
    pub accepted: bool,
    /// Whether it answers; absent while that is not known.
    pub available: Option<bool>,
    /// Whether it is being removed from the hub.
    pub deleting: bool,
    /// The add-ons that it does not want, as its annotation lists them.
    pub opt_out: Name,
}

impl ClusterFacts {
    /// Tells whether the cluster has opted out of an add-on.
    pub fn opts_out_of(&self, addon: &str) -> bool {
        let mut listed = self.opt_out.split(',').map(str::trim);
        listed.any(|name| name == "*" || name == addon)
    }

    /// Reads an object as the hub serves it.
    pub fn of(object: &ManagedCluster, names: &mut Names) -> Self {
        let status = object.status.as_ref();
        let claims = status.into_iter().flat_map(|status| &status.cluster_claims);
        let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
        let available = conditions.find(|condition| condition.type_ == CLUSTER_AVAILABLE);
        let version = status.and_then(|status| status.version.as_ref());
        Self {
            labels: LabelMap::share(object.metadata.labels.iter().flatten(), names),
            claims: LabelMap::share(
                claims.take(MOST_CLAIMS).map(|claim| (&claim.name, &claim.value)),
                names,
            ),
            kubernetes_version: names.share(version.map_or("", |version| &version.kubernetes)),
            accepted: object.spec.hub_accepts_client == Some(true),
            available: available.and_then(|condition| match condition.status.as_str() {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            }),
            deleting: object.metadata.deletion_timestamp.is_some(),
            opt_out: {
                let annotations = object.metadata.annotations.as_ref();
                let listed = annotations.and_then(|all| all.get(OPT_OUT));
                names.share(listed.map_or("", String::as_str))
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cluster_is_read_as_it_is() {
        let object = json!({
            "metadata": {"name": "c1", "labels": {"env": "prod"}},
            "spec": {"hubAcceptsClient": true},
            "status": {
                "version": {"kubernetes": "v1.34.1"},
                "clusterClaims": [{"name": "platform.open-cluster-management.io", "value": "AWS"}],
                "conditions": [{"type": CLUSTER_AVAILABLE, "status": "Unknown", "reason": "r", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            },
        });
        let object: ManagedCluster = serde_json::from_value(object).expect("a cluster");
        let facts = ClusterFacts::of(&object, &mut Names::default());
        assert_eq!(facts.labels.get("env").map(|value| &**value), Some("prod"));
        let platform = facts.claims.get("platform.open-cluster-management.io");
        assert_eq!(platform.map(|value| &**value), Some("AWS"));
        assert_eq!(&*facts.kubernetes_version, "v1.34.1");
        assert_eq!(
            (facts.accepted, facts.available, facts.deleting),
            (true, None, false)
        );
    }

    #[test]
    fn a_cluster_that_says_nothing_has_no_facts() {
        let facts = ClusterFacts::of(&ManagedCluster::default(), &mut Names::default());
        assert!(facts.labels.is_empty() && facts.claims.is_empty());
        assert_eq!((&*facts.kubernetes_version, facts.accepted), ("", false));
    }
}
