//! What the role of observers grants although no story uses it, and why.
//!
//! Decides nothing.

use super::{ADDON, AUDIT, AWAITED, FORMER_POLICIES, Reason};

const FOR_A_REMOVAL: &str = "read once more before anything would be taken away";
pub(super) const OBSERVED: &[Reason] = &[
    AWAITED,
    (
        "cluster.open-cluster-management.io",
        "managedclusters",
        &["get"],
        FOR_A_REMOVAL,
    ),
    (
        "cluster.open-cluster-management.io",
        "placements",
        &["get"],
        FOR_A_REMOVAL,
    ),
    (
        "cluster.open-cluster-management.io",
        "placementdecisions",
        &["get"],
        FOR_A_REMOVAL,
    ),
    FORMER_POLICIES,
    (ADDON, "addondeploymentconfigs", &["get"], AUDIT),
    (ADDON, "addonhubconfigs", &["get"], AUDIT),
    (ADDON, "addontemplates", &["get"], AUDIT),
    (ADDON, "clustermanagementaddons", &["get"], FOR_A_REMOVAL),
    (ADDON, "managedclusteraddons", &["get"], FOR_A_REMOVAL),
    (
        "work.open-cluster-management.io",
        "manifestworks",
        &["get"],
        FOR_A_REMOVAL,
    ),
];
