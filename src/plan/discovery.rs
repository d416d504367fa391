//! The labels by which a `ManagedCluster` tells which add-ons it has: `feature.open-cluster-management.io/addon-<name>`.
//!
//! Decides the value that the registration controller of a hub decides, so that both may run. Never touches another label,
//! nor a cluster that is being deleted.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::available::AVAILABLE;
use super::types::{Action, Revision, Wait, WaitOn, earliest};
use crate::snapshot::{Cluster, DiscoveryLabels, Instance, Kind, Name, ObjectKey, Status, View, terms};

/// How long a new add-on is given before it is called unreachable: most are available by then, and one label is enough.
const NEW: SignedDuration = SignedDuration::from_mins(1);
/// Longest name that a label may have behind its prefix.
const LONGEST: usize = 63;

/// What is left to do about the labels of one add-on.
#[derive(Debug, Default)]
pub(super) struct Labels {
    pub(super) actions: Vec<Action>,
    pub(super) wait: Option<Wait>,
    pub(super) recheck_at: Option<Timestamp>,
}

/// Returns the writes that make all labels of the add-on right.
pub(super) fn labels(view: &View<'_>, now: Timestamp) -> Labels {
    let mut labels = Labels::default();
    if view.settings().discovery_labels == DiscoveryLabels::Off {
        return labels;
    }
    let key = format!("{}{}", terms::FEATURE_PREFIX, view.addon.name);
    if key.rsplit('/').next().is_some_and(|name| name.len() > LONGEST) {
        labels.wait = view.instances().next().map(|_| Wait::addon(WaitOn::Label));
        return labels;
    }
    // Both are sorted by cluster, so that a fleet in which all labels are right is walked through once.
    let mut told = view.features().peekable();
    let alive = view.instances().filter(|instance| !instance.meta.deleting);
    for instance in alive {
        while let Some((cluster, _)) = told.next_if(|(cluster, _)| *cluster < &instance.cluster) {
            labels.actions.extend(patch(view, cluster, &key, None));
        }
        let current = told.next_if(|(cluster, _)| *cluster == &instance.cluster);
        let current = current.map(|(_, value)| &**value);
        let value = value(instance);
        if current == Some(value) {
            continue;
        }
        match too_new(instance, value, now).filter(|_| current.is_none()) {
            Some(until) => labels.recheck_at = earliest(labels.recheck_at, Some(until)),
            None => labels
                .actions
                .extend(patch(view, &instance.cluster, &key, Some(value))),
        }
    }
    for (cluster, _) in told {
        labels.actions.extend(patch(view, cluster, &key, None));
    }
    labels
}

fn value(instance: &Instance) -> &'static str {
    match instance.condition(AVAILABLE).map(|condition| condition.status) {
        Some(Status::True) => "available",
        Some(Status::False) => "unhealthy",
        Some(Status::Unknown) | None => "unreachable",
    }
}

/// Returns until when nothing is said about an instance that nobody has heard of yet.
fn too_new(instance: &Instance, value: &str, now: Timestamp) -> Option<Timestamp> {
    let until = instance.farewell.created?.checked_add(NEW).ok()?;
    (value == "unreachable" && now < until).then_some(until)
}

fn patch(view: &View<'_>, cluster: &Name, key: &str, value: Option<&str>) -> Option<Action> {
    let found: &Cluster = view.cluster(cluster)?;
    (!found.meta.deleting).then(|| Action::Replace {
        object: ObjectKey::new(Kind::Cluster, "", cluster.clone()),
        before: Revision::from(&found.meta),
        patch: json!({"metadata": {"labels": {key: value}}}),
        why: "clusters tell which add-ons they have",
    })
}
