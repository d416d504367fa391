//! The labels by which a `ManagedCluster` tells which add-ons it has: `feature.open-cluster-management.io/addon-<name>`.
//!
//! Decides the value that the registration controller of a hub decides, so that both may run. Never touches another label,
//! nor a cluster that is being deleted.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::types::{Action, Revision, Wait, WaitOn, earliest};
use crate::conditions::available::AVAILABLE;
use store::{Cluster, DiscoveryLabels, Instance, Kind, Name, ObjectKey, Status, View, order, terms};

/// How long a new add-on is given before it is called anything but available: most are by then, and one label is enough.
const NEW: SignedDuration = SignedDuration::from_mins(1);
/// Longest name that a label may have behind its prefix.
const LONGEST: usize = 63;

/// What is left to do about the labels of one add-on.
#[derive(Debug, Default)]
pub(super) struct Labels<'v> {
    pub(super) actions: Vec<Action>,
    /// The clusters about which nothing is said yet, because their instances are new and were never available so far.
    pub(super) early: Vec<&'v Name>,
    pub(super) wait: Option<Wait>,
    pub(super) recheck_at: Option<Timestamp>,
}

/// Returns the writes that make all labels of the add-on right.
pub(super) fn labels<'v>(view: &View<'v>, now: Timestamp) -> Labels<'v> {
    let mut labels = Labels::default();
    if view.settings().discovery_labels == DiscoveryLabels::Off {
        return labels;
    }
    let key = format!("{}{}", terms::FEATURE_PREFIX, view.addon.name);
    if key.rsplit('/').next().is_some_and(|name| name.len() > LONGEST) {
        labels.wait = view.all_instances().next().map(|_| Wait::addon(WaitOn::Label));
        return labels;
    }
    // Both are sorted by cluster, so that a fleet in which all labels are right is walked through once.
    let mut told = view.features().peekable();
    let alive = view.instances().filter(|instance| !instance.meta.deleting);
    for instance in alive {
        while let Some((cluster, _)) = told.next_if(|(cluster, _)| order(cluster, &instance.cluster).is_lt())
        {
            labels.actions.extend(patch(view, cluster, &key, None));
        }
        let current = told.next_if(|(cluster, _)| order(cluster, &instance.cluster).is_eq());
        let current = current.map(|(_, value)| &**value);
        let value = value(instance);
        if current == Some(value) {
            continue;
        }
        match too_new(instance, value, now).filter(|_| current.is_none()) {
            Some(until) => {
                labels.recheck_at = earliest(labels.recheck_at, Some(until));
                labels.early.push(&instance.cluster);
            }
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

/// Returns until when nothing is said about an instance that was never available so far.
fn too_new(instance: &Instance, value: &str, now: Timestamp) -> Option<Timestamp> {
    let until = instance.farewell.created()?.checked_add(NEW).ok()?;
    (value != "available" && now < until).then_some(until)
}

fn patch(view: &View<'_>, cluster: &Name, key: &str, value: Option<&str>) -> Option<Action> {
    let found: &Cluster = view.cluster(cluster)?;
    (!found.meta.deleting).then(|| Action::Replace {
        object: ObjectKey::new(Kind::Cluster, "", cluster.clone()),
        before: Revision::from(&found.meta),
        patch: json!({"metadata": {"labels": {key: value}}}).into(),
        why: "labels of the cluster list its add-ons",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use store::{Event, Settings, Store};

    fn put(store: &mut Store, kind: Kind, mut object: Value) {
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!("1");
        store.apply(Event::Applied { kind, object });
    }

    /// The labels of an add-on on one cluster: what is written, and what stands there afterwards.
    fn check(addon: &str, status: Option<&str>, age: &str, label: Option<&str>) -> Labels<'static> {
        let mut store = Store::new(Settings::default());
        let labels: serde_json::Map<String, Value> = label
            .map(|value| (format!("{}{addon}", terms::FEATURE_PREFIX), json!(value)))
            .into_iter()
            .collect();
        put(
            &mut store,
            Kind::Cluster,
            json!({"metadata": {"name": "c1", "labels": labels}}),
        );
        let conditions: Vec<Value> = status
            .map(|status| json!({"type": "Available", "status": status, "reason": "R", "message": "", "lastTransitionTime": age}))
            .into_iter()
            .collect();
        let instance = json!({"metadata": {"name": addon, "namespace": "c1", "creationTimestamp": age}, "spec": {},
            "status": {"conditions": conditions}});
        put(&mut store, Kind::Instance, instance);
        let view = store.view(addon).expect("an instance is enough");
        labels_at(&view)
    }

    fn labels_at(view: &View<'_>) -> Labels<'static> {
        let labels = super::labels(view, "2030-01-01T00:01:00Z".parse().expect("a time"));
        assert_eq!(labels.early.is_empty(), labels.recheck_at.is_none());
        Labels {
            early: Vec::new(),
            ..labels
        }
    }

    const OLD: &str = "2030-01-01T00:00:00Z";
    const YOUNG: &str = "2030-01-01T00:00:30Z";

    #[test]
    fn a_label_says_what_the_registration_of_a_hub_would_say() {
        for (status, age, label, written) in [
            (Some("True"), YOUNG, None, Some("available")),
            (Some("False"), OLD, None, Some("unhealthy")),
            (Some("Unknown"), OLD, None, Some("unreachable")),
            (None, OLD, None, Some("unreachable")),
            // One that is new is given a minute; one that was available is not.
            (None, YOUNG, None, None),
            (Some("False"), YOUNG, None, None),
            (Some("False"), YOUNG, Some("available"), Some("unhealthy")),
            (Some("Unknown"), YOUNG, Some("available"), Some("unreachable")),
            (Some("True"), OLD, Some("available"), None),
        ] {
            let labels = check("hello", status, age, label);
            let expected = written.map(|value| json!({"metadata": {"labels": {"feature.open-cluster-management.io/addon-hello": value}}}));
            let patches: Vec<Value> = labels
                .actions
                .iter()
                .filter_map(|action| match action {
                    Action::Replace { patch, .. } => Some(patch.value()),
                    Action::Create { .. }
                    | Action::Status { .. }
                    | Action::Delete { .. }
                    | Action::Certify { .. } => None,
                })
                .collect();
            assert_eq!(
                patches,
                expected.into_iter().collect::<Vec<_>>(),
                "{status:?} {age} {label:?}"
            );
        }
    }

    #[test]
    fn a_new_add_on_is_looked_at_again_after_its_minute() {
        let again = check("hello", None, YOUNG, None).recheck_at;
        assert_eq!(
            again.map(|at| at.to_string()).as_deref(),
            Some("2030-01-01T00:01:30Z")
        );
    }

    #[test]
    fn a_name_that_is_too_long_for_a_label_is_left_out_and_told() {
        for (length, told) in [(57, false), (58, true)] {
            let labels = check(&"a".repeat(length), Some("True"), OLD, None);
            assert_eq!(labels.wait.is_some(), told, "{length}");
            assert_eq!(labels.actions.is_empty(), told, "{length}");
        }
    }
}
