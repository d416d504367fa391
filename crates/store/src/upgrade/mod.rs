//! What is known of an upgrade of clusters: the upgrade, its clusters, and the works that carry its marks or stand in its way.
//!
//! The planner (`plan::upgrade`) decides what a view of it leads to.

mod access;
mod build;
mod decode;
pub mod marks;
mod view;

pub use access::PlacementAccess;
pub use view::{Applied, Cluster, Manifest, Mode, Refusal, Runs, Upgrade, View, Work, WorksByName};
