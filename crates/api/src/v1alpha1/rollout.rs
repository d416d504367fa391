//! Rollout strategies of a ClusterManagementAddOn, and the template that a ManagedClusterAddOn is created with.
//!
//! Numbers and durations stay as the user wrote them; `model` parses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::null_is_default;
use crate::schemas::{self, PROGRESS_DEADLINE};
use crate::{AddOnConfig, IntOrString};

/// How a change of configuration is rolled out to the clusters of one placement.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutStrategy {
    /// All updates every cluster at once, Progressive cluster by cluster, ProgressivePerGroup decision group by group.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "All", "enum" = ["All", "Progressive", "ProgressivePerGroup"]))]
    pub type_: String,

    /// Settings of type All.
    pub all: Option<RolloutAll>,

    /// Settings of type Progressive.
    pub progressive: Option<RolloutProgressive>,

    /// Settings of type ProgressivePerGroup.
    pub progressive_per_group: Option<RolloutProgressivePerGroup>,
}

/// Settings of the strategy that updates every cluster at once.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutAll {
    /// How long a cluster must stay successful before it counts, as a duration such as 5m.
    #[schemars(extend("default" = "0"))]
    pub min_success_time: Option<String>,

    /// How long to wait for a cluster to succeed, as one number and unit (h, m or s), or None for no limit.
    #[schemars(extend("default" = "None", "pattern" = PROGRESS_DEADLINE))]
    pub progress_deadline: Option<String>,

    /// How many clusters may fail before the rollout stops: a count or a percentage.
    #[schemars(schema_with = "schemas::int_or_percent_zero")]
    pub max_failures: Option<IntOrString>,
}

/// Settings of the strategy that updates cluster by cluster.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutProgressive {
    /// Decision groups that must succeed first, in the order of their indices in the placement.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub mandatory_decision_groups: Vec<MandatoryDecisionGroup>,

    /// How many clusters may be updated at the same time: a count or a percentage.
    #[schemars(schema_with = "schemas::int_or_percent")]
    pub max_concurrency: Option<IntOrString>,

    /// How long a cluster must stay successful before it counts, as a duration such as 5m.
    #[schemars(extend("default" = "0"))]
    pub min_success_time: Option<String>,

    /// How long to wait for a cluster to succeed, as one number and unit (h, m or s), or None for no limit.
    #[schemars(extend("default" = "None", "pattern" = PROGRESS_DEADLINE))]
    pub progress_deadline: Option<String>,

    /// How many clusters may fail before the rollout stops: a count or a percentage.
    #[schemars(schema_with = "schemas::int_or_percent_zero")]
    pub max_failures: Option<IntOrString>,
}

/// Settings of the strategy that updates one decision group after another.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutProgressivePerGroup {
    /// Decision groups that must succeed first, in the order of their indices in the placement.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub mandatory_decision_groups: Vec<MandatoryDecisionGroup>,

    /// How long a cluster must stay successful before it counts, as a duration such as 5m.
    #[schemars(extend("default" = "0"))]
    pub min_success_time: Option<String>,

    /// How long to wait for a cluster to succeed, as one number and unit (h, m or s), or None for no limit.
    #[schemars(extend("default" = "None", "pattern" = PROGRESS_DEADLINE))]
    pub progress_deadline: Option<String>,

    /// How many clusters may fail before the rollout stops: a count or a percentage.
    #[schemars(schema_with = "schemas::int_or_percent_zero")]
    pub max_failures: Option<IntOrString>,
}

/// A decision group, by name or by index.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MandatoryDecisionGroup {
    /// Name of the decision group; the index is ignored when a name is set.
    pub group_name: String,

    /// Index of the decision group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_index: Option<i32>,
}

/// How a change of the add-on's own configurations is rolled out to all clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigurationRollout {
    /// UpdateAll updates every cluster; RollingUpdateWithPlacement updates only the clusters of one placement.
    /// Removing or changing the strategy never removes an applied configuration.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "UpdateAll", "enum" = ["UpdateAll", "RollingUpdateWithPlacement"]))]
    pub type_: String,

    /// Settings of type RollingUpdateWithPlacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update_with_placement: Option<RollingUpdateWithPlacement>,
}

/// The clusters that receive new configurations, and how many at once.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct RollingUpdateWithPlacement {
    /// Name of the placement.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Namespace of the placement.
    #[schemars(length(min = 1))]
    pub namespace: String,

    /// How many clusters may be updated at the same time: a count, or a percentage that is rounded up. 25% when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::int_or_percent")]
    pub max_concurrently_updating: Option<IntOrString>,
}

/// The spec that a ManagedClusterAddOn is created with. Later edits by users are never reverted to it.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CreationTemplate {
    /// Namespace on the managed cluster that the agent is installed into.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), extend("pattern" = schemas::DNS_LABEL))]
    pub install_namespace: Option<String>,

    /// Configurations of the new ManagedClusterAddOn.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,

    /// Version of the add-on that the new ManagedClusterAddOn requests.
    pub desired_version: String,
}
