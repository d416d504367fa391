//! What `why` answers: chains, and the causes that clusters share.
//!
//! Decides what counts as ready and what as well: a wait that ends by itself is no fault.

use jiff::Timestamp;

use super::causes::CauseDoc;
use crate::layout::instead;

/// What was asked about does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unknown {
    /// No such add-on.
    #[error("no ClusterManagementAddOn has the name {name:?}; {instead}")]
    Addon {
        /// The name.
        name: String,
        /// What was probably meant, or what there is.
        instead: String,
    },
    /// No such cluster.
    #[error("no ManagedCluster has the name {name:?}; {instead}")]
    Cluster {
        /// The name.
        name: String,
        /// What was probably meant, or what there is.
        instead: String,
    },
}

impl Unknown {
    pub(super) fn addon<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Self {
        Self::Addon {
            name: name.to_owned(),
            instead: instead(name, known),
        }
    }

    pub(super) fn cluster<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Self {
        Self::Cluster {
            name: name.to_owned(),
            instead: instead(name, known),
        }
    }
}

/// One object in the chain from the add-on to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Link {
    /// The object to open: kind, namespace and name.
    pub object: String,
    /// Its state.
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

/// What a cause means for the reader of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// An administrator must act.
    Fault,
    /// Nothing is wrong, and the wait ends only when a user acts: resumes, approves, or ends a freeze.
    WaitsForUser,
    /// The wait ends without an action, at this time if it is known.
    Waits(Option<Timestamp>),
    /// The add-on is not installed, and the cluster is not selected.
    Absent,
    /// The cluster is ready, and intentionally keeps its configuration.
    Meant,
}

/// Why a chain stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) doc: &'static CauseDoc,
    /// What exactly, in words that clusters may share.
    pub(super) detail: String,
    pub(super) grade: Grade,
    /// The command to run; absent if it depends only on the cause.
    pub(super) command: Option<String>,
}

impl Cause {
    pub(super) fn new(doc: &'static CauseDoc, detail: impl Into<String>) -> Self {
        Self {
            doc,
            detail: detail.into(),
            grade: Grade::Fault,
            command: None,
        }
    }

    pub(super) fn graded(mut self, grade: Grade) -> Self {
        self.grade = grade;
        self
    }

    /// Returns the same cause as a wait for as long as it may take, and as a fault after that.
    pub(super) fn within(self, end: Option<Timestamp>, now: Timestamp) -> Self {
        match end {
            Some(end) if now < end => self.graded(Grade::Waits(Some(end))),
            Some(_) | None => self,
        }
    }

    pub(super) fn typing(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    pub(super) fn is_fault(&self) -> bool {
        self.grade == Grade::Fault
    }
}

/// The add-on on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The cluster.
    pub cluster: String,
    /// The objects of the chain, outermost first.
    pub links: Vec<Link>,
    /// Id of the cause; none when all is well.
    pub cause: Option<&'static str>,
    /// What the cause means; none when all is well.
    pub grade: Option<Grade>,
    /// What exactly.
    pub detail: String,
    /// The command to run.
    pub command: String,
    /// Since when the add-on has been in this state there.
    pub since: Option<Timestamp>,
}

impl Chain {
    /// Returns whether the add-on is there as it should be.
    pub fn is_ready(&self) -> bool {
        matches!(self.grade, None | Some(Grade::Meant))
    }
}

/// Clusters that share a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The cause.
    pub cause: &'static CauseDoc,
    /// What it means.
    pub grade: Grade,
    /// What exactly.
    pub detail: String,
    /// The command to run, for the first of the clusters.
    pub command: String,
    /// The clusters, sorted; none when the add-on as a whole is concerned.
    pub clusters: Vec<String>,
}

/// Why an add-on is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The add-on.
    pub addon: String,
    /// Whether the add-on is going, or gone but for what is left of it.
    pub leaving: bool,
    /// When this was so.
    pub at: Timestamp,
    /// The cluster that was asked about.
    pub asked: Option<String>,
    /// How many clusters have or should have it.
    pub clusters: usize,
    /// How many of them have it as it should be.
    pub ready: usize,
    /// How many of them are waiting without a fault.
    pub waiting: usize,
    /// The causes: first those that an administrator must fix, and of these first those that are not about other clusters.
    pub groups: Vec<Group>,
    /// The chain of the cluster that was asked about, or of the first cluster of each cause.
    pub chains: Vec<Chain>,
}

impl Answer {
    /// Returns whether everything that was asked about is as it should be.
    pub fn is_ready(&self) -> bool {
        let meant = |group: &Group| group.grade == Grade::Meant || self.is_let_be(group.grade);
        let let_be =
            |chain: &Chain| chain.is_ready() || chain.grade.is_some_and(|grade| self.is_let_be(grade));
        self.groups.iter().all(meant) && self.chains.iter().all(let_be)
    }

    /// Returns whether an administrator has to act for the add-on as a whole.
    pub(super) fn is_stalled(&self) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| group.clusters.is_empty() && group.grade == Grade::Fault)
    }

    /// Returns whether no administrator has to act: everything is as it should be, or comes to be so by itself.
    pub fn is_well(&self) -> bool {
        let grades = self.groups.iter().map(|group| group.grade);
        let mut grades = grades.chain(self.chains.iter().filter_map(|chain| chain.grade));
        grades.all(|grade| match grade {
            Grade::Fault | Grade::WaitsForUser => false,
            Grade::Waits(_) | Grade::Meant => true,
            Grade::Absent => self.is_let_be(grade),
        })
    }

    /// Whether an absence is as it should be: not where one cluster is asked about, for then the question is whether the add-on
    /// is there.
    fn is_let_be(&self, grade: Grade) -> bool {
        grade == Grade::Absent && self.asked.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_reported_with_the_existing_ones() {
        let said = |known: &[&str]| Unknown::addon("helo", known.iter().copied()).to_string();
        let none = "no ClusterManagementAddOn has the name \"helo\"; ";
        assert_eq!(
            said(&["other", "hello"]),
            format!("{none}did you mean \"hello\"?")
        );
        assert_eq!(said(&["x10", "x9"]), format!("{none}there are \"x9\", \"x10\""));
        assert_eq!(
            said(&["quite-another"]),
            format!("{none}there is \"quite-another\"")
        );
        assert_eq!(said(&[]), format!("{none}there is none"));
    }
}
