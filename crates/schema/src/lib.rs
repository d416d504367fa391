//! Structural schemas of custom resources: parse, prune, default and validate, with Kubernetes' own texts.
//!
//! Decides what a value of a custom resource looks like after pruning and defaulting, and what is wrong with it.
//! Never talks to a server and knows no kind by name.

mod check;
mod correlate;
mod defaults;
mod embedded;
mod error;
mod fault;
mod lists;
mod node;
mod objectmeta;
mod parse;
mod path;
mod prune;
mod rules;
mod schema;
mod walk;

pub use cel_engine::Stop;
pub use error::{ErrorClass, FieldError};
pub use objectmeta::FIELDS as METADATA_FIELDS;
pub use schema::{Check, Outcome, Part, Schema};
pub use walk::Segment;
