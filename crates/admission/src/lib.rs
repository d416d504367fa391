//! Admission: decides whether an object can be stored.
//!
//! One pure function, [`decide()`], decides from the request and the facts about the fleet. It never waits, never writes and never logs
//! an object. Each rule is one entry of a table with its documentation, and has a page of examples.

mod approval_body;
mod approval_record;
mod author;
mod backstop;
mod body;
mod bounds;
mod catalogue;
mod check_expression;
mod decide;
mod defaults;
mod enforcement;
mod examine;
mod fitting;
mod freeze_body;
mod known_fields;
mod metadata;
mod policies;
pub mod policy;
mod profile_body;
mod pruned_request;
mod ratchet;
mod request;
mod rollout_body;
mod rulebook;
mod rules;
mod set_by_record;
mod shape;
mod step_budget;
mod subject;
mod template_body;
mod truncated_review;
mod unconfirmed;
mod upgrade_body;
mod upgrade_record;
mod v1beta1;
mod verdict;
mod webhook_configurations;
pub mod wire;

pub use backstop::{BACKSTOP_SINCE_MINOR, BackstopPolicy, backstop};
pub use catalogue::{Entry, catalogue};
pub use check_expression::CheckExpression;
pub use decide::decide;
pub use enforcement::{Action, Enforcement, EnforcementError, Scope};
pub use known_fields::HubDefinitions;
pub use metadata::{METADATA_VALUE, metadata_violation};
pub use policies::{Trial, references, try_policies};
pub use request::{FieldsKnownBy, Operation, Request, RequestContext, UnknownFacts, Webhook};
pub use rulebook::{PolicyTrouble, Rulebook};
pub use shape::prepare;
pub use subject::BlastRadius;
pub use subject::Operations;
pub use verdict::Verdict;
pub use webhook_configurations::{
    BREAK_GLASS, CONDITIONS_SINCE_MINOR, Endpoint, MUTATE_PATH, POLICY_RESOURCES, TIMEOUT_SECONDS,
    VALIDATE_PATH, configurations, configurations_that_fail_closed, configurations_without_conditions,
    drop_conditions,
};

pub use crate::policy::{is_former, is_policy};
pub use model::InstallNamespace;
pub use schema::Stop;
pub use store::{Facts, LiveFact, ObjectKey, UserRight};
