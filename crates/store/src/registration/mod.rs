//! What the store keeps of agents' registration: identities, what they may do, and their requests for certificates.
//!
//! A table of contents.

pub(super) mod filing;
pub(super) mod grants;
mod identity;
pub(super) mod requests;
pub(super) mod role_facts;
mod roles;

pub use grants::{Grant, GrantContent, Holders, Purpose, rules_digest, token_account, token_role};
pub use identity::*;
pub use requests::{CertificateRequest, Request, Stage, read_request};
pub use role_facts::{Danger, RoleFacts, Unbindable, role_key};
