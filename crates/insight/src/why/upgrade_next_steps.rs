//! What to do about each reason for which a cluster does not upgrade, or waits.
//!
//! Decides what holds end by themselves; what to do about a reason is in the table of reasons.

use api::reason::{Act, NextStep, RETRY, Reason, WORKS};
use plan::upgrade::Hold;

const LOOK: &str = "kubectl get mcu {mcu} -n {namespace} -o yaml";
const RESUME: &str =
    "kubectl patch mcu {mcu} -n {namespace} --type merge -p '{\"spec\":{\"suspend\":false}}'";
const START: &str = "kubectl patch mcu {mcu} -n {namespace} --type merge -p '{\"spec\":{\"preview\":false}}'";

/// Returns what to do about a reason of a cluster.
pub(super) fn of_reason(reason: &str, detail: &str) -> NextStep {
    let known = Reason::of(reason);
    if known == Some(Reason::NotAccepted) {
        return not_accepted(detail);
    }
    let next = known.and_then(Reason::next_step);
    next.unwrap_or((Act::Waits, "it is on its way", WORKS))
}

/// Returns what to do about a release that a cluster has not accepted, by the words of its version operator.
fn not_accepted(detail: &str) -> NextStep {
    let fix = if detail.contains("AdminAckRequired") {
        "resolve on the cluster what the message names; where it asks for an acknowledgement, give it in ConfigMap openshift-config/admin-acks"
    } else if detail.contains("Precondition \"") {
        "resolve on the cluster what the precondition names, or ask for a patch of the minor version that the cluster runs"
    } else if detail.contains("available updates")
        || detail.contains("not found")
        || detail.contains("channel")
    {
        "ask for a version that the channel of the cluster offers, or set spec.clusterVersion.channel to one that offers it"
    } else {
        "resolve what the cluster's version operator reports"
    };
    (Act::Needed, fix, WORKS)
}

/// Returns what to do about what holds clusters that could start.
pub(super) fn of_hold(hold: Hold) -> NextStep {
    use Act::{Needed, Waits};
    match hold {
        Hold::Preview => (Needed, "take spec.preview away to begin", START),
        Hold::Paused => (Needed, "take spec.suspend away to go on", RESUME),
        Hold::NoCanary => (
            Needed,
            "let canaryClusters select one of the selected clusters, or take it away",
            LOOK,
        ),
        Hold::CanaryFailed | Hold::Failures => (
            Needed,
            "fix what failed, then retry it; no other cluster starts before",
            RETRY,
        ),
        Hold::Undecided => (
            Waits,
            "the scheduler decides the placement: its PlacementDecisions name fewer clusters than it has selected",
            LOOK,
        ),
        Hold::Changing => (Waits, "those who are on their way end first", LOOK),
        Hold::Window => (Waits, "the window opens by itself", LOOK),
        Hold::Canary => (Waits, "those that go first end first", LOOK),
        Hold::Slot => (Waits, "a cluster that ends gives its slot to the next", LOOK),
    }
}
