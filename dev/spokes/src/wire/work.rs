//! `ManifestWork`, as far as a work agent needs it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Record};

/// Objects that the hub wants on one cluster.
pub type ManifestWork = Record<WorkSpec, WorkStatus>;

/// `spec` of a `ManifestWork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkSpec {
    /// What to apply.
    pub workload: Workload,
    /// What stays when the work goes.
    pub delete_option: DeleteOption,
    /// How single manifests are treated.
    pub manifest_configs: Vec<ManifestConfig>,
}

/// `spec.workload` of a `ManifestWork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Workload {
    /// The manifests, in order.
    pub manifests: Vec<Value>,
}

/// `spec.deleteOption` of a `ManifestWork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteOption {
    /// `Foreground` (also when empty), `Orphan` or `SelectivelyOrphan`.
    pub propagation_policy: String,
    /// What stays under `SelectivelyOrphan`.
    pub selectively_orphans: SelectivelyOrphans,
}

/// What stays when the work goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectivelyOrphans {
    /// The objects that stay.
    pub orphaning_rules: Vec<OrphaningRule>,
}

/// An object that stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OrphaningRule {
    /// Its API group.
    pub group: String,
    /// Its plural.
    pub resource: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// How one manifest is treated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestConfig {
    /// Which one.
    pub resource_identifier: ResourceIdentifier,
    /// What to report about it.
    pub feedback_rules: Vec<FeedbackRule>,
    /// Which conditions to derive from it.
    pub condition_rules: Vec<ConditionRule>,
    /// How to change it.
    pub update_strategy: UpdateStrategy,
}

/// A condition that is derived from a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionRule {
    /// `WellKnownConditions` or `CEL`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The type of the condition.
    pub condition: String,
    /// Expressions, all of which must hold.
    pub cel_expressions: Vec<String>,
    /// The message, whatever comes out.
    pub message: String,
    /// An expression that yields the message; it wins.
    pub message_expression: String,
}

/// Names a manifest; `*` stands for any run of characters in name and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourceIdentifier {
    /// Its API group.
    pub group: String,
    /// Its plural.
    pub resource: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What to report about a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeedbackRule {
    /// `WellKnownStatus` or `JSONPaths`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The paths, for `JSONPaths`.
    pub json_paths: Vec<JsonPathRule>,
}

/// A value to report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct JsonPathRule {
    /// What the value is called.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// The version of the kind that the path is meant for; empty means any.
    pub version: String,
}

/// How a manifest is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateStrategy {
    /// `Update` (also when empty), `CreateOnly`, `ServerSideApply` or `ReadOnly`.
    #[serde(rename = "type")]
    pub kind: String,
    /// How `ServerSideApply` applies.
    pub server_side_apply: ServerSideApply,
}

/// How `ServerSideApply` applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerSideApply {
    /// Whether fields of other managers are taken over.
    pub force: bool,
    /// The name of the field manager; empty means `work-agent`.
    pub field_manager: String,
}

/// `status` of a `ManifestWork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkStatus {
    /// Applied, available.
    pub conditions: Vec<Condition>,
    /// The same, for every manifest.
    pub resource_status: ResourceStatus,
}

/// `status.resourceStatus` of a `ManifestWork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceStatus {
    /// One entry for each manifest.
    pub manifests: Vec<ManifestStatus>,
}

/// What became of one manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestStatus {
    /// Which one.
    pub resource_meta: ResourceMeta,
    /// What was reported about it.
    #[serde(skip_serializing_if = "StatusFeedback::is_empty")]
    pub status_feedback: StatusFeedback,
    /// Applied, available, feedback synced.
    pub conditions: Vec<Condition>,
}

/// Names a manifest in the status.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceMeta {
    /// Its place in the spec.
    pub ordinal: i32,
    /// Its API group.
    pub group: String,
    /// Its API version.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// Its plural.
    pub resource: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// What was reported about a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusFeedback {
    /// The values.
    pub values: Vec<FeedbackValue>,
}

impl StatusFeedback {
    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// One reported value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeedbackValue {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub field_value: FieldValue,
}

/// A value with its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum FieldValue {
    /// A whole number.
    Integer {
        /// The number.
        integer: i64,
    },
    /// A text.
    String {
        /// The text.
        string: String,
    },
    /// Yes or no.
    Boolean {
        /// Which of them.
        boolean: bool,
    },
    /// Anything else, as JSON text.
    JsonRaw {
        /// The text.
        #[serde(rename = "jsonRaw")]
        json_raw: String,
    },
}

impl Default for FieldValue {
    fn default() -> Self {
        Self::String {
            string: String::new(),
        }
    }
}
