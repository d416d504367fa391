//! Why a cluster is not ready: all its add-ons and upgrades.
//!
//! Whether a user has to act, the cause and its time are those of `why` for each of them.

use jiff::Timestamp;

use super::answer::{Answer, Grade};
use super::find::why_in;
use super::upgrade_answer::why_upgrade_from;
use crate::cockpit::{
    ClusterRollout, ClusterRollouts, ClusterState, TargetKind, UnknownCluster, cluster_rollouts,
};
use crate::offline::Hub;
use store::{Settings, Store};

/// Returns what a cluster has of every add-on and upgrade, those first for which a user has to act.
///
/// # Errors
///
/// Fails if neither the hub nor a rollout has the cluster.
pub fn why_cluster(
    hub: &Hub,
    settings: Settings,
    cluster: &str,
    now: Timestamp,
) -> Result<ClusterRollouts, UnknownCluster> {
    let store = hub.store(settings);
    let mut rollouts = cluster_rollouts(&store, cluster, now)?;
    for one in &mut rollouts.items {
        diagnose(hub, &store, one, now);
    }
    rollouts.sort();
    Ok(rollouts)
}

fn diagnose(hub: &Hub, store: &Store, one: &mut ClusterRollout, now: Timestamp) {
    let (name, cluster) = (&*one.target.name, &*one.cluster.name);
    match one.target.kind {
        TargetKind::ClusterManagementAddOn => {
            if let Ok(answer) = why_in(hub, store, name, Some(cluster), true, now) {
                adopt(one, answer);
            }
        }
        TargetKind::ManagedClustersUpgrade => {
            let name = format!("{}/{name}", one.target.namespace);
            if let Ok(answer) = why_upgrade_from(store, &name, Some(cluster), now) {
                one.well = answer.is_well();
            }
        }
    }
}

fn adopt(one: &mut ClusterRollout, answer: Answer) {
    one.well = answer.is_well();
    let whole = answer.groups.into_iter().find(|group| group.clusters.is_empty());
    let whole = whole.map(|group| group.detail).unwrap_or_default();
    let Some(chain) = answer.chains.into_iter().next() else {
        return;
    };
    // What keeps a cluster from its update is no fault of its agent.
    if one.cluster.state != ClusterState::Waiting {
        one.cluster.healthy = !matches!(chain.grade, Some(Grade::Fault));
    }
    one.cluster.since = chain.since;
    one.cluster.message = if chain.detail.is_empty() {
        whole
    } else {
        chain.detail
    };
}
