//! RolloutApproval: a change that waits before a decision group, or an upgrade that waits before a stage, and the decision of a person.
//!
//! Holds its wire shape only. The controllers create the object and write its status; the webhook records who has decided. The group is
//! our own.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::hash::SpecHash;
use super::lenient::{absent_is_default, null_is_default};

/// What waits, and the decision about it.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tidegate.io",
    version = "v1alpha1",
    kind = "RolloutApproval",
    plural = "rolloutapprovals",
    shortname = "roa",
    status = "RolloutApprovalStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "RolloutApproval shows a change that waits before a decision group, or a cluster upgrade that waits before a stage, and has the decision about it. Tidegate creates it; set spec.decision to approve or reject the change.",
    printcolumn(name = "Add-On", type_ = "string", json_path = ".spec.addon"),
    printcolumn(name = "Upgrade", type_ = "string", json_path = ".spec.upgrade"),
    printcolumn(name = "Placement", type_ = "string", json_path = ".spec.placement"),
    printcolumn(name = "Group", type_ = "string", json_path = ".spec.group"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Clusters", type_ = "integer", json_path = ".status.clusters"),
    printcolumn(name = "Content", type_ = "string", json_path = ".status.content"),
    printcolumn(
        name = "Last-Decided-By",
        type_ = "string",
        json_path = ".spec.decision.by",
        priority = 1
    ),
    printcolumn(
        name = "Changes",
        type_ = "string",
        json_path = ".status.changes",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
#[schemars(extend("required" = ["group"]))]
pub struct RolloutApprovalSpec {
    /// Name of the ClusterManagementAddOn; empty for an upgrade.
    pub addon: String,

    /// The ManagedClustersUpgrade, as namespace/name; empty for an add-on.
    pub upgrade: String,

    /// The placement of the add-on, as namespace/name.
    pub placement: String,

    /// The decision group: its name, or its index if it has no name. For an upgrade, the name of the stage.
    #[schemars(length(min = 1))]
    pub group: String,

    /// The decision of a person.
    pub decision: Option<ApprovalDecision>,
}

absent_is_default!(RolloutApprovalSpec);

impl RolloutApprovalSpec {
    /// Returns the name of the object that is about this group or stage.
    pub fn object_name(&self) -> String {
        if self.upgrade.is_empty() {
            approval_name(&self.addon, &self.placement, &self.group)
        } else {
            upgrade_approval_name(&self.upgrade, &self.group)
        }
    }
}

/// A decision. It is about one content only: when the change is edited, it waits again.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["content", "result"]))]
pub struct ApprovalDecision {
    /// Approved: the clusters of the group can start. Rejected: they keep their current configuration.
    #[schemars(extend("enum" = ["Approved", "Rejected"]))]
    pub result: String,

    /// The hash of the content that the decision is about, as status.content shows it.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub content: String,

    /// Why. Shown on every cluster of the group if the change is rejected.
    #[schemars(length(max = 256))]
    pub reason: String,

    /// The user who has decided. The webhook records it.
    pub by: String,

    /// When the user has decided. The webhook records it.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
}

/// What waits.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutApprovalStatus {
    /// Waiting: clusters wait for a decision. Approved and Rejected: the present content is. Idle: no cluster waits.
    pub state: String,

    /// The hash of the present content.
    pub content: String,

    /// How many clusters of the group wait for the decision.
    pub clusters: i64,

    /// What changes, from the last content that all clusters of the placement ran.
    pub changes: Vec<String>,

    /// The contents that were approved last, the newest first. A change back to one of them needs no new approval.
    pub approved: Vec<ApprovalDecision>,
}

/// Returns the name of the approval of a decision group: the add-on, the placement (`namespace/name`) and the group with points between
/// them. A part that could be read in two ways, or that is no name, adds a digest.
pub fn approval_name(addon: &str, placement: &str, group: &str) -> String {
    named(&[addon, placement, group], "", 4)
}

/// Returns the name of the approval of a stage: `upgrade.cluster`, the upgrade (`namespace/name`) and the stage with points between them.
/// A name that could be read in two ways, or that is none, has a digest.
pub fn upgrade_approval_name(upgrade: &str, stage: &str) -> String {
    // One point more than the name of any decision group without a digest.
    named(&[upgrade, stage], "upgrade.cluster.", 5)
}

fn named(parts: &[&str], prefix: &str, labels: usize) -> String {
    const LONGEST: usize = 200;
    const DIGITS: usize = 8;
    let each: Vec<String> = parts.iter().map(|part| part.replacen('/', ".", 1)).collect();
    let joined = format!("{prefix}{}", each.join("."));
    let is_sign = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-.".contains(sign);
    let name: String = joined
        .to_ascii_lowercase()
        .chars()
        .map(|sign| if is_sign(sign) { sign } else { '-' })
        .take(LONGEST)
        .collect();
    let is_plain = name == joined && joined.split('.').count() == labels && joined.split('.').all(is_label);
    if is_plain {
        return name;
    }
    let digest = SpecHash::of_text(&json!(parts).to_string()).to_string();
    let digest: String = digest.chars().take(DIGITS).collect();
    format!("{}-{digest}", name.trim_end_matches(['-', '.']))
}

fn is_label(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_it_is_about_and_is_never_that_of_another_group() {
        assert_eq!(
            approval_name("hello", "default/all", "prod"),
            "hello.default.all.prod"
        );
        assert_eq!(approval_name("hello", "default/all", "2"), "hello.default.all.2");
        assert_eq!(
            upgrade_approval_name("default/ocp", "prod"),
            "upgrade.cluster.default.ocp.prod"
        );
        let odd = [
            upgrade_approval_name("default/ocp-4.18", "prod"),
            approval_name("upgrade", "cluster/default.ocp", "prod"),
            approval_name("hello", "default/all", "Prod"),
            approval_name("hello", "default/all", "prod_"),
            approval_name("hello", "default/a.b", "c"),
            approval_name("hello", "default/a", "b.c"),
            approval_name("hello", "default/all", &"p".repeat(300)),
        ];
        for (at, name) in odd.iter().enumerate() {
            assert!(name.len() <= 253 && !odd[..at].contains(name), "{name}");
            let last = name.rsplit('-').next().expect("a digest");
            assert!(
                last.len() == 8 && last.chars().all(|sign| sign.is_ascii_hexdigit()),
                "{name}"
            );
        }
    }
}
