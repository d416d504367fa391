//! Policies in an admission decision: together with built-in rules, existing errors, enforcement and patches.
//!
//! The semantics of single policies are tested in their crate.

use admission::{Enforcement, Operation, Request, RequestContext, Rulebook, Verdict, Webhook, decide};
use insight::offline::Knowledge;
use kubernetes::field::Violation;
use lint::check::judge;
use serde_json::{Value, json};
use store::Facts;

fn rulebook(policies: &[Value], enforcement: &str) -> Rulebook {
    Rulebook {
        enforcement: Enforcement::parse(enforcement).expect("settings"),
        ..crate::kit::policies::rulebook(policies)
    }
}

fn policy(name: &str, fields: &Value) -> Value {
    let mut spec = json!({"matchConstraints": {"resourceRules": [{"apiGroups": ["addon.open-cluster-management.io"],
        "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["managedclusteraddons"]}]}});
    json_patch::merge(&mut spec, fields);
    json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
        "metadata": {"name": name}, "spec": spec})
}

fn prefix() -> Value {
    policy(
        "prefix",
        &json!({"validations": [{"id": "a", "fieldPath": "spec.installNamespace", "message": "must begin with addon-",
            "expression": "object.spec.installNamespace.startsWith('addon-')"}]}),
    )
}

fn addon(namespace: &str) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1"}, "spec": {"installNamespace": namespace}})
}

fn verdict(object: &Value, old: Option<&Value>, rulebook: &Rulebook) -> Verdict {
    asked_by(Some("alice"), object, old, rulebook)
}

fn asked_by(name: Option<&str>, object: &Value, old: Option<&Value>, rulebook: &Rulebook) -> Verdict {
    let raw = |value: &Value| serde_json::value::to_raw_value(value).expect("JSON");
    let (new, was) = (raw(object), old.map(raw));
    let user = name.map(|name| raw(&json!({"username": name})));
    let request = Request {
        webhook: Webhook::Mutate,
        operation: if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        group: "addon.open-cluster-management.io",
        version: "v1alpha1",
        resource: "managedclusteraddons",
        kind: "ManagedClusterAddOn",
        subresource: "",
        namespace: "c1",
        name: "hello",
        object: Some(&new),
        old: was.as_deref(),
        dry_run: false,
        circumstances: RequestContext {
            user: user.as_deref(),
            ..RequestContext::default()
        },
    };
    decide(&request, &Facts::default(), rulebook)
}

fn refusals(verdict: &Verdict) -> Vec<String> {
    verdict.violations().iter().map(ToString::to_string).collect()
}

const REFUSED: &str =
    r#"spec.installNamespace: Invalid value: "x": must begin with addon- [policy/prefix/a]"#;

#[test]
fn a_policy_refuses_beside_the_built_in_rules() {
    let rulebook = rulebook(&[prefix()], "[]");
    assert_eq!(refusals(&verdict(&addon("x"), None, &rulebook)), [REFUSED]);
    assert!(verdict(&addon("addon-x"), None, &rulebook).allowed());
    let both = refusals(&verdict(&addon("My_Namespace"), None, &rulebook));
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(
        both[0].ends_with("[install/namespace]") && both[1].ends_with("[policy/prefix/a]"),
        "{both:?}"
    );
}

fn is_silent(verdict: &Verdict) -> bool {
    verdict.allowed() && verdict.rules().is_empty() && !verdict.is_open()
}

#[test]
fn an_unchanged_existing_error_only_warns() {
    let rulebook = rulebook(&[prefix()], "[]");
    let mut new = addon("x");
    new["metadata"]["labels"] = json!({"a": "b"});
    assert!(
        is_silent(&verdict(&new, Some(&addon("x")), &rulebook)),
        "the policy reads no label"
    );
    new["spec"]["configs"] = json!([]);
    let kept = verdict(&new, Some(&addon("x")), &rulebook);
    assert!(kept.allowed());
    assert!(kept.rules().contains(&"policy/prefix/a"), "{:?}", kept.warnings());
    let changed = verdict(&addon("x"), Some(&addon("y")), &rulebook);
    assert_eq!(refusals(&changed), [REFUSED]);
}

fn labels(labels: &Value) -> Value {
    let mut object = addon("x");
    object["metadata"]["labels"] = labels.clone();
    object["metadata"]["resourceVersion"] = json!(labels.to_string().len().to_string());
    object
}

#[test]
fn a_policy_about_labels_is_asked_when_they_change() {
    let owner = policy(
        "owner",
        &json!({"validations": [
            {"id": "evil", "message": "must not be evil", "expression": "object.metadata.?labels.?owner.orValue('') != 'evil'"},
            {"id": "spec", "message": "must begin with addon-", "expression": "object.spec.installNamespace.startsWith('addon-')"}]}),
    );
    let rulebook = rulebook(&[owner], "[]");
    let (none, evil) = (labels(&json!({})), labels(&json!({"owner": "evil"})));
    let refused = refusals(&verdict(&evil, Some(&none), &rulebook));
    assert_eq!(
        refused,
        ["must not be evil [policy/owner/evil]"],
        "the existing error of the spec has no field, and what it reads is unchanged"
    );
    let other = labels(&json!({"owner": "evil", "team": "a"}));
    let kept = verdict(&other, Some(&evil), &rulebook);
    assert!(kept.allowed(), "{:?}", refusals(&kept));
    let fixed = verdict(&none, Some(&other), &rulebook);
    assert!(fixed.allowed(), "{:?}", refusals(&fixed));
    let [going, before] = [evil, none].map(|mut object| {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object
    });
    assert!(
        is_silent(&verdict(&going, Some(&before), &rulebook)),
        "what goes is not held up"
    );
}

#[test]
fn a_policy_may_read_finalizers_but_is_not_evaluated_when_they_are_removed_on_deletion() {
    let held = policy(
        "held",
        &json!({"validations": [{"id": "a", "message": "must be held",
            "expression": "object.metadata.?finalizers.orValue([]).exists(f, f == 'a/b')"}]}),
    );
    let rulebook = rulebook(&[held], "[]");
    let mut with = addon("addon-x");
    with["metadata"]["finalizers"] = json!(["a/b"]);
    assert_eq!(
        refusals(&verdict(&addon("addon-x"), Some(&with), &rulebook)).len(),
        1
    );
    let mut going = addon("addon-x");
    for object in [&mut going, &mut with] {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    assert!(is_silent(&verdict(&going, Some(&with), &rulebook)));
    going["spec"]["installNamespace"] = json!("y");
    assert_eq!(
        refusals(&verdict(&going, Some(&with), &rulebook)).len(),
        1,
        "its spec is judged"
    );
}

/// Programs that clean up remove their finalizers and owners. They cannot repair the rest of an object that is older than a policy.
#[test]
fn a_change_of_nothing_but_finalizers_and_owners_is_refused_only_by_policies_that_name_them() {
    let described = |expression: &str| {
        policy(
            "described",
            &json!({"validations": [{"id": "a", "message": "every add-on is described", "expression": expression}]}),
        )
    };
    let whole = "has(object.metadata) && object.metadata.?annotations.?about.orValue('') != ''";
    let named = "object.metadata.?finalizers.orValue([]).size() > 1";
    let computed = "object.metadata.exists(k, k == 'ownerReferences')";
    let bare = addon("addon-x");
    let with = |member: &str, value: Value| {
        let mut object = bare.clone();
        object["metadata"][member] = value;
        object
    };
    let finalizers = with("finalizers", json!(["example.com/job-tracking"]));
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}]);
    let owners = with("ownerReferences", owner);
    let labels = with("labels", json!({"a": "b"}));
    let mut both = finalizers.clone();
    both["metadata"]["labels"] = json!({"a": "b"});
    let mut spec = finalizers.clone();
    spec["spec"]["installNamespace"] = json!("addon-y");
    let rows = [
        (whole, &bare, &finalizers, true),
        (whole, &finalizers, &bare, true),
        (whole, &owners, &bare, true),
        (whole, &bare, &labels, false),
        (whole, &bare, &both, false),
        (whole, &bare, &spec, false),
        (named, &finalizers, &bare, false),
        (computed, &finalizers, &bare, false),
    ];
    for (expression, old, new, passes) in rows {
        let rulebook = rulebook(&[described(expression)], "[]");
        let verdict = verdict(new, Some(old), &rulebook);
        assert_eq!(
            verdict.allowed(),
            passes,
            "{expression}: {old} to {new}: {:?}",
            refusals(&verdict)
        );
        let warned: Vec<&str> = verdict
            .warnings()
            .iter()
            .map(|one| one.violation().rule())
            .collect();
        if passes {
            assert_eq!(warned, ["policy/described/a"], "{expression}: {old} to {new}");
        }
    }
}

