//! What a plan is made from: one upgrade, its clusters, and the works that carry its marks or stand in its way.
//!
//! Decides nothing. The caller fills it from the hub, and need not know which clusters are selected.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use api::cluster::{ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus};
use api::hash::Keys;
use model::upgrade::PlacementKey;
use model::{Name, ResolvedSettings};

use crate::record::{ApprovalRecord, FreezeRecord};
use crate::upgrade::access::PlacementAccess;
use crate::upgrade::marks::Stage;

/// The works of a cluster by their names.
pub type WorksByName = BTreeMap<String, Work>;

/// What a plan is made from.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The upgrade.
    pub upgrade: Upgrade<'a>,
    /// The clusters that placements have decided for. A placement that is not here does not exist.
    pub placements: BTreeMap<PlacementKey, BTreeSet<Name>>,
    /// The placements of other namespaces for which no valid record shows that the author may use them: no cluster starts by them.
    pub unproven: BTreeSet<PlacementKey>,
    /// Whether some placement names fewer clusters than its scheduler has selected: who is absent may be selected all the same,
    /// and may be one of those that go first.
    pub undecided: bool,
    /// The cluster sets that are bound to the namespace of the upgrade, with their clusters.
    pub sets: BTreeMap<String, BTreeSet<Name>>,
    /// The clusters of the hub.
    pub clusters: Cow<'a, BTreeMap<Name, Cluster>>,
    /// By cluster and name: the works of any upgrade, and whatever else has the name of one.
    pub works: Cow<'a, BTreeMap<Name, WorksByName>>,
    /// The freezes that may stop upgrades, in force or not.
    pub freezes: Vec<&'a FreezeRecord>,
    /// The approvals of its stages, by their names.
    pub approvals: BTreeMap<&'a Name, &'a ApprovalRecord>,
    /// The checks that its stages and profiles name, with their last results.
    pub checks: BTreeMap<Name, model::Check>,
    /// Whether the hub shows approvals.
    pub shows_approvals: bool,
    /// The settings of its profile and of the default one.
    pub settings: ResolvedSettings<'a>,
    /// Why it is not known what they are: then no cluster starts.
    pub settings_fault: Option<Name>,
    /// By cluster: the work that the hub refuses to write for this upgrade, and what it says.
    pub refused: BTreeMap<Name, Refusal>,
    /// What the hub says when it refuses to write the upgrade itself.
    pub unwritten: Option<String>,
}

impl View<'_> {
    /// Returns this view with the placements of other namespaces counted as unproven, unless the record of the upgrade is valid.
    #[must_use]
    pub fn proven_by(self, keys: &Keys) -> Self {
        let access = self.upgrade.access();
        let unproven = if access.is_recorded(self.upgrade.record, keys) {
            BTreeSet::new()
        } else {
            access.foreign()
        };
        Self { unproven, ..self }
    }

    /// Returns the same view without copies of clusters and works: the caller has its own.
    #[must_use]
    pub fn clone_sources(&self) -> Self {
        Self {
            upgrade: self.upgrade,
            placements: self.placements.clone(),
            unproven: self.unproven.clone(),
            undecided: self.undecided,
            sets: self.sets.clone(),
            clusters: Cow::Owned(BTreeMap::new()),
            works: Cow::Owned(BTreeMap::new()),
            freezes: self.freezes.clone(),
            approvals: self.approvals.clone(),
            checks: self.checks.clone(),
            shows_approvals: self.shows_approvals,
            settings: self.settings,
            settings_fault: self.settings_fault.clone(),
            refused: self.refused.clone(),
            unwritten: self.unwritten.clone(),
        }
    }
}

/// A write that the hub refuses until something changes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the work.
    pub work: String,
    /// What the hub says.
    pub why: String,
}

/// The upgrade.
#[derive(Debug, Clone, Copy)]
pub struct Upgrade<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Its generation.
    pub generation: i64,
    /// The annotation that asks for another try; empty when absent.
    pub retry: &'a str,
    /// The record that its author may use placements of other namespaces; empty when absent.
    pub record: &'a str,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has the finalizer.
    pub held: bool,
    /// What is asked.
    pub spec: &'a ManagedClustersUpgradeSpec,
    /// What was told last: the memory of the plan.
    pub status: &'a ManagedClustersUpgradeStatus,
}

impl Upgrade<'_> {
    /// Returns what the record of its placements is about.
    pub fn access(&self) -> PlacementAccess<'_> {
        PlacementAccess {
            namespace: self.namespace,
            name: self.name,
            spec: self.spec,
        }
    }
}

/// A cluster of the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its id as OpenShift has it; empty when unknown.
    pub id: String,
    /// Its version of OpenShift; empty when unknown.
    pub version: String,
    /// Whether it answers.
    pub available: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// A work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
    /// Uid of the upgrade that it belongs to; empty when it belongs to none.
    pub owner: String,
    /// Namespace and name of that upgrade; empty when they are not said.
    pub owned_by: String,
    /// What it is for; absent when it does not say.
    pub stage: Option<Stage>,
    /// The run and the attempt that it was written in.
    pub run: String,
    /// When it was created.
    pub created: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// How far the agent is with applying it.
    pub applied: Applied,
    /// Why the agent could not apply it as it stands; empty when it has not reported a failure.
    pub failure: String,
    /// Whether it only looks.
    pub mode: Mode,
    /// Version and image that it asks of a cluster; empty when it asks none.
    pub target: (String, String),
    /// Its manifests, as far as the agent reports them.
    pub manifests: Vec<Manifest>,
    /// How many manifests it has.
    pub count: usize,
}

/// How far the agent is with applying a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The agent has never said so.
    Never,
    /// The agent has said so of another generation, or that it failed.
    Not,
    /// It is applied as it stands.
    Yes,
}

/// A manifest of a work, as the agent reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// What it is when it is something that runs to an end.
    pub runs: Option<Runs>,
    /// Its conditions that are True or False.
    pub conditions: BTreeMap<String, bool>,
    /// What was reported back.
    pub feedback: BTreeMap<String, String>,
}

/// Whether a work changes its cluster or only reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It applies its manifests.
    Apply,
    /// It reports: the upgrade took longer than it may.
    ReadOnly,
}

/// Something that runs to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// A Job of `batch`.
    Job,
    /// A Pod.
    Pod,
}

impl Runs {
    /// Returns what an API version and a kind are, when such objects run to an end.
    pub fn named(version: &str, kind: &str) -> Option<Self> {
        match (version.rsplit_once('/').map_or("", |(group, _)| group), kind) {
            ("batch", "Job") => Some(Self::Job),
            ("", "Pod") => Some(Self::Pod),
            (_, _) => None,
        }
    }
}
