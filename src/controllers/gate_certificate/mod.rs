//! The gate's certificate in a Secret: who follows it, and the leader who renews it.
//!
//! A table of contents. `follow` tells a gate what the Secret holds, `keeper` renews it, `issue` makes
//! pairs, `apply` writes, also for `record_keys`. What is to be done next, the crate `certificates` decides.

pub(super) mod apply;
mod follow;
mod issue;
mod renewal;
mod targets;

pub use follow::{SecretFollower, SecretState};
pub use renewal::{CertificateKeeper, CertificateOptions};
