//! Ids of the rules whose checks are the parsers of this crate; the webhook's rule table documents each.
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
/// A number of clusters at once that is invalid.
pub const MAX_CONCURRENCY: &str = "rollout/max-concurrency";
/// A number of tolerated failures that is invalid.
pub const MAX_FAILURES: &str = "rollout/max-failures";
/// A mandatory decision group that no decision can match.
pub const MANDATORY_GROUPS: &str = "rollout/mandatory-groups";
/// An approval of changes, or what asks for one, that is invalid.
pub const ROLLOUT_APPROVAL: &str = "rollout/approval";
/// The name of a check that is none, or stands twice.
pub const ROLLOUT_CHECKS: &str = "rollout/checks";
/// A check of both types, or of none.
pub const CHECK_TYPE: &str = "check/type";
/// A time of a check that is none, or out of its bounds.
pub const CHECK_TIMES: &str = "check/times";
/// A window of rollouts that is invalid.
pub const ROLLOUT_WINDOW: &str = "rollout/window";
/// What becomes of a rollout that has stopped, in a word without a meaning.
pub const ROLLOUT_ON_FAILURE: &str = "rollout/on-failure";
/// A stamp of a rollout that is no time.
pub const ROLLOUT_TIMES: &str = "rollout/times";
/// Settings of a placement that lack its name, or stand twice.
pub const ROLLOUT_PLACEMENTS: &str = "rollout/placements";
/// A number of kept configurations that is invalid.
pub const ROLLOUT_REVISIONS: &str = "rollout/revisions";
/// A dependency that is no name of an add-on.
pub const DEPENDENCY_NAME: &str = "dependency/name";
/// A name of a profile that is none, or a profile whose values have no meaning.
pub const ROLLOUT_PROFILE: &str = "rollout/profile";
/// A freeze whose times are none, or whose end is before its begin.
pub const FREEZE_TIMES: &str = "freeze/times";
/// A freeze whose selector of clusters is invalid.
pub const FREEZE_SELECTOR: &str = "freeze/selector";
/// A rolling update of configurations that lacks its placement or its limit.
pub const ROLLING_UPDATE: &str = "rollout/rolling-update";
/// An invalid label selector.
pub const LABEL_SELECTOR: &str = "install/label-selector";
/// A signer is the add-on's own.
pub const SIGNER: &str = "template/signer";
/// A certificate names no user and no group of the hub's own, of a cluster or of another add-on.
pub const SIGNER_SUBJECT: &str = "template/signer-subject";
/// A version of OpenShift that is none, or is missing.
pub const UPGRADE_VERSION: &str = "upgrade/version";
/// A channel that is none, or that has no release of the version.
pub const UPGRADE_CHANNEL: &str = "upgrade/channel";
/// An address of an update service that is none.
pub const UPGRADE_UPSTREAM: &str = "upgrade/upstream";
/// An invalid image, or a release that is not named by its digest.
pub const UPGRADE_IMAGE: &str = "upgrade/image";
/// An invalid selector of clusters.
pub const UPGRADE_SELECTOR: &str = "upgrade/selector";
/// An upgrade that selects nothing, or a placement that stands twice.
pub const UPGRADE_SELECTION: &str = "upgrade/selection";
/// An upgrade of nothing.
pub const UPGRADE_NOTHING: &str = "upgrade/nothing";
/// A subscription of an operator that cannot be one.
pub const UPGRADE_OPERATORS: &str = "upgrade/operators";
/// A time that an upgrade may take, and that is none.
pub const UPGRADE_TIMEOUT: &str = "upgrade/timeout";
/// A hop that cannot be on the way to the version.
pub const UPGRADE_HOPS: &str = "upgrade/hops";
/// A stage without a name or a selector, or with the name of another one.
pub const UPGRADE_STAGES: &str = "upgrade/stages";
/// A MachineConfigPool that cannot be one.
pub const UPGRADE_POOLS: &str = "upgrade/worker-pools";
/// A number of clusters at once that is invalid.
pub const UPGRADE_CONCURRENCY: &str = "upgrade/max-concurrency";
/// A number of tolerated failures that is invalid.
pub const UPGRADE_FAILURES: &str = "upgrade/max-failures";
/// A window that is invalid.
pub const UPGRADE_WINDOW: &str = "upgrade/window";
/// An action that cannot be a work.
pub const UPGRADE_ACTION: &str = "upgrade/action";
