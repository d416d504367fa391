//! Marks and names that plans write and the store reads back.
//!
//! Names that other programs know stand in `api::names`; here are only our own.

pub use crate::api::names::RESERVED_NO_DEFAULT as NO_DEFAULT;
pub use crate::api::names::annotations::{
    ADDON_PRE_DELETE as PRE_DELETE, CONFIG_SPEC_HASH as CONFIG_HASHES,
    CONFIG_SPEC_HASH_MIRROR as CONFIG_HASHES_MIRROR, HOSTING_CLUSTER_NAME as HOSTING_CLUSTER,
};
pub use crate::api::names::labels::{ADDON_NAME, ADDON_NAMESPACE};

/// Annotation on a `ManagedClusterAddOn` that a placement made us create: `<namespace>/<name>` of the placement. Only
/// objects with this mark are deleted when no placement selects their cluster any more.
pub const INSTALLED_BY: &str = "tidegate.io/installed-by";
/// Annotations of a `ManagedCluster` with this beginning are copied to the add-ons created for it.
pub const COPIED_PREFIX: &str = "addon.open-cluster-management.io/";
/// Annotation on a `ClusterManagementAddOn` that pauses rollouts: `<namespace>/<name>` of placements, or `*` for all.
pub const PAUSED: &str = "tidegate.io/paused";
