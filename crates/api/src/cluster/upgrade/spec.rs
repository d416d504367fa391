//! What a user asks of an upgrade: which clusters, which version, how many at once, and what goes before and after.
//!
//! Holds its wire shape only. Versions, durations, numbers and windows stay as the user wrote them; `model` parses them.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::ManagedClustersUpgradeStatus;
use crate::lenient::{absent_is_default, null_is_default};
use crate::schemas;
use crate::work::ManifestWorkSpec;
use crate::{IntOrString, LabelSelectorRequirement, PlacementRef};

/// Which clusters are upgraded to what, and how.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "ManagedClustersUpgrade",
    plural = "managedclustersupgrades",
    shortname = "mcu",
    namespaced,
    status = "ManagedClustersUpgradeStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedClustersUpgrade upgrades a group of managed OpenShift clusters and reports their progress. It never rolls back.",
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".spec.clusterVersion.version"
    ),
    printcolumn(
        name = "Selected",
        type_ = "integer",
        json_path = ".status.clustersSummery.total"
    ),
    printcolumn(
        name = "Complete",
        type_ = "integer",
        json_path = ".status.clustersSummery.complete"
    ),
    printcolumn(
        name = "Failed",
        type_ = "integer",
        json_path = ".status.clustersSummery.failed"
    ),
    printcolumn(
        name = "Pending",
        type_ = "integer",
        json_path = ".status.clustersSummery.pending"
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct ManagedClustersUpgradeSpec {
    /// Placements whose clusters are selected, together with those of clusterSelector.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub placement: Vec<PlacementRef>,

    /// Selects clusters by set and label, in addition to those of placement.
    pub cluster_selector: Option<UpgradeClusterSelector>,

    /// The target of the upgrade. Without it only operators are upgraded.
    pub cluster_version: Option<UpgradeVersion>,

    /// Which operators are upgraded, after the cluster itself.
    pub ocp_operators: Option<OcpOperators>,

    /// The canary clusters, how many clusters upgrade at the same time, and the timeouts.
    pub upgrade_strategy: Option<UpgradeStrategy>,

    /// Action on a cluster before its upgrade. The cluster is upgraded only when it succeeds.
    pub pre_upgrade_action: Option<UpgradeAction>,

    /// Action on a cluster after its upgrade. When it fails, the upgrade of the cluster has failed.
    pub post_upgrade_action: Option<UpgradeAction>,

    /// While true, no further cluster starts; clusters that are upgrading finish.
    pub suspend: Option<bool>,

    /// While true, status.plan shows the plan, and no cluster starts.
    pub preview: Option<bool>,
}

absent_is_default!(ManagedClustersUpgradeSpec);

/// Clusters by set and label. All requirements must be met.
#[serde_with::apply(
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
    BTreeMap => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeClusterSelector {
    /// Names of the sets to select from; every set that is bound to the namespace of the upgrade when empty.
    #[schemars(length(max = 256))]
    pub cluster_sets: Vec<String>,

    /// Requirements on the labels of a cluster. The key name matches the name of a cluster that has no label name.
    #[schemars(schema_with = "schemas::claim_expressions")]
    pub match_expressions: Vec<LabelSelectorRequirement>,

    /// Labels that a cluster must have with exactly these values.
    pub match_labels: BTreeMap<String, String>,
}

/// What clusters are upgraded to.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeVersion {
    /// Channel of releases, such as stable-4.12; unchanged when empty.
    pub channel: String,

    /// Version of OpenShift such as 4.12.0.
    pub version: String,

    /// Versions that each cluster goes through first, in ascending order. A cluster skips those that it already has.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub hops: Vec<String>,

    /// URL of the update service; unchanged when absent or empty.
    pub upstream: Option<String>,

    /// Image of a release, for clusters without an update service; none when empty.
    pub image: Option<String>,
}

/// Which operators are upgraded: those with a subscription whose install plans are waiting for approval.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OcpOperators {
    /// Whether all operators are upgraded, except those in exclude. If true, include has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub approve_all_upgrades: Option<bool>,

    /// Operators that are upgraded, except those in exclude.
    #[schemars(length(max = 256))]
    pub include: Vec<OperatorRef>,

    /// Operators that are not upgraded.
    #[schemars(length(max = 256))]
    pub exclude: Vec<OperatorRef>,

    /// Image of the Job that approves operators, with bash and oc; registry.redhat.io/openshift4/ose-cli:latest when empty.
    pub approver_image: String,
}

