//! What `why` answers: chains, and the causes that clusters share.
//!
//! Decides nothing.

use jiff::Timestamp;

use super::causes::CauseDoc;

/// Nobody knows what was asked about.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unknown {
    /// No such add-on.
    #[error("no ClusterManagementAddOn has the name {name:?}{}", meant(.near.as_deref()))]
    Addon {
        /// The name.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// No such cluster.
    #[error("no ManagedCluster has the name {name:?}{}", meant(.near.as_deref()))]
    Cluster {
        /// The name.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// One object on the way from the add-on to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The object to open: kind, namespace and name.
    pub object: String,
    /// What it says.
    pub says: String,
    /// Whether the chain stops here.
    pub stops: bool,
}

impl Link {
    pub(super) fn new(object: impl Into<String>, says: impl Into<String>) -> Self {
        Self {
            object: object.into(),
            says: says.into(),
            stops: false,
        }
    }

    pub(super) fn stopping(mut self) -> Self {
        self.stops = true;
        self
    }
}

/// Why a chain stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) doc: &'static CauseDoc,
    /// What exactly, in words that clusters may share.
    pub(super) detail: String,
}

/// The add-on on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The cluster.
    pub cluster: String,
    /// The objects on the way, outermost first.
    pub links: Vec<Link>,
    /// Id of the cause; none when all is well.
    pub cause: Option<&'static str>,
    /// What exactly.
    pub detail: String,
    /// Since when the add-on has been in this state there.
    pub since: Option<Timestamp>,
}

/// Clusters that share a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The cause.
    pub cause: &'static CauseDoc,
    /// What exactly.
    pub detail: String,
    /// The clusters, sorted; none when the add-on as a whole is concerned.
    pub clusters: Vec<String>,
}

/// Why an add-on is not where it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The add-on.
    pub addon: String,
    /// When this was so.
    pub at: Timestamp,
    /// How many clusters have or should have it.
    pub clusters: usize,
    /// How many of them have it as it should be.
    pub ready: usize,
    /// The causes, the one of most clusters first.
    pub groups: Vec<Group>,
    /// The chain of the cluster that was asked about, or of the first cluster of each cause.
    pub chains: Vec<Chain>,
}

impl Answer {
    /// Returns whether everything that was asked about is as it should be.
    pub fn is_ready(&self) -> bool {
        self.groups.is_empty() && self.chains.iter().all(|chain| chain.cause.is_none())
    }
}
