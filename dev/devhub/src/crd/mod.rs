//! Custom resource definitions.
//!
//! Decides which definitions are legal, which names they get, and that their resources are served at once.

mod check;
mod check_conversion;
mod check_version;
mod findings;
mod prepare;
mod react;
mod served;
mod status;

pub(crate) use check::{check_changed, check_new, check_status};
pub(crate) use prepare::{fill, prepare_changed, prepare_new};
pub(crate) use react::react;
pub(crate) use status::mark_terminating;

/// Finalizer that keeps a CRD until its last instance is deleted.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