/// A subscription of an operator.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct OperatorRef {
    /// Name of the subscription.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Namespace of the subscription.
    #[schemars(length(min = 1))]
    pub namespace: String,
}

/// The canary clusters, how many clusters upgrade at the same time, and the timeouts.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeStrategy {
    /// Name of a RolloutProfile. Its pause, windows, clusterWindows and orderBy apply to the upgrade, windows only if no window is set here.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub profile: String,

    /// The canary clusters, which are upgraded first. If one of them fails, no other cluster starts.
    pub canary_clusters: Option<UpgradeCanary>,

    /// Groups of clusters that are upgraded one after the other, behind the canary clusters. A cluster belongs to the first stage
    /// that selects it. Clusters that no stage selects are upgraded last.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub stages: Vec<UpgradeStage>,

    /// How long the upgrade of one cluster may take, as a duration such as 2h; 3h when absent. Each hop has as long.
    pub cluster_upgrade_timeout: Option<String>,

    /// How many clusters upgrade at once: a count or a percentage; 10 when absent.
    #[schemars(schema_with = "schemas::int_or_percent")]
    pub max_concurrency: Option<IntOrString>,

    /// How long the operators of one cluster may take, as a duration such as 10m; 20m when absent.
    pub operators_upgrade_timeout: Option<String>,

    /// How many clusters may fail before no further cluster starts: a count or a percentage; all of them when absent.
    #[schemars(schema_with = "schemas::int_or_percent")]
    pub max_failures: Option<IntOrString>,

    /// When clusters may start. A cluster that is upgrading when the window closes continues.
    pub window: Option<UpgradeWindow>,

    /// While true, a cluster does not start an upgrade to another minor version while its ClusterVersion reports Upgradeable=False.
    /// Each cluster is asked when its turn comes. Between hops this is always checked.
    pub wait_for_upgradeable: Option<bool>,

    /// Names of MachineConfigPools, such as worker. A cluster is complete only when all machines of them are updated.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub wait_for_worker_pools: Vec<String>,
}

/// Clusters that are upgraded when those of every earlier stage are complete.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "clusterSelector"]))]
pub struct UpgradeStage {
    /// Name of the stage. Conditions and commands show it.
    #[schemars(length(max = 63))]
    pub name: String,

    /// Selects the clusters of the stage among the selected clusters.
    pub cluster_selector: Option<UpgradeClusterSelector>,

    /// How many clusters of the stage upgrade at once: a count, or a percentage of the clusters of the stage; that of the strategy
    /// when absent.
    #[schemars(schema_with = "schemas::int_or_percent")]
    pub max_concurrency: Option<IntOrString>,

    /// How long each cluster must have been complete before it releases its slot and the next stage starts, as a duration such as
    /// 24h; no time when absent.
    pub min_success_time: Option<String>,

    /// Whether the clusters of the stage wait for approval, in a RolloutApproval; no approval when absent.
    pub approval: Option<bool>,

    /// Names of the RolloutChecks that must pass after the clusters of the stage were upgraded, before the next stage starts; those
    /// of the profile when absent. An empty list means none.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "set"))]
    pub checks: Option<Vec<String>>,
}

/// The canary clusters, which are upgraded first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeCanary {
    /// Selects the canary clusters among the selected clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<UpgradeClusterSelector>,
}

/// A time that comes again.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["cron", "duration"]))]
pub struct UpgradeWindow {
    /// When the window opens: minute, hour, day of the month, month and day of the week, as in cron.
    pub cron: String,

    /// How long the window stays open, as a duration such as 4h.
    pub duration: String,

    /// Time zone of cron, such as Europe/Paris; UTC when empty.
    pub time_zone: String,
}

/// Manifests that are applied on each cluster at one point of its upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeAction {
    /// The manifests, and how they are applied and observed, as in the spec of a ManifestWork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_work: Option<ManifestWorkSpec>,

    /// How long the action may take on one cluster, as a duration such as 30m. When absent, an action before the upgrade has no
    /// limit, and one after it 30m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}
