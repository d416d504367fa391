//! The settings of rollouts, as an AddOnRollout and a RolloutProfile have them.
//!
//! Holds their wire shape only; `model` parses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::UpgradeWindow;
use super::lenient::null_is_default;

/// Settings for all placements of an add-on, for one, or for the add-ons that use a profile.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutSettings {
    /// Pauses the rollout: no other cluster starts. Clusters that are being updated finish. Remove it to resume.
    pub pause: Option<RolloutPause>,

    /// When changes may start; at any time if absent or empty. First installations do not wait.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub windows: Option<Vec<UpgradeWindow>>,

    /// Decision groups before which a change waits for approval: names, indexes, or * for all groups. None if absent or empty.
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub approval_before: Option<Vec<String>>,

    /// Names of the RolloutChecks that must have passed before the next decision group starts, and during the soak. None if absent or
    /// empty.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "set"))]
    pub checks: Option<Vec<String>>,

    /// What happens if a rollout stops because too many clusters failed. Stop: no other cluster starts. Undo: the clusters are rolled
    /// back to the last known good configuration. Stop if absent.
    #[schemars(extend("enum" = ["Stop", "Undo"]))]
    pub on_failure: Option<String>,
}

/// Actions that are asked for once, for all placements of an add-on or for one.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutActions {
    /// Ends soak times: a cluster that had succeeded before this time does not wait for minSuccessTime any longer.
    /// `tidegate rollout promote` writes it.
    #[schemars(extend("format" = "date-time"))]
    pub promoted_at: Option<String>,

    /// A configuration that was rolled back before this time is rolled out again. `tidegate rollout retry` writes it.
    #[schemars(extend("format" = "date-time"))]
    pub retried_at: Option<String>,
}

/// Why a rollout is paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutPause {
    /// The reason of the pause. Shown on every cluster that waits.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(max = 256))]
    pub reason: String,
}

/// Settings for one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct PlacementRolloutSettings {
    /// Namespace of the placement.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub namespace: String,

    /// Name of the placement.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// Its settings. A setting that is absent has the value for all placements.
    #[serde(flatten)]
    pub settings: RolloutSettings,

    /// Its actions.
    #[serde(flatten)]
    pub actions: RolloutActions,
}
