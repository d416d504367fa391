//! What is written: the works whose turn has come, and those that are no longer needed.
//!
//! Decides writes with their preconditions; who may start is `pace`'s. Nothing is rendered before its turn.

use std::collections::BTreeMap;

use serde_json::Value;

use api::reason::Reason;
use model::Name;
use model::upgrade::{OcpVersion, Target, UpgradeSpec};

use crate::upgrade::cluster_standing::{ClusterStanding, Want, Works, needs_probe, next};
use crate::upgrade::pace::Turns;
use crate::upgrade::record::{Phase, Record, State};
use crate::upgrade::run_memory::Memory;
use crate::upgrade::works::{self, Platform, WorkMark};
use store::upgrade::Mode;
use store::upgrade::marks::Stage;
use store::upgrade::{View, Work};

/// The revision of a work that a write was planned from; a write on another must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
}

impl From<&Work> for Revision {
    fn from(work: &Work) -> Self {
        Self {
            uid: work.uid.clone(),
            version: work.version.clone(),
        }
    }
}

/// One write of a work. Its namespace is the cluster's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Create a work; one that is there already must not be touched.
    Create {
        /// The cluster.
        cluster: Name,
        /// Name of the work.
        name: String,
        /// What it is for.
        stage: Stage,
        /// The whole work.
        body: Value,
    },
    /// Replace the fields of a merge patch.
    Update {
        /// The cluster.
        cluster: Name,
        /// Name of the work.
        name: String,
        /// What it was planned from.
        before: Revision,
        /// Whether the work upgrades its cluster from then on, or only observes it.
        mode: Mode,
        /// The merge patch.
        patch: Value,
    },
    /// Delete a work.
    Delete {
        /// The cluster.
        cluster: Name,
        /// Name of the work.
        name: String,
        /// What it was planned from.
        before: Revision,
    },
}

impl Write {
    /// Returns the cluster and the name of the work.
    pub fn place(&self) -> (&Name, &str) {
        match self {
            Self::Create { cluster, name, .. }
            | Self::Update { cluster, name, .. }
            | Self::Delete { cluster, name, .. } => (cluster, name),
        }
    }
}

/// What works are written from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteContext<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) spec: &'a UpgradeSpec,
    pub(crate) memory: &'a Memory,
    /// Whether every cluster is complete, with the action after it.
    pub(crate) all_done: bool,
}

/// Returns the writes for the clusters that the upgrade is about.
pub(crate) fn writes(
    context: WriteContext<'_>,
    stands: &BTreeMap<Name, ClusterStanding>,
    works: &BTreeMap<Name, Works<'_>>,
    turns: &Turns,
) -> Vec<Write> {
    let mut all = Vec::new();
    let none = Works::default();
    for (cluster, stand) in stands {
        let there = works.get(cluster).unwrap_or(&none);
        if context.view.upgrade.held {
            let may = turns.start.contains(cluster) || turns.upgrade.contains(cluster);
            let found = context.view.clusters.get(cluster);
            let asks = stand.want == Want::Turn
                && there.probe.is_none()
                && found.is_some_and(|found| needs_probe(context.spec, found));
            match (
                wanted(context.spec, stand, there, may),
                there.probe,
                there.platform,
            ) {
                (Some(_), _, _) if asks && may => {
                    all.extend(create(context, cluster, Stage::Platform, Mode::ReadOnly));
                }
                (Some(Stage::Platform), Some(probe), _) => all.extend(first(context, cluster, probe)),
                (None, _, Some(work)) if stand.want == Want::Hop && may => {
                    all.extend(hop(context, cluster, work));
                }
                (stage, _, _) => {
                    all.extend(stage.and_then(|stage| create(context, cluster, stage, Mode::Apply)));
                }
            }
        }
        all.extend(given_up(context, cluster, &stand.record, there));
        all.extend(useless(context, cluster, &stand.record, there));
    }
    all.extend(withdrawn(context, stands));
    all
}

/// The work whose turn has come.
fn wanted(spec: &UpgradeSpec, stand: &ClusterStanding, works: &Works<'_>, may: bool) -> Option<Stage> {
    let first = if spec.target.is_some() {
        Stage::Platform
    } else {
        Stage::Operators
    };
    match stand.want {
        Want::Work(stage) => Some(stage),
        Want::Turn | Want::Upgrade if may && spec.before.is_some() && works.pre.is_none() => Some(Stage::Pre),
        Want::Turn | Want::Upgrade if may => Some(first),
        Want::Nothing | Want::Turn | Want::Upgrade | Want::Hop => None,
    }
}

fn create(context: WriteContext<'_>, cluster: &Name, stage: Stage, mode: Mode) -> Option<Write> {
    let upgrade = &context.view.upgrade;
    let name = stage.work(cluster, upgrade.name);
    let is_taken = context
        .view
        .works
        .get(cluster)
        .is_some_and(|works| works.contains_key(&name));
    if is_taken {
        return None;
    }
    let run = context.memory.mark(cluster);
    let mark = WorkMark {
        namespace: upgrade.namespace,
        name: upgrade.name,
        uid: upgrade.uid,
        run: &run,
    };
    let body = match stage {
        Stage::Pre => works::action(&mark, stage, cluster, context.spec.before.as_ref()?.work()),
        Stage::Post => works::action(&mark, stage, cluster, context.spec.after.as_ref()?.work()),
        Stage::Platform => {
            let target = first_target(context, cluster)?;
            works::platform(&mark, cluster, &platform(context, cluster, &target), mode)
        }
        Stage::Operators => {
            let length = context.spec.strategy.operators;
            works::operators(&mark, cluster, context.spec.operators.as_ref()?, length)
        }
    };
    Some(Write::Create {
        cluster: cluster.clone(),
        name,
        stage,
        body,
    })
}

