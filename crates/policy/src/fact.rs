//! The facts that a policy may declare.
//!
//! Decides their names. What they hold is told by whoever knows the fleet; one that nobody knows stays unknown.

use serde_json::Value;

/// Something about the fleet that a policy may ask: `facts.<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// What the add-on of the object says.
    Addon,
    /// The cluster of the object.
    Cluster,
    /// The configurations that the object refers to.
    Configs,
    /// The placements that the object refers to.
    Placements,
    /// The same add-on on all clusters, counted.
    Peers,
    /// The time of the request.
    Now,
}

impl Fact {
    /// Every fact, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::Addon,
        Self::Cluster,
        Self::Configs,
        Self::Placements,
        Self::Peers,
        Self::Now,
    ];

    /// Returns the name by which policies declare and read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Addon => "addon",
            Self::Cluster => "cluster",
            Self::Configs => "configs",
            Self::Placements => "placements",
            Self::Peers => "peers",
            Self::Now => "now",
        }
    }

    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fact| fact.name() == name)
    }

    /// Returns the variable that holds it.
    pub(super) fn variable(self) -> String {
        format!("facts.{}", self.name())
    }
}

/// Whoever knows the fleet.
pub trait KnownFacts {
    /// Returns a fact about the object of a request; `None` when it is not known.
    fn fact(&self, fact: Fact) -> Option<Value>;
}

/// Nobody: every fact is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl KnownFacts for NoFacts {
    fn fact(&self, _: Fact) -> Option<Value> {
        None
    }
}
