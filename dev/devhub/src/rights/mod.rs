//! Who may do what: role-based access control.
//!
//! Decides whether a request is allowed, from roles and bindings alone.

mod authority;
mod bootstrap;
mod escalation;
mod impersonation;
mod question;
mod request;
mod rule;
mod rule_index;
mod subject;

pub use authority::Authz;
pub(crate) use authority::{Rights, Verdict};
pub(crate) use bootstrap::bootstrap;
pub(crate) use escalation::check_write;
pub(crate) use impersonation::impersonate;
pub(crate) use question::{About, Question, ResourceAttributes};
pub(crate) use request::question;
pub(crate) use rule::Rule;

/// The group of the access control kinds.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
