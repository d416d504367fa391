//! What policies are asked about: one request with everything that expressions may read.
//!
//! Decides nothing; absent things are absent here, and what that means is each expression's own affair.

pub use cel_engine::admission_policy::Target;
use jiff::Timestamp;
use schema::Stop;
use serde_json::Value;
use std::fmt;

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

macro_rules! facts {
    ($($(#[$doc:meta])* $fact:ident = $name:literal;)+) => {
        /// Something about the fleet that a policy may ask: `facts.<name>`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fact {
            $($(#[$doc])* $fact),+
        }

        impl Fact {
            /// Every fact, in the order of the documentation.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$fact),+];

            /// Returns the name by which policies declare and read it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$fact => $name),+
                }
            }
        }
    };
}

facts! {
    /// What the add-on of the object says.
    Addon = "addon";
    /// The cluster of the object.
    Cluster = "cluster";
    /// The configurations that the object refers to.
    Configs = "configs";
    /// The placements that the object refers to.
    Placements = "placements";
    /// The same add-on on all clusters, counted.
    Peers = "peers";
    /// The time of the request.
    Now = "now";
}

impl Fact {
    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fact| fact.name() == name)
    }

    /// Returns the variable that holds it.
    pub(super) fn variable(self) -> String {
        format!("facts.{}", self.name())
    }
}

/// What the caller knows of the fleet.
pub trait KnownFacts {
    /// Returns a fact about the object of a request; `None` when it is not known.
    fn fact(&self, fact: Fact) -> Option<Value>;
}

/// Knows nothing of a fleet: every fact is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl KnownFacts for NoFacts {
    fn fact(&self, _: Fact) -> Option<Value> {
        None
    }
}
