//! What is done with a plan where nothing is written: it is told.
//!
//! Decides the words. Never writes, and tells the same once only.

use tracing::{debug, info};

use crate::telemetry::{Act, Metrics, PendingAction};
use plan::{Action, Plan};
use store::{Kind, Owner};

/// Tells what would be written for an owner: in metrics, on a page, and in the log where it is news.
pub(super) fn tell(metrics: &Metrics, owner: &Owner, plan: &Plan) {
    let actions: Vec<PendingAction> = plan.actions.iter().map(pending).collect();
    let count = actions.len();
    for one in &actions {
        debug!(%owner, act = ?one.act, object = %one.object, why = one.why, "would be written");
    }
    if metrics.modes().would_write(&told(owner), actions) {
        info!(%owner, actions = count, "what would be written has changed");
    }
}

/// Notes that an owner is gone.
pub(super) fn forget(metrics: &Metrics, owner: &Owner) {
    metrics.modes().would_write(&told(owner), Vec::new());
}

/// An add-on goes by its name; owners of other kinds may have the same one.
fn told(owner: &Owner) -> String {
    if owner.kind == Kind::AddOn {
        return owner.name.to_string();
    }
    owner.to_string()
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
    fn an_add_on_and_an_upgrade_of_one_name_are_told_apart() {
        let metrics = Metrics::default();
        metrics.modes().observe();
        let (addon, upgrade) = (
            Owner::addon(&"same".into()),
            Owner::new(Kind::Upgrade, "default", "same"),
        );
        tell(&metrics, &addon, &removal("c1"));
        tell(&metrics, &upgrade, &removal("c2"));
        let page = metrics.modes().page().expect("a page");
        assert!(page.contains("same: delete ManifestWork c1/work"), "{page}");
        assert!(page.contains("c2/work"), "{page}");
        forget(&metrics, &upgrade);
        let page = metrics.modes().page().expect("a page");
        assert!(page.contains("c1/work") && !page.contains("c2/work"), "{page}");
    }
}
