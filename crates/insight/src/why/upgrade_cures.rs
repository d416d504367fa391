//! What to do about each reason for which a cluster does not upgrade, or waits.
//!
//! Decides which reasons end by themselves. The reasons are the planner's.

use plan::upgrade::Hold;

/// Whether an administrator has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Nothing moves until an administrator acts.
    Needed,
    /// It goes on by itself.
    Waits,
}

/// What to do, and what to type where that is known; `{mcu}`, `{namespace}` and `{cluster}` stand for names.
pub(super) type Cure = (Act, &'static str, &'static str);

const LOOK: &str = "kubectl get mcu {mcu} -n {namespace} -o yaml";
const PLACEMENTS: &str = "kubectl get placements -A";
const CLUSTER: &str = "kubectl get managedcluster {cluster} -o yaml";
const WORKS: &str = "kubectl get manifestwork -n {cluster} -o yaml";
const RETRY: &str = "kubectl annotate mcu {mcu} -n {namespace} --overwrite cluster.open-cluster-management.io/mcu-retry=\"$(date +%s)\"";
const RESUME: &str =
    "kubectl patch mcu {mcu} -n {namespace} --type merge -p '{\"spec\":{\"suspend\":false}}'";
const START: &str = "kubectl patch mcu {mcu} -n {namespace} --type merge -p '{\"spec\":{\"preview\":false}}'";

/// Returns what to do about a reason of a cluster.
pub(super) fn of_reason(reason: &str, detail: &str) -> Cure {
    use Act::{Needed, Waits};
    match reason {
        "ClusterUnavailable" => (
            Needed,
            "bring the cluster back; it is upgraded when it answers",
            CLUSTER,
        ),
        "ClusterIDUnknown" => (
            Needed,
            "give the cluster the label clusterID, or let it claim id.openshift.io; a cluster that is no OpenShift is not to be selected",
            CLUSTER,
        ),
        "PrecheckFailed" => (
            Needed,
            "ask for a version that the cluster can go to, or do not select it",
            CLUSTER,
        ),
        "Conflict" => (
            Needed,
            "let the other upgrade end, or take the cluster out of one of them; a work of nobody's upgrade has to be deleted by hand",
            WORKS,
        ),
        "PlacementAccessUnproven" => (
            Needed,
            "set the annotation tidegate.io/placement-access of the upgrade to \"renew\" as a user who may get its placements",
            PLACEMENTS,
        ),
        "WorkRefused" => (
            Needed,
            "remove what the hub refuses the work by; it is tried again by itself",
            WORKS,
        ),
        "PreActionDegraded" => (
            Needed,
            "mend what failed on the cluster, so that the action succeeds; the cluster is then upgraded",
            WORKS,
        ),
        "NotAccepted" => not_accepted(detail),
        "Failing" => (
            Needed,
            "repair what the ClusterVersion of the cluster reports; the upgrade goes on by itself, or fails when its time is over",
            WORKS,
        ),
        "WorkNotApplied" => (
            Needed,
            "remove what keeps the work agent of the cluster from applying the work; it tries again by itself",
            WORKS,
        ),
        "PlacementNotFound" => (
            Needed,
            "create the placement, or correct spec.placement of the upgrade",
            PLACEMENTS,
        ),
        "NotApplied" | "UpgradeTimeout" | "OperatorsFailed" | "OperatorsTimeout" | "PreActionFailed"
        | "PostActionFailed" => (
            Needed,
            "mend the cluster, then have those that failed tried again; OpenShift has no way back to the version before",
            RETRY,
        ),
        "ClusterRemoved" => (
            Needed,
            "the cluster has left the hub; a new value of the annotation forgets it",
            RETRY,
        ),
        "Withdrawing" => (Waits, "works of an earlier try are on their way out", WORKS),
        _ => (Waits, "it is on its way", WORKS),
    }
}

/// Returns what to do about a release that a cluster has not accepted, by the words of its version operator.
fn not_accepted(detail: &str) -> Cure {
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
pub(super) fn of_hold(hold: Hold) -> Cure {
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
            "mend what failed, then have it tried again; nobody else starts before",
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
