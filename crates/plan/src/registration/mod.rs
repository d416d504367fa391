//! Registration of agents: who they are on the hub, what they may do there, and which certificates they get.
//!
//! `entitled` is what an agent may ask for, derived from the content of its template; nothing that a cluster can write gets
//! there. Stages of one instance: `identity` (registrations and namespace), `permissions` and `token` (the objects that are
//! wanted), `certificates` (requests); `registrar` runs them, `grants` writes what is left, and `readiness` has `Ready`
//! say so where it has failed.

mod certificates;
mod entitled;
mod grants;
mod identity;
mod namespace;
mod permissions;
mod readiness;
mod registrar;
mod token;

pub use certificates::{CertificateDecision, Signer, Signing};
pub(super) use identity::Registering;
pub(super) use registrar::{Registrar, of_others, unmanaged};