fn first_target(context: WriteContext<'_>, cluster: &Name) -> Option<Target> {
    let found = context.view.clusters.get(cluster);
    let known = found.and_then(|found| OcpVersion::parse(&found.version).ok());
    Some(context.spec.target.as_ref()?.first(known.as_ref()))
}

/// The cluster is upgradeable: the work that asked upgrades it.
fn first(context: WriteContext<'_>, cluster: &Name, work: &Work) -> Option<Write> {
    Some(retarget(context, cluster, work, &first_target(context, cluster)?))
}

fn id<'a>(context: WriteContext<'a>, cluster: &Name) -> &'a str {
    context.view.clusters.get(cluster).map_or("", |found| &found.id)
}

fn platform<'a>(context: WriteContext<'a>, cluster: &Name, target: &'a Target) -> Platform<'a> {
    Platform {
        id: id(context, cluster),
        target,
        pools: &context.spec.strategy.pools,
    }
}

/// The work stays, and with it the lock on the cluster; it asks for the next version.
fn hop(context: WriteContext<'_>, cluster: &Name, work: &Work) -> Option<Write> {
    Some(retarget(context, cluster, work, &next(work, context.spec)?))
}

fn retarget(context: WriteContext<'_>, cluster: &Name, work: &Work, target: &Target) -> Write {
    Write::Update {
        cluster: cluster.clone(),
        name: Stage::Platform.work(cluster, context.view.upgrade.name),
        before: Revision::from(work),
        mode: Mode::Apply,
        patch: works::retarget(&platform(context, cluster, target)),
    }
}

/// A cluster that took too long is no longer told, only looked at: else the work would undo a version chosen by hand.
fn given_up(context: WriteContext<'_>, cluster: &Name, record: &Record, works: &Works<'_>) -> Option<Write> {
    let is_given_up = record.state == State::Failed && record.reason == Some(Reason::UpgradeTimeout);
    let work = works
        .platform
        .filter(|work| is_given_up && work.mode == Mode::Apply)?;
    Some(Write::Update {
        cluster: cluster.clone(),
        name: Stage::Platform.work(cluster, context.view.upgrade.name),
        before: Revision::from(work),
        mode: Mode::ReadOnly,
        patch: works::observation(id(context, cluster), &context.spec.strategy.pools, work),
    })
}

/// Works of a cluster that are no longer needed.
fn useless(context: WriteContext<'_>, cluster: &Name, record: &Record, works: &Works<'_>) -> Vec<Write> {
    let has_ended = record.has_ended();
    let keeps_looking = record.state == State::Failed && record.reason == Some(Reason::UpgradeTimeout);
    let each = [
        (Stage::Pre, works.pre, context.all_done || gives_up_before(record)),
        (Stage::Platform, works.probe, has_ended),
        (Stage::Platform, works.platform, has_ended && !keeps_looking),
        (Stage::Operators, works.operators, has_ended),
        (Stage::Post, works.post, context.all_done),
    ];
    let ours = each.into_iter().filter(|(_, _, is_useless)| *is_useless);
    let ours = ours.filter_map(|(stage, work, _)| Some((stage, work?)));
    let left = works.left.iter().copied();
    let all = ours.chain(left).filter(|(_, work)| !work.deleting);
    all.map(|(stage, work)| delete(context, cluster, stage, work))
        .collect()
}

/// An action that took too long before the upgrade must not begin when the upgrade no longer waits for it.
fn gives_up_before(record: &Record) -> bool {
    record.state == State::Failed
        && record.reason == Some(Reason::PreActionFailed)
        && record.phase == Phase::Done
}

fn delete(context: WriteContext<'_>, cluster: &Name, stage: Stage, work: &Work) -> Write {
    Write::Delete {
        cluster: cluster.clone(),
        name: stage.work(cluster, context.view.upgrade.name),
        before: Revision::from(work),
    }
}

/// Works on clusters that the upgrade is not about any more: they never began.
fn withdrawn(context: WriteContext<'_>, stands: &BTreeMap<Name, ClusterStanding>) -> Vec<Write> {
    let gone = context
        .view
        .works
        .iter()
        .filter(|(cluster, _)| !stands.contains_key(*cluster));
    gone.flat_map(|(cluster, works)| ours(context.view, cluster, works))
        .collect()
}

/// Returns the deletions of all works of an upgrade on a cluster.
pub(crate) fn ours(view: &View<'_>, cluster: &Name, works: &BTreeMap<String, Work>) -> Vec<Write> {
    let ours = works
        .iter()
        .filter(|(_, work)| work.owner == view.upgrade.uid && !work.deleting);
    ours.map(|(name, work)| Write::Delete {
        cluster: cluster.clone(),
        name: name.clone(),
        before: Revision::from(work),
    })
    .collect()
}