/// A policy that is written in the group that the kind had before is in force as well.
#[test]
fn policies_are_judged_in_both_groups_and_by_no_policy() {
    let lock = json!({"matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"],
        "operations": ["*"], "resources": ["*"]}]}, "validations": [{"id": "a", "expression": "false"}]});
    let rulebook = rulebook(&[policy("lock", &lock)], "[]");
    let raw = |value: &Value| serde_json::value::to_raw_value(value).expect("JSON");
    let ask = |operation, group: &str, object: &Value, old: Option<&Value>| {
        let (new, was) = (raw(object), old.map(raw));
        let request = Request {
            webhook: Webhook::Validate,
            operation,
            group,
            version: "v1alpha1",
            resource: "addonpolicies",
            kind: "AddOnPolicy",
            subresource: "",
            namespace: "",
            name: "p",
            object: (operation != Operation::Delete).then_some(&*new),
            old: was.as_deref(),
            dry_run: false,
            circumstances: RequestContext::default(),
        };
        decide(&request, &Facts::default(), &rulebook)
    };
    for group in ["tidegate.io", "addon.open-cluster-management.io"] {
        let written = |expression: &str| {
            let validations =
                json!({"validations": [{"id": "a", "fieldPath": "spec", "expression": expression}]});
            let mut written = policy("p", &validations);
            written["apiVersion"] = json!(format!("{group}/v1alpha1"));
            written
        };
        let (good, broken) = (written("true"), written("object."));
        assert!(ask(Operation::Create, group, &good, None).allowed(), "{group}");
        let created = ask(Operation::Create, group, &broken, None);
        assert_eq!(created.rules(), ["policy/compile"], "{group}");
        let code = |verdict: &Verdict| serde_json::to_value(verdict.status()).expect("JSON")["code"].clone();
        assert_eq!(code(&created), 422, "{group}");
        let updated = ask(Operation::Update, group, &broken, Some(&good));
        assert_eq!(code(&updated), 403, "{group}");
        let mut labelled = broken.clone();
        labelled["metadata"]["labels"] = json!({"a": "b"});
        assert!(
            is_silent(&ask(Operation::Update, group, &labelled, Some(&broken))),
            "{group}"
        );
        assert!(
            ask(Operation::Update, group, &good, Some(&broken)).allowed(),
            "{group}: repaired"
        );
        assert!(
            is_silent(&ask(Operation::Delete, group, &broken, Some(&broken))),
            "{group}"
        );
    }
}

