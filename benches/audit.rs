//! Processor time of an audit of 5,000 clusters: checking every instance once, and finding the objects that a change affects.

use audit::{Asks, AuditedObject, Digest, Inputs, Ledger, ObjectKey, Rulebook, Shift, judge};
use divan::Bencher;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{AddonFacts, Facts, Kind, Name};

const CLUSTERS: usize = 5_000;

fn main() {
    divan::main();
}

fn key(number: usize) -> ObjectKey {
    ObjectKey::new(Kind::Instance, format!("cluster{number}"), "hello")
}

fn instance(number: usize) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": format!("cluster{number}"), "uid": format!("uid-{number}"),
            "labels": {"team": "edge"}},
        "spec": {"installNamespace": "agents", "configs": [{"group": "addon.open-cluster-management.io",
            "resource": "addondeploymentconfigs", "namespace": "default", "name": "settings"}]}})
}

fn facts() -> Facts {
    let spec = json!({"supportedConfigs": [{"group": "addon.open-cluster-management.io",
        "resource": "addondeploymentconfigs"}], "installStrategy": {"type": "Placements", "placements": [
        {"namespace": "default", "name": "all"}]}});
    let addon = AddonFacts::of(&serde_json::from_value(spec).expect("the wire type reads it"));
    let clusters: Vec<String> = (0..CLUSTERS).map(|number| format!("cluster{number}")).collect();
    Facts::default()
        .completed()
        .with_addon("hello", addon)
        .with_placement("default", "all", clusters.iter().map(String::as_str))
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn judge_every_instance(bencher: Bencher<'_, '_>) {
    let (facts, rulebook) = (facts(), Rulebook::default());
    let objects: Vec<Value> = (0..CLUSTERS).map(instance).collect();
    bencher.bench_local(|| {
        let judged = objects.iter().enumerate().map(|(number, object)| {
            let findings = judge(Kind::Instance, object, &facts, &rulebook, Timestamp::UNIX_EPOCH);
            findings.len() + Inputs::of(&key(number), object, &facts).configs.len()
        });
        judged.sum::<usize>()
    });
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn find_whom_a_placement_concerns(bencher: Bencher<'_, '_>) {
    let (old, mut ledger) = (facts(), Ledger::default());
    for number in 0..CLUSTERS {
        let (key, object) = (key(number), instance(number));
        ledger.see(&AuditedObject {
            key: key.clone(),
            uid: Name::from(format!("uid-{number}")),
            digest: Digest::of(&object),
        });
        ledger.judge(&key, &[], Inputs::of(&key, &object, &old));
    }
    let some: Vec<String> = (1..CLUSTERS).map(|number| format!("cluster{number}")).collect();
    let new = old
        .clone()
        .with_placement("default", "all", some.iter().map(String::as_str));
    bencher.bench_local(|| {
        let concerned = ledger.concerned(&Shift::between(&old, &new, Asks::default()));
        // The configuration is missing, but no configuration has changed: only the deleted cluster is affected.
        assert_eq!(concerned.len(), 1);
    });
}
