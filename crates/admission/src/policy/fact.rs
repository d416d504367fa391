//! The facts that a policy may declare.
//!
//! Decides their names. Never decides what they hold: the caller knows the fleet, and a fact that it does not know stays unknown.

use serde_json::Value;

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
