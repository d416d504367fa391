//! Conversion of lists as a hub sends them: the time and the rate of one review.

use api::conversion::Extensions;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// An add-on of a cluster as hubs have them: with a namespace of its own, registrations and references.
fn object(index: usize, version: &str) -> Value {
    let name = |index: usize| format!("cluster{index}");
    json!({"apiVersion": format!("addon.open-cluster-management.io/{version}"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": name(index), "uid": name(index), "resourceVersion": "1",
            "ownerReferences": [{"apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn", "name": "hello", "uid": "u"}]},
        "spec": {"installNamespace": "agents", "desiredVersion": "1.2.3"},
        "status": {"kubeClientDriver": "token", "namespace": "agents", "currentVersion": "1.2.3",
            "registrations": [{"signerName": "kubernetes.io/kube-apiserver-client", "subject": {"user": "u", "groups": ["a", "b"]}}],
            "configReferences": [{"group": "addon.open-cluster-management.io", "resource": "addontemplates", "name": "hello-v1",
                "desiredConfig": {"name": "hello-v1", "specHash": "775591"}, "lastObservedGeneration": 1}],
            "conditions": [{"type": "Available", "status": "True", "reason": "WorkApplied", "message": "Addon manifestWork is applied",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}, {"type": "Progressing", "status": "False", "reason": "Completed",
                "message": "completed with no errors.", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn review(objects: usize) -> Vec<u8> {
    let all: Vec<Value> = (0..objects).map(|index| object(index, "v1alpha1")).collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {"uid": "u",
        "desiredAPIVersion": "addon.open-cluster-management.io/v1beta1", "objects": all}})
    .to_string()
    .into_bytes()
}

#[divan::bench(args = [1, 1_000, 30_000])]
fn a_review_of_addons_of_clusters(bencher: divan::Bencher<'_, '_>, objects: usize) {
    let bytes = review(objects);
    bencher
        .counter(divan::counter::ItemsCount::new(objects))
        .counter(divan::counter::BytesCount::new(bytes.len()))
        .bench(|| {
            api::conversion::answer(&bytes, Extensions::Kept, &api::hash::Keys::default()).expect("an answer")
        });
}
