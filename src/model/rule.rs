//! Ids of the rules that guard the parsers of this room; the gate's rule table documents each.
//!
//! Decides nothing.

/// A configuration type is written as a kind or in the singular.
pub const KIND_NOT_PLURAL: &str = "config/kind-not-plural";
/// A configuration reference lacks what identifies it.
pub const INCOMPLETE_REFERENCE: &str = "config/incomplete-reference";
/// A rollout type that does not exist.
pub const UNKNOWN_TYPE: &str = "rollout/unknown-type";
/// A block that belongs to another rollout type.
pub const TYPE_MISMATCH: &str = "rollout/type-mismatch";
/// A soak time that is no duration.
pub const MIN_SUCCESS_TIME: &str = "rollout/min-success-time";
/// A deadline that is neither `None` nor a duration.
pub const PROGRESS_DEADLINE: &str = "rollout/progress-deadline";
/// A number of clusters at once that has no meaning.
pub const MAX_CONCURRENCY: &str = "rollout/max-concurrency";
/// A number of tolerated failures that has no meaning.
pub const MAX_FAILURES: &str = "rollout/max-failures";
/// A mandatory decision group that no decision can match.
pub const MANDATORY_GROUPS: &str = "rollout/mandatory-groups";
/// A rolling update of configurations that lacks its placement or its limit.
pub const ROLLING_UPDATE: &str = "rollout/rolling-update";
/// An install namespace that no cluster can have.
pub const INSTALL_NAMESPACE: &str = "install/namespace";
/// A label selector without a meaning.
pub const LABEL_SELECTOR: &str = "install/label-selector";
/// An add-on name that does not fit the labels made from it.
pub const ADDON_NAME: &str = "naming/addon-name";
/// A signer is the add-on's own.
pub const SIGNER: &str = "template/signer";
/// A certificate names nobody whom the hub would believe.
pub const SIGNER_SUBJECT: &str = "template/signer-subject";
