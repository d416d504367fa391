//! Placement: a selection of clusters.
//!
//! Holds its wire shape only; the selection itself is in PlacementDecisions.

use crate::lenient::{absent_is_default, no_default, null_is_default};
use crate::schemas::{self, QUALIFIED_NAME};
use crate::{Condition, IntOrString, LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Topology keys. The grouping differs from that of taint keys, the names that it accepts as well.
const TOPOLOGY_KEY: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";

/// Which clusters are selected.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "Placement",
    plural = "placements",
    namespaced,
    status = "PlacementStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Placement selects clusters from the sets that are bound to its namespace.",
    printcolumn(
        name = "Succeeded",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="PlacementSatisfied")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="PlacementSatisfied")].reason"#
    ),
    printcolumn(
        name = "SelectedClusters",
        type_ = "integer",
        json_path = ".status.numberOfSelectedClusters"
    )
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct PlacementSpec {
    /// Names of the sets to select from; every bound set when empty.
    pub cluster_sets: Vec<String>,

    /// How many clusters to select; all that match when absent.
    pub number_of_clusters: Option<i32>,

    /// Selections, any of which is enough.
    pub predicates: Vec<ClusterPredicate>,

    /// Which clusters are preferred.
    pub prioritizer_policy: Option<PrioritizerPolicy>,

    /// How the selected clusters are spread.
    pub spread_policy: Option<SpreadPolicy>,

    /// Taints that the placement tolerates.
    pub tolerations: Vec<PlacementToleration>,

    /// How the selected clusters are divided into groups.
    pub decision_strategy: Option<DecisionStrategy>,

    /// How often a change of scores alone may change the selection.
    #[schemars(extend("default" = "1m", "pattern" = "^[0-9]+[hms]$"))]
    pub score_rate_limit: String,

    /// Order of the clusters within the decisions.
    #[schemars(extend("default" = "ClusterName", "enum" = ["ClusterName", "Score"]))]
    pub sort_by: String,
}

absent_is_default!(PlacementSpec);

/// One selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterPredicate {
    /// What a cluster must satisfy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_cluster_selector: Option<ClusterSelector>,
}

/// What a cluster must satisfy.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSelector {
    /// Requirements on labels.
    #[schemars(schema_with = "schemas::label_selector")]
    pub label_selector: Option<LabelSelector>,

    /// Requirements on claims.
    pub claim_selector: Option<ClaimSelector>,

    /// Requirements as expressions.
    pub cel_selector: Option<CelSelector>,
}

/// Requirements on the claims of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimSelector {
    /// Requirements; all must be met.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::claim_expressions")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// Requirements as expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CelSelector {
    /// Expressions; all must be true.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub cel_expressions: Vec<String>,
}

/// Which clusters are preferred.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PrioritizerPolicy {
    /// Additive keeps the default prioritizers, Exact uses only the listed ones.
    #[schemars(extend("default" = "Additive"))]
    pub mode: String,

    /// Prioritizers and their weights.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<PrioritizerConfig>,
}

/// A prioritizer and its weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["scoreCoordinate"]))]
pub struct PrioritizerConfig {
    /// Where the score comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_coordinate: Option<ScoreCoordinate>,

    /// How much the score counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -10, max = 10), extend("default" = 1))]
    pub weight: Option<i32>,
}

/// Where a score comes from.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct ScoreCoordinate {
    /// BuiltIn or AddOn.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "BuiltIn", "enum" = ["BuiltIn", "AddOn"]))]
    #[serde_with(skip_apply)]
    pub type_: String,

    /// Name of a built-in prioritizer.
    pub built_in: String,

    /// A score that an add-on gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_on: Option<AddOnScore>,
}

/// A score that an add-on gives.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["resourceName", "scoreName"]))]
pub struct AddOnScore {
    /// Name of the object that holds the score.
    pub resource_name: String,

    /// Name of the score in it.
    pub score_name: String,
}

/// How the selected clusters are spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SpreadPolicy {
    /// Constraints of the spread.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub spread_constraints: Vec<SpreadConstraint>,
}

/// A constraint of the spread.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["topologyKey", "topologyKeyType"]))]
pub struct SpreadConstraint {
    /// The label or claim over whose values the clusters are spread.
    #[schemars(length(max = 316), extend("pattern" = TOPOLOGY_KEY))]
    pub topology_key: String,

    /// Label or Claim.
    #[schemars(extend("enum" = ["Label", "Claim"]))]
    pub topology_key_type: String,

    /// How uneven the spread may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub max_skew: Option<i32>,

    /// What to do when the constraint cannot hold.
    #[schemars(extend("default" = "ScheduleAnyway", "enum" = ["DoNotSchedule", "ScheduleAnyway"]))]
    pub when_unsatisfiable: String,
}

/// A taint that the placement tolerates.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PlacementToleration {
    /// Key of the taint; every key when empty.
    #[schemars(length(max = 316), extend("pattern" = QUALIFIED_NAME))]
    pub key: String,

    /// Exists or Equal.
    #[schemars(extend("default" = "Equal"))]
    pub operator: String,

    /// Value of the taint.
    #[schemars(length(max = 1024))]
    pub value: String,

    /// Effect of the taint; every effect when empty.
    #[schemars(extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub effect: String,

    /// For how long the taint is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// How the selected clusters are divided into groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DecisionStrategy {
    /// The groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_strategy: Option<GroupStrategy>,
}

/// The groups that the selected clusters are divided into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupStrategy {
    /// Named groups, in this order.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroup>,

    /// Size of the groups that the other clusters are divided into: a count or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::clusters_per_group")]
    pub clusters_per_decision_group: Option<IntOrString>,
}

/// A named group.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["groupClusterSelector", "groupName"]))]
pub struct DecisionGroup {
    /// Name of the group.
    #[schemars(extend("pattern" = "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"))]
    pub group_name: String,

    /// Which of the selected clusters belong to the group.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub group_cluster_selector: GroupClusterSelector,
}

/// Which of the selected clusters belong to a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupClusterSelector {
    /// Requirements on labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::label_selector")]
    pub label_selector: Option<LabelSelector>,

    /// Requirements on claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_selector: Option<ClaimSelector>,
}

/// What came of the selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PlacementStatus {
    /// How many clusters are selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_selected_clusters: Option<i32>,

    /// The groups that the selected clusters were divided into.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroupStatus>,

    /// State of the placement.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// When a change of scores last changed the selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_score_update_time: Option<Time>,
}

/// A group that the selected clusters were divided into.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DecisionGroupStatus {
    /// Index of the group.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub decision_group_index: i32,

    /// Name of the group; empty for groups by size.
    pub decision_group_name: String,

    /// Names of the PlacementDecisions of the group.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,

    /// How many clusters are in the group.
    #[serde(deserialize_with = "null_is_default")]
    pub cluster_count: i32,
}

/// Nothing: a PlacementDecision has no spec.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "PlacementDecision",
    plural = "placementdecisions",
    namespaced,
    no_spec,
    status = "PlacementDecisionStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "PlacementDecision lists clusters that a placement selected. Its labels name the placement and the group."
)]
pub struct PlacementDecisionFields {}

/// The selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["decisions"]))]
pub struct PlacementDecisionStatus {
    /// The selected clusters, at most one hundred.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub decisions: Vec<ClusterDecision>,
}

/// A selected cluster.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterName", "reason"]))]
pub struct ClusterDecision {
    /// Name of the cluster.
    pub cluster_name: String,

    /// Why it was selected; may be empty.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    #[serde_with(skip_apply)]
    pub reason: String,

    /// Score of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}
