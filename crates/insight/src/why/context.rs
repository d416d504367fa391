//! What the chains of one add-on share.
//!
//! Decides nothing but what hub and view say at once. Never follows a chain.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::answer::Cause;
use super::conditions::PlannedConditions;
use super::placements::{DecidedGroup, DecidedPlacements};
use super::stage::Stages;
use super::{causes, command};
use crate::offline::Hub;
use plan::{Turn, Wait};
use store::{Cluster, InstallStrategy, Status, View};

/// What clusters wait for that have the same places in the decisions.
pub(super) type Turns = RefCell<BTreeMap<(Turn, Vec<DecidedGroup>), Cause>>;

/// Everything that the chains of one add-on share.
pub(super) struct Context<'a> {
    pub(super) hub: &'a Hub,
    pub(super) view: View<'a>,
    pub(super) waits: &'a [Wait],
    pub(super) conditions: &'a PlannedConditions,
    pub(super) decided: DecidedPlacements,
    /// The clusters from which the plan takes the add-on.
    pub(super) going: BTreeSet<String>,
    pub(super) now: Timestamp,
    /// How far each cluster is; found out when a cluster waits for others.
    pub(super) stages: OnceCell<Stages>,
    /// What was found out about clusters that wait for the same.
    pub(super) turns: Turns,
}

impl Context<'_> {
    /// Tells whether the add-on is to be installed on a cluster.
    pub(super) fn selects(&self, cluster: &str) -> bool {
        let addon = self.view.addon;
        match &addon.strategy {
            InstallStrategy::Placements => self.decided.home(cluster).is_some(),
            InstallStrategy::Labels(Some(selector)) => self
                .view
                .cluster(cluster)
                .is_some_and(|cluster| addon.managed && cluster.is_matched_by(selector)),
            InstallStrategy::Manual
            | InstallStrategy::Labels(None)
            | InstallStrategy::BadLabels(_)
            | InstallStrategy::Other(_) => false,
        }
    }

    /// The command that allows removals for an hour.
    pub(super) fn let_removals_go(&self) -> String {
        let hour = jiff::SignedDuration::from_hours(1);
        let until = self.now.saturating_add(hour).unwrap_or(self.now);
        let until = Timestamp::from_second(until.as_second()).unwrap_or(until);
        format!(
            "kubectl annotate --field-manager=ops clustermanagementaddon {} --overwrite {}={until}",
            command::quoted(&self.view.addon.name),
            store::terms::REMOVALS_ALLOWED_UNTIL
        )
    }
}

/// Why nothing that is reported of a cluster counts: it does not exist, is being deleted, is not accepted, or is not available to the hub.
pub(super) fn away(cluster: Option<&Cluster>) -> Option<Cause> {
    let (doc, detail) = match cluster {
        None => (causes::CLUSTER_MISSING, "the cluster has no ManagedCluster"),
        Some(cluster) if cluster.meta.deleting => {
            (causes::CLUSTER_LEAVING, "the ManagedCluster is being deleted")
        }
        Some(cluster) if !cluster.accepted => (causes::NOT_ACCEPTED, "the hub has not accepted the cluster"),
        Some(cluster) => match cluster.available {
            Some(Status::True) => return None,
            Some(Status::False | Status::Unknown) => {
                (causes::UNREACHABLE, "the cluster is not available to the hub")
            }
            None => (causes::UNREACHABLE, "the cluster has never reported to the hub"),
        },
    };
    Some(Cause::new(doc, detail))
}
