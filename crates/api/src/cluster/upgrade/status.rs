//! The status of an upgrade: counts, conditions, and the progress of each cluster.
//!
//! Holds its wire shape only, with the spellings of the proposal: two summaries are called "Summery".

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{no_default, null_is_default};
use crate::{Condition, schemas};

/// How far the upgrade is.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClustersUpgradeStatus {
    /// The generation that the status describes.
    pub observed_generation: Option<i64>,

    /// Pending, Preview, Canary, Upgrading, Waiting, Paused, Halted, Failed or Complete.
    pub phase: String,

    /// Progress of the action before the upgrade.
    pub pre_upgrade_action_summary: Option<UpgradeActionSummary>,

    /// Progress of the canary clusters.
    #[serde(rename = "canaryClustersSummery", skip_serializing_if = "Option::is_none")]
    #[serde_with(skip_apply)]
    pub canary_clusters_summary: Option<UpgradeSummary>,

    /// Progress of all clusters.
    #[serde(rename = "clustersSummery", skip_serializing_if = "Option::is_none")]
    #[serde_with(skip_apply)]
    pub clusters_summary: Option<UpgradeSummary>,

    /// Progress of the action after the upgrade.
    pub post_upgrade_action_summary: Option<UpgradeActionSummary>,

    /// Selected, Applied, InProgress, Complete and, after the first failure, Failed.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// The stages in their order, with the number of their clusters.
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub stages: Vec<UpgradeStageStatus>,

    /// Number of clusters by state; the numbers add up to the total.
    pub state_counts: Option<UpgradeStateCounts>,

    /// The plan, while spec.preview is set.
    pub plan: Option<UpgradePlan>,

    /// The run that the status describes; it changes with the target of the upgrade.
    pub run: String,

    /// The last value of the annotation mcu-retry that was used.
    pub retried: String,

    /// Whether all canary clusters have succeeded in this run. A cluster that becomes a canary later is upgraded with the others.
    #[serde(skip_serializing_if = "is_false")]
    pub canaries_passed: bool,

    /// Progress by cluster: all that are upgrading, and the last that finished or are blocked.
    #[schemars(
        length(max = 2000),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub clusters: Vec<UpgradeClusterStatus>,

    /// Clusters that finished and are not listed in clusters any more.
    pub settled: Option<UpgradeSettled>,
}

/// Clusters with an action, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeActionSummary {
    /// Clusters on which the action has started, with any result.
    pub total: i64,

    /// Clusters on which the manifests are applied.
    pub applied: i64,

    /// Clusters on which the action has succeeded.
    pub available: i64,

    /// Clusters on which the action is in progress.
    pub progressing: i64,

    /// Clusters on which the action has failed.
    pub degraded: i64,
}

/// Clusters, counted by how far their upgrade is. A cluster is in several counts: one that is complete was initialized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeSummary {
    /// All selected clusters, and those that started before they were no longer selected.
    pub total: i64,

    /// Clusters whose upgrade has started, with any result.
    pub initialized: i64,

    /// Clusters whose upgrade is in progress.
    pub partial_upgrade: i64,

    /// Clusters whose upgrade is complete.
    pub complete: i64,

    /// Clusters whose upgrade has failed.
    pub failed: i64,

    /// Clusters whose upgrade has not started.
    pub pending: i64,
}

/// Clusters, each in one count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeStateCounts {
    /// Clusters that have not started.
    pub not_started: i64,

    /// Clusters that have the work, and have not reported yet.
    pub initialized: i64,

    /// Clusters that are upgrading.
    pub partial: i64,

    /// Clusters whose upgrade is complete.
    pub complete: i64,

    /// Clusters that have failed.
    pub failed: i64,
}

/// How far a stage is.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct UpgradeStageStatus {
    /// Name of the stage.
    #[serde_with(skip_apply)]
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub name: String,

    /// Waiting, Upgrading, Soaking or Complete.
    pub phase: String,

    /// Clusters of the stage.
    pub total: i64,

    /// Clusters of the stage whose upgrade is complete.
    pub complete: i64,

    /// Clusters of the stage whose upgrade has failed.
    pub failed: i64,
}

/// What would be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradePlan {
    /// Clusters that would start together, if all took equally long.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<UpgradeWave>,

    /// How many clusters would start but are in no wave, because the list is full.
    pub truncated: i64,
}

/// Clusters that would start together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeWave {
    /// Whether the clusters are the canary clusters.
    pub canary: bool,

    /// Name of their stage.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub stage: String,

    /// Names of the clusters.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
}

/// How far one cluster is.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "state"]))]
pub struct UpgradeClusterStatus {
    /// Name of the cluster.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    #[serde_with(skip_apply)]
    pub name: String,

    /// NotStarted, Initialized, Partial, Complete or Failed.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    #[serde_with(skip_apply)]
    pub state: String,

    /// Step of the cluster: Queued, Held, PreAction, Platform, Operators, PostAction or Done.
    pub phase: String,

    /// Reason in one word.
    pub reason: String,

    /// Message, at most 1,024 characters. A longer message is shortened in the middle, so that its end names the cause.
    pub message: String,

    /// Whether the cluster is a canary.
    #[serde(skip_serializing_if = "is_false")]
    pub canary: bool,

    /// Name of the stage of the cluster.
    pub stage: String,

    /// The version that the cluster is being upgraded to, where the upgrade has hops.
    pub hop: String,

    /// When the upgrade to that version started.
    pub hop_started_at: Option<Time>,

    /// State of the action before the upgrade: Progressing, Applied, Available or Degraded.
    pub pre_action: String,

    /// State of the action after the upgrade: Progressing, Applied, Available or Degraded.
    pub post_action: String,

    /// When its upgrade started.
    pub started_at: Option<Time>,

    /// When its upgrade ended.
    pub finished_at: Option<Time>,

    /// Number of attempts, when more than one.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: i64,

    /// Progress of the upgrade in percent, as the cluster reports it.
    pub percent: Option<i64>,
}

/// Clusters that have finished and are no longer listed in clusters, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeSettled {
    /// Clusters whose upgrade is complete, with the action after it.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub complete: Vec<String>,

    /// Clusters whose upgrade has failed.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}
