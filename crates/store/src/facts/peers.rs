//! What is known about the clusters that have an add-on.
//!
//! Decides how an instance counts: on the way, failed, or settled. Counts are kept by difference, one instance at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objects::config_key;
use super::sharded_map::ShardedMap;
use crate::names::Table;
use crate::record::{ConfigRef, Instance, Status};
use api::names::conditions::PROGRESSING;
use api::reason::Reason;
use model::Name;

/// How an add-on stands on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
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
    /// How many clusters name a configuration in their own list, by its name among the configurations.
    pub own_configs: ShardedMap<usize>,
    /// The clusters that have it, each with what it says for itself.
    pub instances: ShardedMap<Arc<PeerInstance>>,
}

/// What an add-on on one cluster says for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerInstance {
    /// The mark of who installed it: `<namespace>/<name>` of a placement, `label-selector`, or "" for what a user or another
    /// program made.
    pub installed_by: Name,
    /// The version that it runs, "" while it reports none.
    pub version: Name,
    /// The cluster's own configurations.
    pub configs: Box<[ConfigRef]>,
    /// The version that it asks for, "" for none.
    pub desired_version: Name,
    /// Whether that is what a placement gave, so that it follows the placement.
    pub is_given: bool,
}

/// What counts of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    phase: Phase,
    instance: Arc<PeerInstance>,
}

impl Peer {
    pub(crate) fn of(instance: &Instance) -> Self {
        let phase = match instance.condition(PROGRESSING) {
            Some(condition) if condition.status == Status::True => Phase::Progressing,
            Some(condition) if is_failure(&condition.reason) => Phase::Failed,
            Some(_) | None => Phase::Settled,
        };
        let says = PeerInstance {
            installed_by: if instance.is_given() {
                instance.installed_by.clone()
            } else {
                Name::from("")
            },
            version: instance.current_version.clone(),
            configs: instance.configs.iter().cloned().collect(),
            desired_version: instance.desired_version.clone(),
            is_given: instance.has_given_version(),
        };
        Self {
            phase,
            instance: Arc::new(says),
        }
    }

    /// Returns the same with the shared copy of what it says.
    pub(crate) fn shared(self, known: &mut Table<PeerInstance>) -> Self {
        Self {
            phase: self.phase,
            instance: known.share(Arc::unwrap_or_clone(self.instance)),
        }
    }
}

/// Both vocabularies of the condition count.
fn is_failure(reason: &str) -> bool {
    *reason == Reason::ConfigurationUnsupported || reason.ends_with("Failed")
}

impl PeerFacts {
    /// Counts that the instance on a cluster was one thing and is another.
    pub(crate) fn count(&mut self, cluster: &Name, old: Option<&Peer>, new: Option<&Peer>) {
        let add = |count: &mut usize| *count = count.saturating_add(1);
        let take = |count: &mut usize| *count = count.saturating_sub(1);
        if let Some(old) = old {
            self.each_count(old, take);
            self.by_version.retain(|_, count| *count > 0);
            self.each_config(old, take);
        }
        if let Some(new) = new {
            self.each_count(new, add);
            self.each_config(new, add);
        }
        self.instances
            .set(cluster, new.map(|peer| Arc::clone(&peer.instance)));
    }

    fn each_config(&mut self, peer: &Peer, change: impl Fn(&mut usize)) {
        for config in &peer.instance.configs {
            let ConfigRef { of, namespace, name } = config;
            let key = Name::from(config_key(&of.group, &of.resource, namespace, name));
            let mut count = self.own_configs.get(&key).copied().unwrap_or_default();
            change(&mut count);
            self.own_configs.set(&key, (count > 0).then_some(count));
        }
    }

    fn each_count(&mut self, peer: &Peer, change: impl Fn(&mut usize)) {
        change(&mut self.clusters);
        match peer.phase {
            Phase::Progressing => change(&mut self.progressing),
            Phase::Failed => change(&mut self.failed),
            Phase::Settled => {}
        }
        let version = &peer.instance.version;
        if !version.is_empty() {
            change(self.by_version.entry(version.clone()).or_default());
        }
    }
}
