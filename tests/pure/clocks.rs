//! Timestamps of a leader with a wrong clock do not block a cluster for years.

use jiff::Timestamp;
use plan::{self, Action};
use serde_json::{Value, json};
use store::{Event, Kind, Settings, Store};

const NOW: &str = "2030-01-01T00:00:00Z";

/// When the plan says that the present configuration was assigned; null if it does not.
fn reassigned(noted: &str) -> Value {
    let mut store = Store::new(Settings::default());
    let assigned = json!({"type": "Assigned", "status": "True", "reason": "ConfigurationsAssigned", "message": "", "lastTransitionTime": noted});
    let owner = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn", "name": "hello", "uid": "u"});
    let objects = [
        (Kind::AddOn, json!({"metadata": {"name": "hello"}, "spec": {}})),
        (
            Kind::Cluster,
            json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
        ),
        (
            Kind::Instance,
            json!({"metadata": {"name": "hello", "namespace": "c1", "ownerReferences": [owner]}, "spec": {}, "status": {"conditions": [assigned]}}),
        ),
    ];
    for (kind, mut object) in objects {
        object["metadata"]["uid"] = json!("u");
        object["metadata"]["resourceVersion"] = json!("1");
        drop(store.apply(Event::Applied { kind, object }));
    }
    let view = store.view("hello").expect("it is there");
    let now: Timestamp = NOW.parse().expect("a time");
    let plan = plan::addon(&view, now);
    assert_eq!(oracle::check(&view, &plan, now), Vec::<String>::new());
    let status = plan.actions.iter().find_map(|action| match action {
        Action::Status { object, patch, .. } if object.kind == Kind::Instance => Some(patch.value()),
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    });
    let conditions = status.unwrap_or_default()["status"]["conditions"].clone();
    let mut conditions = conditions.as_array().into_iter().flatten();
    let found = conditions.find(|one| one["type"] == "Assigned");
    found
        .map(|one| one["lastTransitionTime"].clone())
        .unwrap_or_default()
}

#[test]
fn a_time_in_the_future_is_recorded_again() {
    for (noted, expected) in [
        ("2040-01-01T00:00:00Z", NOW),
        ("2030-01-01T00:10:00Z", NOW),
        ("2030-01-01T00:00:06Z", NOW),
        // Two clocks are never quite equal, and what is past stands.
        ("2030-01-01T00:00:05Z", "2030-01-01T00:00:05Z"),
        ("2029-12-31T23:50:00Z", "2029-12-31T23:50:00Z"),
    ] {
        assert_eq!(reassigned(noted), json!(expected), "{noted}");
    }
}
