//! What each built-in kind refuses, with the texts of Kubernetes.
//!
//! Decides faults and warnings of one object, on create and against its older version.

mod config;
mod event;
mod kinds;
mod lease;
mod policy;
mod policy_binding;
mod rbac;
mod review;
mod secret;
mod selector;
mod webhook;
mod webhook_rules;

pub use kinds::{Outcome, validate_create, validate_update};
pub use review::validate as validate_review;
pub use selector::validate as validate_selector;
pub(crate) use webhook::{validate_service, validate_url};
