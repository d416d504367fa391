//! What policies are asked about: one request with everything that expressions may read.
//!
//! Decides nothing; absent things are absent here, and what that means is each expression's own affair.

use std::fmt;

use jiff::Timestamp;
use schema::Stop;
use serde_json::Value;

use super::fact::KnownFacts;

/// What is done to which object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target<'a> {
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: &'a str,
    /// API group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Plural name of the resource.
    pub resource: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
}

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
    /// The namespace of the object, where somebody knows it.
    pub namespace: Option<&'a Value>,
    /// Whoever knows the fleet.
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
