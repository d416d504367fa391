//! The controller of add-ons: a `ClusterManagementAddOn`, its instances, and everything that is deployed for them.
//!
//! A table of contents.

mod planning;

pub(super) use planning::Planning;
