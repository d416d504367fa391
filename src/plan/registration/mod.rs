//! Registration of agents: who they are on the hub, what they may do there, and which certificates they get.
//!
//! Stages of one instance: `identity` (registrations and namespace), `permissions` and `token` (the objects that are
//! wanted), `certificates` (requests); `registrar` runs them, `grants` writes what is left.

mod certificates;
mod grants;
mod identity;
mod namespace;
mod permissions;
mod registrar;
mod token;

pub use certificates::{Answer, Signing};
pub(super) use registrar::{Registering, Registrar, leftovers, unmanaged};
