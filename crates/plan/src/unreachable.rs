//! What is said about the agents of a cluster that is not reachable: `Available` is Unknown, in the cluster's own words.
//!
//! Holds for every add-on, however it is deployed. Never says that an agent is back: that is for the agent or its prober to say.

use jiff::Timestamp;

use super::available::AVAILABLE;
use super::conditions::Wish;
use super::diff;
use super::stock;
use super::types::Action;
use api::reason::Reason;
use store::{Cluster, Instance, Status, View};

/// Returns what should stand in `Available` while the cluster cannot be reached.
pub(super) fn available(cluster: Option<&Cluster>) -> Option<Wish<'_>> {
    let (reason, message) = cluster?.unknown.as_ref()?;
    Some(
        Wish::new(
            AVAILABLE,
            Status::Unknown,
            Reason::ManagedClusterUnknown,
            &**message,
        )
        .quoting(reason),
    )
}

/// Returns the status writes for the instances of an add-on about which nothing else is written.
pub(super) fn statuses(view: &View<'_>, now: Timestamp) -> Vec<Action> {
    let alive = view.instances().filter(|instance| !instance.meta.deleting);
    alive.filter_map(|instance| status(view, instance, now)).collect()
}

fn status(view: &View<'_>, instance: &Instance, now: Timestamp) -> Option<Action> {
    let cluster = view.cluster(&instance.cluster);
    let wishes = stock::bared(view, vec![available(cluster)?]);
    diff::conditions(instance, &wishes, None, now)
}
