//! Time to evaluate twenty policies for one request, alone and inside `decide()`, and time to compile them.

#![expect(clippy::indexing_slicing, reason = "a bench may panic")]

use admission::policy::{Origin, PolicySet, Source};
use admission::{Operation, Request, RequestContext, Rulebook, Webhook, decide};
use divan::Bencher;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::Facts;

fn main() {
    divan::main();
}

/// Expressions of ordinary policies: fields, defaults, labels, lists, patterns, params and variables.
const EXPRESSIONS: [&str; 5] = [
    "object.spec.?installNamespace.orValue('').startsWith('addon-')",
    "object.spec.?configs.orValue([]).all(c, c.resource != 'secrets' && c.?namespace.orValue('') in params.namespaces)",
    "'team' in object.metadata.labels && object.metadata.labels.team.matches('^[a-z-]+$')",
    "variables.names.all(n, n.size() < params.most) && variables.names.size() <= 10",
    "oldObject == null || object.spec == oldObject.spec || request.operation == 'UPDATE'",
];

fn sources(count: usize) -> Vec<Source> {
    let policy = |number: usize| {
        let expression = EXPRESSIONS[number % EXPRESSIONS.len()];
        json!({
            "apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": format!("policy-{number:02}")},
            "spec": {
                "matchConstraints": {"resourceRules": [{"apiGroups": ["addon.open-cluster-management.io"],
                    "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["managedclusteraddons"]}]},
                "params": {"namespaces": ["default", "configs"], "most": 64},
                "variables": [{"name": "names", "expression": "object.spec.?configs.orValue([]).map(c, c.name)"}],
                "validations": [{"id": "a", "expression": expression, "message": "no", "fieldPath": "spec"}],
            },
        })
    };
    (0..count)
        .map(|number| Source {
            origin: Origin::Hub,
            document: policy(number),
        })
        .collect()
}

fn object() -> Value {
    let configs: Vec<Value> = (0..3)
        .map(|number| {
            json!({"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
                "namespace": "default", "name": format!("config-{number}")})
        })
        .collect();
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1", "labels": {"team": "metrics", "env": "production"}},
        "spec": {"installNamespace": "addon-hello", "configs": configs}})
}

fn run(bencher: Bencher<'_, '_>, policies: usize) {
    let set = PolicySet::load(&sources(policies), &[], &PolicySet::default()).set;
    assert_eq!(set.len(), policies, "all compile");
    let rulebook = Rulebook {
        policies: set,
        ..Rulebook::default()
    };
    let raw = to_raw_value(&object()).expect("JSON");
    let request = Request {
        webhook: Webhook::Validate,
        operation: Operation::Create,
        group: "addon.open-cluster-management.io",
        version: "v1alpha1",
        resource: "managedclusteraddons",
        kind: "ManagedClusterAddOn",
        subresource: "",
        namespace: "c1",
        name: "hello",
        object: Some(&raw),
        old: None,
        dry_run: false,
        circumstances: RequestContext::default(),
    };
    let facts = Facts::default();
    let verdict = decide(&request, &facts, &rulebook);
    assert!(verdict.allowed(), "{:?}", verdict.violations());
    bencher.bench(|| decide(&request, &facts, &rulebook));
}

#[divan::bench(args = [0, 1, 20, 100])]
fn decide_with_policies(bencher: Bencher<'_, '_>, policies: usize) {
    run(bencher, policies);
}

#[divan::bench(args = [20])]
fn compile(bencher: Bencher<'_, '_>, policies: usize) {
    let sources = sources(policies);
    bencher.bench(|| PolicySet::load(&sources, &[], &PolicySet::default()));
}
