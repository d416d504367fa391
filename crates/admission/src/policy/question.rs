//! The input of policies: one request with everything that expressions can read.

pub use cel_engine::admission_policy::Target;
use jiff::Timestamp;
use schema::Stop;
use serde_json::Value;
use std::fmt;

/// One request as the input of policies.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The operation and the object.
    pub target: Target<'a>,
    /// The variable `request`.
    pub request: &'a Value,
    /// The object as it would be stored; absent in a deletion.
    pub object: Option<&'a Value>,
    /// The stored object; absent in a creation.
    pub old: Option<&'a Value>,
    /// The namespace of the object, if it is known.
    pub namespace: Option<&'a Value>,
    /// The facts about the fleet.
    pub facts: &'a dyn KnownFacts,
    /// The time of the request, for the end of exceptions.
    pub now: Option<Timestamp>,
    /// Stops the evaluation early. The failure policy then decides about expressions without a value.
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
        /// A fact about the fleet that a policy can read: `facts.<name>`.
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
    /// The add-on of the object.
    Addon = "addon";
    /// The cluster of the object.
    Cluster = "cluster";
    /// The configurations that the object refers to.
    Configs = "configs";
    /// The placements that the object refers to.
    Placements = "placements";
    /// The number of clusters with the add-on.
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

/// The facts about the fleet, from the caller.
pub trait KnownFacts {
    /// Returns a fact about the object of a request; `None` when it is not known.
    fn fact(&self, fact: Fact) -> Option<Value>;
}

/// No fleet: every fact is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl KnownFacts for NoFacts {
    fn fact(&self, _: Fact) -> Option<Value> {
        None
    }
}
