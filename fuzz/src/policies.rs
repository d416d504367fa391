//! An untrusted policy spec: compiled, linted, exported, mutated, and evaluated for an object.
//!
//! Asserts that a policy is either enforced or reports why not, that its results are deterministic, and that a version that does not compile
//! leaves the last good version in force.

use admission::policy::{InForce, Origin, PolicySet, Source, lint, mutants, native};
use admission::{Facts, Operation, Request, RequestContext, Rulebook, Webhook, try_policies};
use serde_json::{Value, json};

const GROUP: &str = "addon.open-cluster-management.io";

/// The spec of an AddOnPolicy (YAML or JSON).
pub fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(spec) = serde_saphyr::from_str::<Value>(text) else {
        return;
    };
    let good = PolicySet::load(
        &[source(&json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]},
        "validations": [{"expression": "true"}]}))],
        &[],
        &PolicySet::default(),
    );
    assert_eq!(good.set.len(), 1, "the good one compiles");
    let source = source(&spec);
    let loaded = PolicySet::load(std::slice::from_ref(&source), &[], &good.set);
    for report in &loaded.reports {
        assert_eq!(
            report.faults.is_empty(),
            report.in_force == InForce::This,
            "{report:?}"
        );
        for fault in &report.faults {
            assert!(!fault.to_string().is_empty(), "a refusal says why");
        }
    }
    assert_eq!(loaded.set.len(), 1, "the new one, or the last good one");
    let _ = lint(&loaded.set, &|_, _| None, &[], None);
    let _ = native(&loaded.set);
    assert!(
        mutants(&source.document).len() <= text.len(),
        "at most one mistake a character"
    );
    ask(loaded.set);
}

fn source(spec: &Value) -> Source {
    Source {
        origin: Origin::Hub,
        document: json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": "p"}, "spec": spec}),
    }
}

fn ask(policies: PolicySet) {
    let object = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1", "labels": {"a": "b"}},
        "spec": {"installNamespace": "agents", "configs": [{"group": GROUP, "resource": "addondeploymentconfigs", "name": "x"}]}});
    let rulebook = Rulebook {
        policies,
        ..Rulebook::default()
    };
    for operation in [Operation::Create, Operation::Update, Operation::Delete] {
        let request = Request {
            webhook: Webhook::Mutate,
            operation,
            group: GROUP,
            version: "v1alpha1",
            resource: "managedclusteraddons",
            kind: "ManagedClusterAddOn",
            subresource: "",
            namespace: "c1",
            name: "hello",
            object: None,
            old: None,
            dry_run: true,
            circumstances: RequestContext::default(),
        };
        let old = (operation == Operation::Update).then_some(&object);
        let ask = || try_policies(&request, &object, old, &Facts::default().completed(), &rulebook);
        let (first, second) = (ask(), ask());
        assert_eq!(
            first.findings, second.findings,
            "the same question gets the same answer"
        );
        assert_eq!(first.object, second.object, "and the same object");
    }
}
