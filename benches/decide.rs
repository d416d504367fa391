//! Processor time of `decide()` per group of rules, on objects of ordinary size.

use admission::{Operation, Request, RequestContext, Rulebook, Webhook, decide, wire};
use api::v1alpha1::GROUP;
use divan::Bencher;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use store::{AddonFacts, Facts};

fn main() {
    divan::main();
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a document is JSON")
}

fn facts() -> Facts {
    let spec = json!({
        "supportedConfigs": [
            {"group": GROUP, "resource": "addondeploymentconfigs"},
            {"group": "example.com", "resource": "exampleconfigs"},
        ],
        "installStrategy": {"type": "Placements", "placements": [
            {"name": "all", "namespace": "default", "addonSpec": {"installNamespace": "agents"}}]},
    });
    let addon = AddonFacts::of(&serde_json::from_value(spec).expect("a wire type"));
    let clusters: Vec<String> = (0..10_000).map(|n| format!("cluster{n}")).collect();
    let facts = (0..50).fold(Facts::default(), |facts, n| {
        facts.with_addon(&format!("addon-{n}"), addon.clone())
    });
    facts
        .with_addon("helloworld", addon)
        .with_placement("default", "all", clusters.iter().map(String::as_str))
        .completed()
}

fn cluster_addon(spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "helloworld", "namespace": "cluster77", "labels": {"team": "a"}},
        "spec": spec,
    })
}

fn addon(placements: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": "helloworld"},
        "spec": {
            "supportedConfigs": [{"group": GROUP, "resource": "addondeploymentconfigs"}],
            "installStrategy": {"type": "Placements", "placements": placements},
        },
    })
}

