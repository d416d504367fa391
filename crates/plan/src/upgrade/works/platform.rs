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
use store::upgrade::Mode;
use store::upgrade::marks::Stage;

/// Returns the work that upgrades a cluster.
pub fn platform(mark: &WorkMark<'_>, cluster: &str, id: &str, target: &Target) -> Value {
    mark.work(Stage::Platform, cluster, &spec(id, target))
}

fn spec(id: &str, target: &Target) -> Value {
    json!({
        "deleteOption": {
            "propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": {"orphaningRules": [
                {"group": "", "resource": "ClusterVersion.config.openshift.io", "namespace": "", "name": "version"},
                {"group": "config.openshift.io", "resource": "clusterversions", "namespace": "", "name": "version"},
            ]},
        },
        "manifestConfigs": [config(Mode::Apply)],
        "workload": {"manifests": [cluster_version(id, target), admin()]},
    })
}

/// Returns the merge patch of the work's spec that tells a cluster, or only looks at it.
pub fn enforcement(mode: Mode) -> Value {
    json!({"spec": {"manifestConfigs": [config(mode)]}})
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
