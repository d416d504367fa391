//! Structural schemas of custom resources: parse, prune, default and validate, with Kubernetes' own texts.
//!
//! Decides what a value of a custom resource looks like after pruning and defaulting, and what is wrong with it.
//! Never talks to a server and knows no kind by name.

mod error;

pub use error::{ErrorClass, FieldError};
