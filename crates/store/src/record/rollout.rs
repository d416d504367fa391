//! What the store remembers of rollouts: which are paused, promoted or ask for approval, and how far those over placements are.
//!
//! Decides which places an annotation means. Never decides who moves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::record::{Applied, Condition, ConfigRef};
use model::{ApprovalBefore, Approvals, Name};

/// The placements whose rollouts are paused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paused(pub(crate) BTreeSet<Name>);

impl Paused {
    /// Returns whether every rollout is paused.
    pub fn everything(&self) -> bool {
        self.0.contains("*")
    }

    /// Returns whether the rollout of a placement is paused.
    pub fn placement(&self, namespace: &str, name: &str) -> bool {
        let is_this = |place: &Name| place.split_once('/') == Some((namespace, name));
        self.everything() || self.0.iter().any(is_this)
    }
}

/// The times of promotions, by placement: clusters that had succeeded before need not soak any longer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Promoted(pub(crate) BTreeMap<Name, Timestamp>);

impl Promoted {
    /// Returns the time for a placement: the later one of its own and of that for all.
    pub fn placement(&self, namespace: &str, name: &str) -> Option<Timestamp> {
        let is_this = |place: &str| place == "*" || place.split_once('/') == Some((namespace, name));
        let own = self.0.iter().filter(|(place, _)| is_this(place));
        own.map(|(_, at)| *at).max()
    }
}

/// Before which decision groups changes wait for an approval, and which are given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApprovalTerms {
    /// Where changes wait, or what is wrong with the list; absent where the add-on asks for none.
    pub before: Option<Result<ApprovalBefore, Name>>,
    /// The approvals.
    pub given: Approvals,
}

impl ApprovalTerms {
    /// Returns before which decision groups of a placement changes wait, if they do before any.
    pub fn before(&self, namespace: &str, name: &str) -> Option<&ApprovalBefore> {
        let before = self.before.as_ref()?.as_ref().ok()?;
        before.concerns(namespace, name).then_some(before)
    }

    /// Returns whether a change over a placement waits before a decision group, of its index and name: it asks for an approval
    /// that is not given to the content with this hash.
    pub fn holds(&self, namespace: &str, name: &str, (index, group): (u32, &str), hash: &str) -> bool {
        let place = (namespace, name);
        let own = index.to_string();
        let called = if group.is_empty() { own.as_str() } else { group };
        self.before(namespace, name)
            .is_some_and(|before| before.asks(place, (index, group)) && !self.given.has(place, called, hash))
    }
}

/// One entry of `status.installProgressions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progression {
    /// Namespace of the placement.
    pub namespace: Name,
    /// Name of the placement.
    pub name: Name,
    /// What its clusters are configured with.
    pub references: Vec<ProgressionReference>,
    /// How far they are.
    pub conditions: Vec<Condition>,
}

/// One configuration of a progression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressionReference {
    /// The object.
    pub config: ConfigRef,
    /// Its hash, "" when unknown.
    pub desired: Name,
    /// What all clusters of the placement confirmed last.
    pub applied: Option<Applied>,
    /// What was last known to be good.
    pub known_good: Option<Applied>,
}
