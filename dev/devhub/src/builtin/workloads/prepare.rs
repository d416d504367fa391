//! Which rules belong to which workload kind.
//!
//! Decides the order in which an object is filled in, what its endpoints leave alone and which checks it meets; the rules are in the
//! neighbouring files.

use schema::FieldError;
use serde_json::{Value, json};

use super::{claims, controllers, facts, jobs, network, pods, services};
use crate::Resource;
use crate::builtin::members::carry;

/// Tells whether a resource is a workload kind.
pub(in crate::builtin) fn is_workload(resource: &Resource) -> bool {
    name(resource).is_some_and(|name| facts::each(&name).is_some())
}

/// Returns the name of the facts of a kind; none for kinds that are older here than the facts.
fn name(resource: &Resource) -> Option<String> {
    let basic = resource.group.is_empty()
        && matches!(
            resource.kind.as_str(),
            "ConfigMap" | "Event" | "Namespace" | "Secret" | "ServiceAccount"
        );
    let package = facts::package(&resource.group).filter(|_| !basic && !resource.custom)?;
    Some(format!("{package}.{}", resource.kind))
}

/// Fills in the defaults of a kind.
pub(in crate::builtin) fn fill_in(resource: &Resource, object: &mut Value) {
    match resource.kind.as_str() {
        "Pod" => pods::fill_pod(object),
        "Service" => services::fill_in(object),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController" => {
            controllers::fill_in(&resource.kind, object);
        }
        "Job" => jobs::fill_job(object),
        "CronJob" => jobs::fill_cron_job(object),
        "PersistentVolume" | "PersistentVolumeClaim" => claims::fill_in(&resource.kind, object),
        "LimitRange" => claims::fill_limits(object),
        "NetworkPolicy" => network::fill_policy(object),
        "Endpoints" => network::fill_endpoints(object),
        "EndpointSlice" => network::fill_slice(object),
        "HorizontalPodAutoscaler" => network::fill_autoscaler(object),
        _ => {}
    }
}

/// Fills in a new object: whatever it says, nothing has happened to it yet.
pub(in crate::builtin) fn create(resource: &Resource, object: &mut Value) {
    // Nodes come with what they know of themselves.
    if resource.status && resource.kind != "Node" {
        reset_status(resource, object);
    }
    match resource.kind.as_str() {
        "Pod" => {
            pods::admit(object);
            let quality = pods::quality(object);
            if let Some(members) = object.as_object_mut() {
                members.insert(
                    "status".to_owned(),
                    json!({"phase": "Pending", "qosClass": quality}),
                );
            }
        }
        "Job" => jobs::select(object),
        "DaemonSet" => controllers::count_template(object, None),
        _ => {}
    }
}

fn reset_status(resource: &Resource, object: &mut Value) {
    let Some(name) = name(resource) else { return };
    let zero = facts::zero(&name).get("status").cloned();
    if let Some(members) = object.as_object_mut() {
        members.insert("status".to_owned(), zero.unwrap_or_else(|| json!({})));
    }
    fill_in(resource, object);
}

/// Carries over what the main endpoint does not change.
pub(in crate::builtin) fn update(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.status {
        carry(new, old, "status");
    }
    match resource.kind.as_str() {
        "Service" => services::keep(new, old),
        "DaemonSet" => controllers::count_template(new, Some(old)),
        _ => {}
    }
}

/// Returns the faults of an object, without those of its metadata.
pub(in crate::builtin) fn validate(resource: &Resource, object: &Value) -> Vec<FieldError> {
    match resource.kind.as_str() {
        "Pod" => pods::validate_spec(object.get("spec").unwrap_or(&Value::Null), "spec"),
        "Service" => services::validate(object),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController" => {
            controllers::validate(&resource.kind, object)
        }
        "Job" => jobs::validate_job(object),
        "CronJob" => jobs::validate_cron_job(object),
        "PersistentVolume" => claims::validate_volume(object),
        "PersistentVolumeClaim" => claims::validate_claim(object),
        "Ingress" => network::validate_ingress(object),
        "NetworkPolicy" => network::validate_policy(object),
        "PodDisruptionBudget" => network::validate_budget(object),
        "HorizontalPodAutoscaler" => network::validate_autoscaler(object),
        "EndpointSlice" => network::validate_slice(object),
        _ => Vec::new(),
    }
}

/// Returns the faults of a change, without those of the new object itself.
pub(in crate::builtin) fn validate_change(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    match resource.kind.as_str() {
        "Pod" => pods::validate_change(new, old),
        "Service" => services::validate_change(new, old),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            controllers::validate_change(&resource.kind, new, old)
        }
        "Job" => jobs::validate_change(new, old),
        "PersistentVolumeClaim" => claims::validate_claim_change(new, old),
        "ControllerRevision" => controllers::immutable(new, old, "/data").into_iter().collect(),
        "EndpointSlice" => controllers::immutable(new, old, "/addressType")
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_happened_to_a_new_object_whatever_it_says() {
        for (kind, status) in [
            ("Deployment", json!({})),
            ("Service", json!({"loadBalancer": {}})),
            ("PersistentVolumeClaim", json!({"phase": "Pending"})),
            ("Pod", json!({"phase": "Pending", "qosClass": "BestEffort"})),
        ] {
            let resources = crate::builtin::resources();
            let resource = resources
                .iter()
                .find(|resource| resource.kind == kind)
                .expect("a kind");
            let mut object = json!({"metadata": {}, "spec": {}, "status": {"phase": "Bound", "replicas": 3}});
            create(resource, &mut object);
            assert_eq!(object["status"], status, "{kind}");
        }
    }
}
