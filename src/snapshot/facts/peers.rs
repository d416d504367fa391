//! What is known about the clusters that have an add-on.
//!
//! Decides how an instance counts: on the way, failed, or settled. Counts are kept by difference, one instance at a time.

use std::collections::BTreeMap;

use super::spread::Spread;
use crate::api::names::conditions::PROGRESSING;
use crate::api::names::reasons;
use crate::snapshot::names::Name;
use crate::snapshot::record::{Instance, Status};

/// How an add-on stands on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::snapshot) enum Phase {
    /// It is being installed or changed.
    Progressing,
    /// The last change failed, or cannot be made.
    Failed,
    /// Neither.
    Settled,
}

/// What is known about the clusters that have an add-on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerFacts {
    /// How many clusters have it.
    pub clusters: usize,
    /// How many of them run each version; clusters that report none are left out.
    pub by_version: BTreeMap<Name, usize>,
    /// On how many it is being installed or changed.
    pub progressing: usize,
    /// On how many the last change failed, or cannot be made.
    pub failed: usize,
    /// The clusters that have it, each with the mark of who installed it: `<namespace>/<name>` of a placement,
    /// `label-selector`, or "" for what nobody but a human or another program made.
    pub instances: Spread<Name>,
}

/// What counts of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snapshot) struct Peer {
    version: Name,
    phase: Phase,
    installed_by: Name,
}

impl Peer {
    pub(in crate::snapshot) fn of(instance: &Instance) -> Self {
        let phase = match instance.condition(PROGRESSING) {
            Some(condition) if condition.status == Status::True => Phase::Progressing,
            Some(condition) if is_failure(&condition.reason) => Phase::Failed,
            Some(_) | None => Phase::Settled,
        };
        Self {
            version: instance.current_version.clone(),
            phase,
            installed_by: instance.installed_by.clone(),
        }
    }
}

/// Both vocabularies of the condition count.
fn is_failure(reason: &str) -> bool {
    reason == reasons::CONFIGURATION_UNSUPPORTED || reason.ends_with("Failed")
}

impl PeerFacts {
    /// Counts that the instance on a cluster was one thing and is another.
    pub(in crate::snapshot) fn count(&mut self, cluster: &Name, old: Option<&Peer>, new: Option<&Peer>) {
        let add = |count: &mut usize| *count = count.saturating_add(1);
        let take = |count: &mut usize| *count = count.saturating_sub(1);
        if let Some(old) = old {
            self.each_count(old, take);
            self.by_version.retain(|_, count| *count > 0);
        }
        if let Some(new) = new {
            self.each_count(new, add);
        }
        self.instances
            .set(cluster, new.map(|peer| peer.installed_by.clone()));
    }

    fn each_count(&mut self, peer: &Peer, change: impl Fn(&mut usize)) {
        change(&mut self.clusters);
        match peer.phase {
            Phase::Progressing => change(&mut self.progressing),
            Phase::Failed => change(&mut self.failed),
            Phase::Settled => {}
        }
        if !peer.version.is_empty() {
            change(self.by_version.entry(peer.version.clone()).or_default());
        }
    }
}