fn strategy(name: usize, failures: &Value) -> Value {
    json!({
        "name": format!("placement-{name}"), "namespace": "default",
        "configs": [{"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "default", "name": "a"}],
        "rolloutStrategy": {"type": "Progressive", "progressive": {
            "mandatoryDecisionGroups": [{"groupName": "canary"}], "maxConcurrency": "25%",
            "minSuccessTime": "5m", "progressDeadline": "10m", "maxFailures": failures}},
    })
}

fn run(bencher: Bencher<'_, '_>, webhook: Webhook, object: &Value, old: Option<&Value>) {
    let facts = facts();
    let (object_raw, old_raw) = (raw(object), old.map(raw));
    let text = |name: &str| {
        object
            .get("metadata")
            .and_then(|meta| meta.get(name))
            .and_then(Value::as_str)
    };
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let request = Request {
        webhook,
        operation: if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        group: GROUP,
        version: "v1alpha1",
        resource: if kind == "ManagedClusterAddOn" {
            "managedclusteraddons"
        } else {
            "clustermanagementaddons"
        },
        kind,
        subresource: "",
        namespace: text("namespace").unwrap_or_default(),
        name: text("name").unwrap_or_default(),
        object: Some(&object_raw),
        old: old_raw.as_deref(),
        dry_run: false,
        circumstances: RequestContext::default(),
    };
    // The schemas are compiled on first use.
    let rulebook = Rulebook::default();
    let _warm = decide(&request, &facts, &rulebook);
    bencher.bench_local(|| decide(divan::black_box(&request), &facts, &rulebook));
}

#[divan::bench]
fn config_accepted(bencher: Bencher<'_, '_>) {
    let configs: Vec<Value> = (0..5)
        .map(|n| json!({"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "n", "name": format!("c{n}")}))
        .collect();
    run(
        bencher,
        Webhook::Validate,
        &cluster_addon(&json!({"installNamespace": "agents", "configs": configs})),
        None,
    );
}

#[divan::bench]
fn config_refused(bencher: Bencher<'_, '_>) {
    let configs: Vec<Value> = (0..5)
        .map(|n| json!({"group": GROUP, "resource": "addondeploymentconfig", "name": format!("c{n}")}))
        .collect();
    run(
        bencher,
        Webhook::Validate,
        &cluster_addon(&json!({"installNamespace": "agents", "configs": configs})),
        None,
    );
}

#[divan::bench]
fn rollout_accepted(bencher: Bencher<'_, '_>) {
    let placements: Vec<Value> = (0..3).map(|n| strategy(n, &json!(2))).collect();
    run(bencher, Webhook::Validate, &addon(&placements), None);
}

#[divan::bench]
fn rollout_refused(bencher: Bencher<'_, '_>) {
    let placements: Vec<Value> = (0..3).map(|n| strategy(n, &json!("130%"))).collect();
    run(bencher, Webhook::Validate, &addon(&placements), None);
}

#[divan::bench]
fn rollout_old_fault_untouched(bencher: Bencher<'_, '_>) {
    let placements: Vec<Value> = (0..3).map(|n| strategy(n, &json!("130%"))).collect();
    let old = addon(&placements);
    let mut new = old.clone();
    if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("addOnMeta".into(), json!({"displayName": "Hello"}));
    }
    run(bencher, Webhook::Validate, &new, Some(&old));
}

#[divan::bench]
fn install_namespace_defaulted(bencher: Bencher<'_, '_>) {
    run(bencher, Webhook::Mutate, &cluster_addon(&json!({})), None);
}

#[divan::bench]
fn finalizer_passes_unseen(bencher: Bencher<'_, '_>) {
    let mut old = cluster_addon(&json!({"installNamespace": "agents"}));
    let new = old.clone();
    if let Some(metadata) = old.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("finalizers".into(), json!(["example.com/hook"]));
    }
    run(bencher, Webhook::Validate, &new, Some(&old));
}

/// What an attacker sends: as many references as a list may have, none of a type that the add-on supports.
#[divan::bench(sample_count = 10)]
fn ten_thousand_unknown_types(bencher: Bencher<'_, '_>) {
    let configs: Vec<Value> = (0..9990)
        .map(|n| json!({"group": GROUP, "resource": format!("addondeploymentconfig{n}"), "name": "c"}))
        .collect();
    run(
        bencher,
        Webhook::Validate,
        &cluster_addon(&json!({"installNamespace": "agents", "configs": configs})),
        None,
    );
}

/// The same in an add-on that lists as many other types.
#[divan::bench(sample_count = 10)]
fn five_thousand_types_and_five_thousand_others(bencher: Bencher<'_, '_>) {
    let of = |name: &str, n: usize| json!({"group": GROUP, "resource": format!("{name}{n}"), "name": "c"});
    let configs: Vec<Value> = (0..4995).map(|n| of("other", n)).collect();
    let mut object = addon(&[json!({"name": "all", "namespace": "default", "configs": configs})]);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let types: Vec<Value> = (0..4995).map(|n| of("type", n)).collect();
        spec.insert("supportedConfigs".into(), types.into());
    }
    run(bencher, Webhook::Validate, &object, None);
}

/// From request bytes to response bytes, as in the server.
#[divan::bench]
fn review_from_bytes_to_bytes(bencher: Bencher<'_, '_>) {
    let placements: Vec<Value> = (0..3).map(|n| strategy(n, &json!(2))).collect();
    let gvk = json!({"group": GROUP, "version": "v1alpha1", "kind": "ClusterManagementAddOn"});
    let gvr = json!({"group": GROUP, "version": "v1alpha1", "resource": "clustermanagementaddons"});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": "CREATE", "name": "helloworld", "kind": gvk, "resource": gvr,
            "object": addon(&placements)},
    });
    let bytes = serde_json::to_vec(&review).expect("JSON");
    let (facts, rulebook) = (facts(), Rulebook::default());
    bencher.bench_local(|| {
        let review = wire::Review::decode(divan::black_box(&bytes)).expect("a review");
        wire::encode(
            review.uid(),
            &decide(&review.request(Webhook::Validate), &facts, &rulebook),
        )
    });
}
