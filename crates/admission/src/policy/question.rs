//! What policies are asked about: one request with everything that expressions may read.
//!
//! Decides nothing; absent things are absent here, and what that means is each expression's own affair.

use std::fmt;

pub use cel_engine::admission_policy::Target;
use jiff::Timestamp;
use schema::Stop;
use serde_json::Value;

use super::fact::KnownFacts;

/// One request, as policies see it.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// What is done to which object.
    pub target: Target<'a>,
    /// The variable `request`.
    pub request: &'a Value,
    /// The object as it would be stored; absent when it is deleted.
    pub object: Option<&'a Value>,
    /// The object as it is stored; absent when it is new.
    pub old: Option<&'a Value>,
    /// The namespace of the object, where it is known.
    pub namespace: Option<&'a Value>,
    /// What the caller knows of the fleet.
    pub facts: &'a dyn KnownFacts,
    /// The time of the request: exceptions end by it.
    pub now: Option<Timestamp>,
    /// Ends the evaluation before it is done; what has no value then is what the failure policy says.
    pub stop: &'a Stop,
}

impl fmt::Debug for Question<'_> {
    // Never the object: objects do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
