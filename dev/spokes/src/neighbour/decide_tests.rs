//! What the program of an add-on writes, state by state of what it sees, and what it leaves alone. Never talks to a hub.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{Scene, Write, decide};
use crate::neighbour::{Framework, Generation};

fn framework() -> Framework {
    Framework::new("hello", Generation::New, |object| object["spec"].to_string())
}

fn instance(status: &Value) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1", "uid": "u1", "ownerReferences": [
            {"apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn", "name": "hello", "uid": "u0"}]},
        "spec": {}, "status": status})
}

fn work(applied: Option<&str>) -> Value {
    let conditions: Vec<Value> = applied
        .iter()
        .flat_map(|status| {
            ["Applied", "Available"].map(|kind| json!({"type": kind, "status": status, "message": "said"}))
        })
        .collect();
    json!({"kind": "ManifestWork", "metadata": {"name": "addon-hello-deploy-0", "namespace": "c1",
        "labels": {"open-cluster-management.io/addon-name": "hello"}}, "status": {"conditions": conditions}})
}

fn writes(instance: &Value, works: &[Value]) -> Vec<Write> {
    let addon = json!({"kind": "ClusterManagementAddOn", "metadata": {"name": "hello"}});
    let cluster = json!({"metadata": {"name": "c1"}});
    let place = ["addondeploymentconfigs", "default", "base"]
        .map(str::to_owned)
        .into();
    let config = json!({"metadata": {"generation": 3}, "spec": "hash"});
    let scene = Scene {
        addon: &addon,
        instance,
        cluster: &cluster,
        clusters: &BTreeSet::from(["c1".to_owned()]),
        works,
        configs: &BTreeMap::from([(place, config)]),
    };
    decide(&framework(), &scene, Timestamp::UNIX_EPOCH)
}

/// Returns the status after the writes.
fn after(instance: &Value, works: &[Value]) -> Value {
    let mut status = instance["status"].clone();
    for write in writes(instance, works) {
        if let Write::Status(_, patch) = write {
            json_patch::merge(&mut status, &patch);
        }
    }
    status
}

fn said(status: &Value) -> Vec<String> {
    let conditions = status["conditions"].as_array().expect("conditions").iter();
    let line = |one: &Value| {
        let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
        format!(
            "{}={} {} | {}",
            text("type"),
            text("status"),
            text("reason"),
            text("message")
        )
    };
    conditions.map(line).collect()
}

#[test]
fn nothing_begins_before_the_manager_owns_the_instance() {
    let mut instance = instance(&json!({}));
    instance["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(writes(&instance, &[]), []);
}

#[test]
fn each_state_of_a_work_has_its_words() {
    let registration =
        "RegistrationApplied=True SetPermissionApplied | Registration of the addon agent is configured";
    let rows: [(&[Value], &[&str]); 4] = [
        (&[], &[]),
        (&[work(None)], &[]),
        (
            &[work(Some("True"))],
            &[
                "ManifestApplied=True AddonManifestApplied | manifests of addon are applied successfully",
                "Available=True WorkApplied | Addon manifestWork is applied",
            ],
        ),
        (
            &[work(Some("False"))],
            &[
                "ManifestApplied=False AddonManifestAppliedFailed | failed to apply the manifests of addon",
                "Available=False WorkNotApplied | said",
            ],
        ),
    ];
    for (works, expected) in rows {
        // Health is reported only after the state of the manifests.
        let mut seen = instance(&json!({}));
        seen["status"] = after(&seen, works);
        seen["status"] = after(&seen, works);
        let all: Vec<&str> = [registration]
            .into_iter()
            .chain(expected.iter().copied())
            .collect();
        assert_eq!(said(&seen["status"]), all);
    }
}

#[test]
fn a_failure_goes_when_the_agent_of_a_new_work_has_not_spoken_yet() {
    let failed = after(&instance(&json!({})), &[work(Some("False"))]);
    let again = after(&instance(&failed), &[work(None)]);
    assert!(!said(&again).iter().any(|one| one.starts_with("ManifestApplied")));
}

#[test]
fn without_a_hash_nothing_is_deployed_and_of_its_own_types_it_fills_them_in() {
    let reference = |resource: &str| {
        json!({"group": "addon.open-cluster-management.io", "resource": resource, "lastObservedGeneration": 0,
            "desiredConfig": {"namespace": "default", "name": "base", "specHash": ""}})
    };
    let instance =
        instance(&json!({"configReferences": [reference("addondeploymentconfigs"), reference("others")]}));
    let deploys = |write: &Write| matches!(write, Write::Create(_));
    assert!(!writes(&instance, &[]).iter().any(deploys));
    let status = after(&instance, &[]);
    let references = &status["configReferences"];
    assert_eq!(references[0]["desiredConfig"]["specHash"], "\"hash\"");
    assert_eq!(references[0]["lastObservedGeneration"], 3);
    assert_eq!(references[1], reference("others"));
    assert!(said(&status)[1].starts_with("ManifestApplied=False ManifestWorkApplyFailed"));
}

#[test]
fn what_the_agent_has_put_into_the_registration_stays() {
    let theirs =
        json!([{"signerName": "kubernetes.io/kube-apiserver-client", "subject": {"user": "of-the-token"}}]);
    let status = after(
        &instance(&json!({"registrations": theirs, "kubeClientDriver": "token"})),
        &[],
    );
    assert_eq!(status["registrations"], theirs);
    assert_eq!(status["kubeClientDriver"], "token");
}
