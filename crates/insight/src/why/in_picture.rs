//! The causes of `why` in the picture of an add-on's rollout.
//!
//! The conditions of an instance only summarize what its ManifestWorks report.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::find::why_in;
use crate::cockpit::{ClusterView, Picture, TargetKind};
use crate::offline::Hub;
use store::Store;

/// Replaces the messages of clusters that wait for an agent with a problem by their causes.
pub fn explain_agents(picture: &mut Picture, hub: &Hub, store: &Store, now: Timestamp) {
    let is_addon = picture.target.kind == TargetKind::ClusterManagementAddOn;
    if !is_addon || !picture.clusters.iter().any(ClusterView::has_agent_problem) {
        return;
    }
    let Ok(answer) = why_in(hub, store, &picture.target.name, None, false, now) else {
        return;
    };
    let groups = answer.groups.iter();
    let causes = groups.flat_map(|group| group.clusters.iter().map(|name| (name, &group.detail)));
    let causes: BTreeMap<&String, &String> = causes.collect();
    let unwell = picture.clusters.iter_mut().filter(|one| one.has_agent_problem());
    for cluster in unwell {
        if let Some(cause) = causes.get(&cluster.name) {
            (*cause).clone_into(&mut cluster.message);
        }
    }
}
