//! The work that has a cluster upgrade itself.
//!
//! Decides what is written into its ClusterVersion. What the proposal's example has is there as it stands; beside it stands what
//! an agent of Open Cluster Management needs to do what is meant:
//!
//! * a second orphaning rule: agents compare group and resource exactly, so that the first one never matches, and the
//!   ClusterVersion would be deleted with the work;
//! * server-side apply: an update would replace the whole spec of the ClusterVersion, with `upstream`, `overrides` and
//!   `capabilities`;
//! * what is reported back where the proposal looks in a place that a ClusterVersion has not got.

use serde_json::{Map, Value, json};

use model::upgrade::Target;

use super::mark::WorkMark;
use store::upgrade::marks::Stage;
use store::upgrade::{Mode, Work};

/// How many manifests the work has beside those of worker pools, which it only observes.
pub const WITHOUT_POOLS: usize = 2;

/// What the work of a cluster is rendered from.
#[derive(Debug, Clone, Copy)]
pub struct Platform<'a> {
    /// Id of the cluster.
    pub id: &'a str,
    /// What it is upgraded to.
    pub target: &'a Target,
    /// The MachineConfigPools that are waited for.
    pub pools: &'a [String],
}

/// Returns the work that upgrades a cluster.
pub fn platform(mark: &WorkMark<'_>, cluster: &str, platform: &Platform<'_>, mode: Mode) -> Value {
    mark.work(Stage::Platform, cluster, &spec(platform, mode))
}

/// Returns the merge patch of the work that upgrades a cluster to another version.
pub fn retarget(platform: &Platform<'_>) -> Value {
    json!({"spec": spec(platform, Mode::Apply)})
}

/// Returns the merge patch of a work that no longer upgrades its cluster and only observes it.
pub fn observation(id: &str, pools: &[String], work: &Work) -> Value {
    if work.count <= WITHOUT_POOLS {
        return json!({"spec": {"manifestConfigs": [config(Mode::ReadOnly)]}});
    }
    // A manifest of a pool without its own configuration would be written: both are replaced together.
    let (version, image) = &work.target;
    let target = &Target::observed(version, image);
    json!({"spec": spec(&Platform { id, target, pools }, Mode::ReadOnly)})
}

fn spec(platform: &Platform<'_>, mode: Mode) -> Value {
    let orphans = [
        json!({"group": "", "resource": "ClusterVersion.config.openshift.io", "namespace": "", "name": "version"}),
        json!({"group": "config.openshift.io", "resource": "clusterversions", "namespace": "", "name": "version"}),
    ];
    let orphans: Vec<Value> = orphans
        .into_iter()
        .chain(platform.pools.iter().map(|name| pool(name)))
        .collect();
    let configs = std::iter::once(config(mode)).chain(platform.pools.iter().map(|name| pool_config(name)));
    let manifests = [cluster_version(platform.id, platform.target), admin()];
    let pools = platform.pools.iter().map(|name| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfigPool",
            "metadata": {"name": name},
        })
    });
    json!({
        "deleteOption": {
            "propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": {"orphaningRules": orphans},
        },
        "manifestConfigs": configs.collect::<Vec<_>>(),
        "workload": {"manifests": manifests.into_iter().chain(pools).collect::<Vec<_>>()},
    })
}

fn pool(name: &str) -> Value {
    json!({"group": "machineconfiguration.openshift.io", "resource": "machineconfigpools", "namespace": "", "name": name})
}

/// A pool is never written.
fn pool_config(name: &str) -> Value {
    json!({
        "resourceIdentifier": pool(name),
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
            {"name": "poolUpdated", "path": ".status.conditions[?(@.type==\"Updated\")].status"},
        ]}],
        "updateStrategy": {"type": "ReadOnly"},
    })
}

fn config(mode: Mode) -> Value {
    let strategy = match mode {
        // Forced: an upgrade takes the version from any other field manager of the cluster.
        Mode::Apply => json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}),
        Mode::ReadOnly => json!({"type": "ReadOnly"}),
    };
    let path = |name: &str, path: &str| json!({"name": name, "path": path});
    let of_condition = |name: &str, kind: &str, field: &str| {
        path(
            name,
            &format!(".status.conditions[?(@.type==\"{kind}\")].{field}"),
        )
    };
    json!({
        "resourceIdentifier": {
            "group": "config.openshift.io", "resource": "clusterversions", "namespace": "", "name": "version",
        },
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
            path("version", ".status.history[0].version"),
            path("state", ".status.history[0].state"),
            path("verified", ".status.history[0].verified"),
            path("message", ".status.history[0].message"),
            path("image", ".status.history[0].image"),
            of_condition("progressMessage", "Progressing", "message"),
            of_condition("failing", "Failing", "status"),
            of_condition("failingMessage", "Failing", "message"),
            of_condition("releaseAccepted", "ReleaseAccepted", "status"),
            of_condition("releaseMessage", "ReleaseAccepted", "message"),
            of_condition("invalid", "Invalid", "status"),
            of_condition("invalidMessage", "Invalid", "message"),
            of_condition("upgradeable", "Upgradeable", "status"),
            of_condition("upgradeableMessage", "Upgradeable", "message"),
        ]}],
        "updateStrategy": strategy,
    })
}

fn cluster_version(id: &str, target: &Target) -> Value {
    let mut spec = Map::new();
    spec.insert("clusterID".to_owned(), id.into());
    if let Some(channel) = target.channel() {
        spec.insert("channel".to_owned(), channel.as_str().into());
    }
    if let Some(upstream) = target.upstream() {
        spec.insert("upstream".to_owned(), upstream.into());
    }
    let version = target.version().map(ToString::to_string).unwrap_or_default();
    let update = json!({"force": false, "image": target.image().unwrap_or_default(), "version": version});
    spec.insert("desiredUpdate".to_owned(), update);
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "spec": spec,
    })
}

/// The agent's right to write a ClusterVersion.
fn admin() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {
            "name": "admin-ocm",
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{
            "kind": "ServiceAccount", "name": "klusterlet-work-sa", "namespace": "open-cluster-management-agent",
        }],
    })
}
