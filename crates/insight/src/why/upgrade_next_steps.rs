//! What to do about each reason for which a cluster is not upgraded or waits.
//!
//! The steps for reasons of conditions are in the table of reasons.

use api::reason::{Act, NextStep, RETRY, Reason, UPGRADE as LOOK, WORKS};
use plan::upgrade::Hold;

const RESUME: &str = "tidegate rollout resume mcu/{namespace}/{mcu}";
const APPROVE: &str = "tidegate rollout approve mcu/{namespace}/{mcu}";
const START: &str = "kubectl patch mcu {mcu} -n {namespace} --type merge -p '{\"spec\":{\"preview\":false}}'";

/// Returns what to do about a reason of a cluster.
pub(super) fn of_reason(reason: &str, detail: &str) -> NextStep {
    let known = Reason::of(reason);
    if known == Some(Reason::NotAccepted) {
        return not_accepted(detail);
    }
    let next = known.and_then(Reason::next_step);
    next.unwrap_or((Act::Waits, "the cluster is being upgraded", WORKS))
}

/// Returns what to do about a release that a cluster has not accepted, depending on the message of its version operator.
fn not_accepted(detail: &str) -> NextStep {
    let fix = if detail.contains("AdminAckRequired") {
        "resolve the problem in the message on the cluster; if an acknowledgement is required, add it to ConfigMap \
         openshift-config/admin-acks"
    } else if detail.contains("Precondition \"") {
        "resolve the precondition in the message on the cluster, or request a patch release of the minor version that the cluster runs"
    } else if detail.contains("available updates")
        || detail.contains("not found")
        || detail.contains("channel")
    {
        "request a version that the channel of the cluster offers, or set spec.clusterVersion.channel to a channel that offers it"
    } else {
        "resolve the problem that the cluster-version operator of the cluster reports"
    };
    (Act::Needed, fix, WORKS)
}

/// Returns what to do about clusters that could start and are blocked.
pub(super) fn of_hold(hold: &Hold) -> NextStep {
    use Act::{Needed, Waits};
    match hold {
        Hold::Preview => (Needed, "remove spec.preview to start", START),
        Hold::PausedByProfile(_) => (
            Needed,
            "remove spec.pause of the RolloutProfile to continue",
            "kubectl get rolloutprofiles",
        ),
        Hold::Settings(_) => (
            Needed,
            "correct the RolloutProfile, or spec.upgradeStrategy.profile",
            "kubectl get rolloutprofiles",
        ),
        Hold::Paused => (Needed, "remove spec.suspend to continue", RESUME),
        Hold::NoCanary => (
            Needed,
            "change canaryClusters so that it selects one of the selected clusters, or remove it",
            LOOK,
        ),
        Hold::CanaryFailed | Hold::Failures(_) => (
            Needed,
            "fix the failed clusters, then retry; no other cluster starts before",
            RETRY,
        ),
        Hold::Undecided => (
            Waits,
            "the placement has no complete PlacementDecision yet: fewer clusters are in its PlacementDecisions than it has selected",
            LOOK,
        ),
        Hold::Changing => (Waits, "clusters that are being upgraded finish first", LOOK),
        Hold::Frozen(_) => (
            Waits,
            "no action is necessary; clusters start when the freeze ends or is deleted",
            "kubectl get rolloutfreezes",
        ),
        Hold::Window | Hold::ClusterWindow => (
            Waits,
            "no action is necessary; the window opens automatically",
            LOOK,
        ),
        Hold::Canary => (Waits, "the canary clusters finish first", LOOK),
        Hold::Stage(_) | Hold::Soak(_) => {
            let next = Reason::of(hold.word()).and_then(Reason::next_step);
            next.unwrap_or((Waits, "an earlier stage finishes first", LOOK))
        }
        Hold::Approval(_) => (Needed, "approve or reject the upgrade of the stage", APPROVE),
        Hold::Rejected(..) => (
            Needed,
            "change the upgrade, or approve it",
            "kubectl get rolloutapprovals",
        ),
        Hold::Check(..) => (
            Needed,
            "check what the RolloutCheck reports, or report a result",
            "kubectl get rolloutchecks",
        ),
        Hold::Slot => (Waits, "the next cluster starts when another one finishes", LOOK),
    }
}
