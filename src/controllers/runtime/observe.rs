//! What is done with a plan where nothing is written: it is told.
//!
//! Decides the words. Never writes, and tells the same once only.

use tracing::{debug, info};

use crate::telemetry::{Act, Metrics, PendingAction};
use plan::{Action, Plan};
use snapshot::Owner;

/// Tells what would be written for an owner: in metrics, on a page, and in the log where it is news.
pub(super) fn tell(metrics: &Metrics, owner: &Owner, plan: &Plan) {
    let actions: Vec<PendingAction> = plan.actions.iter().map(pending).collect();
    let count = actions.len();
    for one in &actions {
        debug!(%owner, act = ?one.act, object = %one.object, why = one.why, "would be written");
    }
    if metrics.modes().would_write(&owner.name, actions) {
        info!(%owner, actions = count, "what would be written has changed");
    }
}

/// Notes that an owner is gone.
pub(super) fn forget(metrics: &Metrics, owner: &Owner) {
    metrics.modes().would_write(&owner.name, Vec::new());
}

fn pending(action: &Action) -> PendingAction {
    let object = action.object();
    let (act, why) = match action {
        Action::Create { why, .. } => (Act::Create, *why),
        Action::Replace { why, .. } => (Act::Patch, *why),
        Action::Delete { why, .. } => (Act::Delete, *why),
        Action::Status { .. } => (Act::Status, ""),
        Action::Certify { .. } => (Act::Certify, ""),
    };
    PendingAction {
        act,
        resource: object.kind.address().resource,
        object: object.to_string(),
        why,
    }
}
