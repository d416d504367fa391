//! Removals of instances: no more than a minute has, and none that rests on an absence that is not to be believed.
//!
//! Decides nothing and repairs nothing; counts from the view and the writes alone.

use jiff::{SignedDuration, Timestamp};

use plan::{Action, Plan};
use store::{InstallStrategy, Instance, Kind, Pace, RemovalBudget, View};

/// How long a cluster must have been absent that was not seen to go.
const UNSEEN: SignedDuration = SignedDuration::from_mins(10);

/// Returns what is wrong with the removals of a plan, as sentences.
pub(super) fn broken(view: &View<'_>, plan: &Plan, now: Timestamp) -> Vec<String> {
    if view.lets_removals_go(now) {
        return Vec::new();
    }
    let going: Vec<&Instance> = plan
        .actions
        .iter()
        .filter_map(|action| removed(view, action))
        .collect();
    let unbelieved = going.iter().filter(|instance| !is_believed(view, instance, now));
    let unbelieved = unbelieved.map(|instance| {
        let cluster = &instance.cluster;
        format!("{cluster} loses the add-on because its ManagedCluster is absent, and its deletion is not confirmed")
    });
    unbelieved.chain(too_many(view, going.len(), now)).collect()
}

/// The instance that a write removes, unless it goes with its cluster.
fn removed<'v>(view: &View<'v>, action: &Action) -> Option<&'v Instance> {
    match action {
        Action::Delete { object, .. } if object.kind == Kind::Instance => {
            let cluster = view.cluster(&object.namespace);
            let leaves = cluster.is_some_and(|cluster| cluster.meta.deleting);
            view.instance(&object.namespace).filter(|_| !leaves)
        }
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    }
}

fn is_believed(view: &View<'_>, instance: &Instance, now: Timestamp) -> bool {
    if !matches!(view.addon.strategy, InstallStrategy::Labels(_)) || view.cluster(&instance.cluster).is_some()
    {
        return true;
    }
    let lasted = |since: Timestamp| now.duration_since(since) >= UNSEEN;
    let lasts = instance.deselected_at.is_some_and(lasted) && view.writes_since().is_none_or(lasted);
    let absences = view.absences();
    view.is_seen_gone(&instance.cluster) || (lasts && absences.absent.saturating_sub(1) * 10 < absences.all)
}

fn too_many(view: &View<'_>, going: usize, now: Timestamp) -> Option<String> {
    if going == 0 {
        return None;
    }
    let RemovalBudget::AtMost { instances, share } = view.settings().removal_budget else {
        return None;
    };
    let all = view.all_instances().count();
    let left = match view.pace(now) {
        Pace::Free => going,
        Pace::Left { now, .. } => now,
    };
    // What went in the last minute counts as there, so that the share may be a little larger than that of what is left.
    let most = instances.max(share.of(all.saturating_mul(2))).max(1);
    (going > left || (all > instances && going > most))
        .then(|| format!("{going} of {all} instances would go at once, and {left} may"))
}