#[test]
fn the_operator_decides_what_findings_of_policies_do() {
    let softer = rulebook(&[prefix()], "[{rule: 'policy/*', action: Warn}]");
    let warned = verdict(&addon("x"), None, &softer);
    assert!(warned.allowed() && warned.rules().contains(&"policy/prefix/a"));
    let harder = rulebook(&[prefix()], "[{rule: policy/prefix/a, action: Deny}]");
    let mut new = addon("x");
    new["metadata"]["labels"] = json!({"a": "b"});
    assert!(
        verdict(&new, Some(&addon("x")), &harder).allowed(),
        "an old fault stays an old fault"
    );
}

/// `fieldPath` is where the message points. It must not excuse a change that the policy is about.
#[test]
fn a_field_path_excuses_no_change_that_a_policy_is_about() {
    let who = "request.userInfo.username == 'root'";
    let when = "timestamp(facts.now) < timestamp('2020-01-01T00:00:00Z')";
    let old_value = "object.spec.installNamespace == oldObject.spec.installNamespace || object.spec.installNamespace == 'z'";
    let other_field = "object.spec.installNamespace == 'z'";
    let mut wrong = Vec::new();
    for expression in [who, when, old_value, other_field, "false"] {
        for path in [
            "",
            "spec",
            "spec.installNamespace",
            "spec.desiredVersion",
            "metadata.name",
        ] {
            for conditional in [false, true] {
                let mut spec =
                    json!({"validations": [{"id": "a", "expression": expression, "message": "no"}]});
                if conditional {
                    spec["matchConditions"] =
                        json!([{"name": "others", "expression": "request.userInfo.username != 'root'"}]);
                }
                if !path.is_empty() {
                    spec["validations"][0]["fieldPath"] = json!(path);
                }
                if expression == when {
                    spec["facts"] = json!(["now"]);
                }
                let rulebook = rulebook(&[policy("p", &spec)], "[]");
                let verdict = verdict(&addon("b"), Some(&addon("a")), &rulebook);
                if verdict.allowed() {
                    wrong.push(format!("{expression} | {path:?} | {conditional}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "stored:\n{}", wrong.join("\n"));
}

#[test]
fn an_old_fault_that_a_change_does_not_concern_only_warns() {
    let rows = [
        (
            "object.spec.installNamespace.startsWith('addon-')",
            "spec.installNamespace",
        ),
        (
            "request.namespace == 'c2' || object.spec.installNamespace == 'z'",
            "spec.installNamespace",
        ),
    ];
    for (expression, path) in rows {
        let spec = json!({"failurePolicy": "Fail", "validations": [{"id": "a", "expression": expression, "message": "no", "fieldPath": path}]});
        let rulebook = rulebook(&[policy("p", &spec)], "[]");
        let mut new = addon("a");
        new["spec"]["desiredVersion"] = json!("1.2.3");
        let verdict = verdict(&new, Some(&addon("a")), &rulebook);
        let found = refusals(&verdict);
        assert!(
            found.iter().all(|one| !one.contains("policy/p")),
            "{expression}: {found:?}"
        );
    }
}

#[test]
fn mutations_come_before_the_rules_and_travel_in_the_patch() {
    let label = policy(
        "label",
        &json!({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration":
            {"expression": "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}"}}]}),
    );
    let needs = policy(
        "needs",
        &json!({"validations": [{"expression": "object.metadata.labels.by == 'alice'", "message": "no label"}]}),
    );
    let rulebook = rulebook(&[label, needs], "[]");
    let verdict = verdict(&addon("addon-x"), None, &rulebook);
    assert!(verdict.allowed(), "{:?}", refusals(&verdict));
    assert_eq!(
        serde_json::to_value(verdict.patch()).expect("JSON"),
        json!([{"op": "add", "path": "/metadata/labels", "value": {"by": "alice"}}])
    );
}

/// The API server generates the name between the two webhooks, so validations receive it, as those of Kubernetes do.
#[test]
fn an_object_with_generate_name_is_judged_by_the_name_that_it_gets() {
    let named = policy(
        "named",
        &json!({"validations": [{"id": "a", "message": "must begin with team-",
            "expression": "object.metadata.name.startsWith('team-') && object.metadata.name != 'team-'"}]}),
    );
    let rulebook = rulebook(&[named], "[]");
    let generated = |prefix: &str, name: Option<&str>| {
        let mut object = addon("addon-x");
        object["metadata"] = json!({"generateName": prefix, "name": name, "namespace": "c1"});
        object
    };
    let mutating = verdict(&generated("other-", None), None, &rulebook);
    assert!(mutating.allowed(), "{:?}", refusals(&mutating));
    let refused = verdict(&generated("other-", Some("other-abcde")), None, &rulebook);
    assert_eq!(
        refused.rules().into_iter().collect::<Vec<_>>(),
        ["policy/named/a"]
    );
    // For files there is no second webhook: a generated name is assumed.
    let of_files = |prefix: &str| {
        let judgement = judge(&generated(prefix, None), None, &Knowledge::default(), &rulebook);
        refusals(&judgement.expect("a kind of ours").verdict)
    };
    assert!(of_files("team-").is_empty(), "{:?}", of_files("team-"));
    assert!(of_files("other-")[0].ends_with("must begin with team- [policy/named/a]"));
}

#[test]
fn a_mutation_that_reads_a_name_which_is_not_generated_yet_says_so() {
    let label = policy(
        "label",
        &json!({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration":
            {"expression": "Object{metadata: Object.metadata{labels: {'of': object.metadata.name}}}"}}]}),
    );
    let rulebook = rulebook(&[label], "[]");
    let mut object = addon("addon-x");
    object["metadata"] = json!({"generateName": "team-", "namespace": "c1"});
    let said = refusals(&verdict(&object, None, &rulebook));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("no such key: name") && said[0].contains("write object.metadata.?name.orValue('')"),
        "{said:?}"
    );
}

#[test]
fn an_object_that_violates_its_schema_gets_only_schema_errors() {
    let rulebook = rulebook(&[prefix()], "[]");
    let mut object = addon("x");
    object["spec"]["installNamespace"] = json!(5);
    let said = refusals(&verdict(&object, None, &rulebook));
    assert!(
        said.iter().all(|line| !line.contains("cannot be evaluated")),
        "{said:?}"
    );
    assert!(
        said.iter().any(|line| line.ends_with("[schema/value]")),
        "{said:?}"
    );
}

#[test]
fn without_a_user_a_policy_that_reads_it_cannot_be_judged() {
    let user = policy(
        "user",
        &json!({"validations": [{"expression": "request.userInfo.username == 'alice'", "message": "no"}]}),
    );
    let rulebook = rulebook(&[user], "[]");
    assert!(verdict(&addon("addon-x"), None, &rulebook).allowed());
    let said = refusals(&asked_by(None, &addon("addon-x"), None, &rulebook));
    assert_eq!(
        said,
        [
            "Internal error: policy user cannot be evaluated: expression 'request.userInfo.username == 'alice'' resulted in error: no such key: userInfo [policy/user/0]"
        ]
    );
}

#[test]
fn a_check_of_files_reports_what_cannot_be_decided() {
    let asking = policy(
        "asking",
        &json!({"facts": ["cluster"], "validations": [{"id": "a", "expression": "facts.cluster.found", "message": "no"}]}),
    );
    let rulebook = rulebook(&[asking], "[]");
    let known = Knowledge::default();
    let judgement = judge(&addon("addon-x"), None, &known, &rulebook).expect("a kind of ours");
    let refused: Vec<&str> = judgement
        .verdict
        .violations()
        .iter()
        .map(Violation::rule)
        .collect();
    assert!(!refused.contains(&"policy/asking/a"), "{refused:?}");
    let unknown: Vec<&str> = judgement.unknown.iter().map(Violation::rule).collect();
    assert!(unknown.contains(&"policy/asking/a"), "{unknown:?}");
    let gate = refusals(&verdict(&addon("addon-x"), None, &rulebook));
    assert_eq!(gate.len(), 1, "the gate must answer, and refuses: {gate:?}");
}

/// The verdict of the validating webhook for the deletion of a stored object.
fn parting(stored: &Value, rulebook: &Rulebook) -> Verdict {
    parting_by("alice", stored, rulebook)
}

fn parting_by(name: &str, stored: &Value, rulebook: &Rulebook) -> Verdict {
    let raw = |value: &Value| serde_json::value::to_raw_value(value).expect("JSON");
    let (raw, user) = (raw(stored), raw(&json!({"username": name})));
    let request = Request {
        webhook: Webhook::Validate,
        operation: Operation::Delete,
        group: "addon.open-cluster-management.io",
        version: "v1alpha1",
        resource: "managedclusteraddons",
        kind: "ManagedClusterAddOn",
        subresource: "",
        namespace: "c1",
        name: "hello",
        object: None,
        old: Some(&raw),
        dry_run: false,
        circumstances: RequestContext {
            user: Some(&user),
            ..RequestContext::default()
        },
    };
    decide(&request, &Facts::default().completed(), rulebook)
}

#[test]
fn a_deletion_is_judged_by_policies_that_name_it_and_by_no_others() {
    let keep = policy(
        "keep",
        &json!({
            "matchConstraints": {"resourceRules": [{"apiGroups": ["addon.open-cluster-management.io"],
                "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["managedclusteraddons"]}]},
            "validations": [{"id": "kept", "message": "must not be deleted while it is protected",
                "expression": "object == null && !('protected' in oldObject.metadata.?labels.orValue({}))"}],
        }),
    );
    let rulebook = rulebook(&[keep, prefix()], "[]");
    let mut protected = addon("elsewhere");
    let free = parting(&protected, &rulebook);
    assert!(free.allowed() && free.warnings().is_empty(), "{free:?}");
    protected["metadata"]["labels"] = json!({"protected": "yes"});
    let refused = parting(&protected, &rulebook);
    let told: Vec<String> = refused.violations().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("while it is protected") && told[0].contains("policy/keep/kept"),
        "{told:?}"
    );
    for cleaner in [
        "system:kube-controller-manager",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
    ] {
        let clean_up = parting_by(cleaner, &protected, &rulebook);
        assert!(
            clean_up.allowed() && clean_up.warnings().is_empty(),
            "{cleaner}: {clean_up:?}"
        );
    }
    let other = "system:serviceaccount:default:namespace-controller";
    assert!(!parting_by(other, &protected, &rulebook).allowed());
    protected["metadata"]["deletionTimestamp"] = json!("2026-11-20T00:00:00Z");
    assert!(parting(&protected, &rulebook).allowed(), "it is going already");
    let told = verdict(&addon("addon-a"), None, &rulebook);
    assert!(told.allowed(), "a creation is not a deletion: {told:?}");
}
