//! What the loop reports: the plans of a replica that only observes, and the counts of the fleet.

use std::sync::Arc;

use tracing::{debug, info};

use crate::telemetry::{Act, AddOnCounts, FleetMetrics, Metrics, PendingAction};
use plan::{Action, Plan};
use store::{Kind, Owner, Store, Tally};

/// Reports what would be written for an owner: in metrics, on a page, and in the log where it is news.
pub(super) fn pending(metrics: &Metrics, owner: &Owner, plan: &Plan) {
    let actions: Vec<PendingAction> = plan.actions.iter().map(pending_action).collect();
    let count = actions.len();
    for one in &actions {
        debug!(%owner, act = ?one.act, object = %one.object, why = one.why, "would be written");
    }
    if metrics.modes().would_write(&label(owner), actions) {
        info!(%owner, actions = count, "pending writes changed");
    }
}

/// Notes that an owner was deleted.
pub(super) fn forget(metrics: &Metrics, owner: &Owner) {
    metrics.modes().would_write(&label(owner), Vec::new());
}

/// An add-on is named alone; owners of other kinds may have the same one.
fn label(owner: &Owner) -> String {
    if owner.kind == Kind::AddOn {
        return owner.name.to_string();
    }
    owner.to_string()
}

fn pending_action(action: &Action) -> PendingAction {
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

/// Whether what arrives is counted here: every replica sees it, and it must count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrivals {
    Counted,
    LeftToOthers,
}

impl From<bool> for Arrivals {
    fn from(leads: bool) -> Self {
        if leads { Self::Counted } else { Self::LeftToOthers }
    }
}

/// Reports the add-ons whose instances have changed.
pub(super) fn fleet(store: &mut Store, metrics: &FleetMetrics, arrivals: Arrivals) {
    for (addon, tally) in store.take_tallies() {
        metrics.tell(&addon, tally.as_ref().map(counts));
    }
    for one in store.take_arrivals() {
        if arrivals == Arrivals::Counted {
            metrics.arrived(&one.addon, one.took);
        }
    }
}

fn counts(tally: &Tally) -> AddOnCounts {
    let standings = tally.standings();
    let versions = tally.versions();
    AddOnCounts {
        instances: standings
            .map(|(standing, count)| (standing.word(), count))
            .collect(),
        rollout: tally
            .headway()
            .map(|(headway, count)| (headway.word(), count))
            .collect(),
        versions: versions
            .map(|(version, count)| (Arc::from(&**version), count))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::ObjectKey;

    fn removal(namespace: &str) -> Plan {
        Plan {
            actions: vec![Action::Delete {
                object: ObjectKey::new(Kind::Work, namespace, "work"),
                before: plan::Revision {
                    uid: "u".into(),
                    version: "1".into(),
                },
                why: "a test",
            }],
            ..Plan::default()
        }
    }

    #[test]
    fn an_add_on_and_an_upgrade_of_one_name_are_distinguished() {
        let metrics = Metrics::default();
        metrics.modes().observe();
        let (addon, upgrade) = (
            Owner::addon(&"same".into()),
            Owner::new(Kind::Upgrade, "default", "same"),
        );
        pending(&metrics, &addon, &removal("c1"));
        pending(&metrics, &upgrade, &removal("c2"));
        let page = metrics.modes().page().expect("a page");
        assert!(page.contains("same: delete ManifestWork c1/work"), "{page}");
        assert!(page.contains("c2/work"), "{page}");
        forget(&metrics, &upgrade);
        let page = metrics.modes().page().expect("a page");
        assert!(page.contains("c1/work") && !page.contains("c2/work"), "{page}");
    }
}
