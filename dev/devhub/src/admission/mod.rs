//! Admission webhooks: which are called for a write, their requests, and the effect of their responses.
//!
//! No lock is held while a webhook is called.

mod answer;
mod attributes;
mod authority;
mod chain;
mod client;
mod condition_check;
mod conditions;
mod configuration;
mod decode;
mod endpoint;
mod expression_check;
mod hook;
mod matching;
mod patching;
mod policy;
mod policy_check;
mod protocol;
mod review;
mod status_text;
mod warnings;

pub use attributes::{Attributes, Conversion, Kind, Operation, UserInfo};
pub use chain::{Chain, Settle};
pub use condition_check::match_condition_faults;
pub(crate) use configuration::ClientConfig;
pub(crate) use decode::{document, unregistered};
pub(crate) use endpoint::Endpoint;
pub use endpoint::Services;
pub use hook::Hooks;
pub use policy::{AdmissionContext, ParamQuery, Policies};
pub use policy_check::policy_faults;
pub use warnings::Warnings;
