//! Kubernetes' own admission policies, as files: every kind in every version of its API works as in an API server.
//!
//! A policy that cannot be decoded is rejected with the path and the reason, and never skipped.

use admission::policy::{InForce, Loaded, Origin, PolicySet, Source};
use admission::{
    Facts, Operation, Request, RequestContext, Rulebook, Trial, UnknownFacts, Verdict, Webhook, decide,
    try_policies,
};
use insight::offline::Hub;
use kubernetes::field::Violation;
use serde_json::{Value, json};
use store::Kind;

const GROUP: &str = "addon.open-cluster-management.io";

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("YAML")
}

fn validating() -> Vec<Value> {
    documents(include_str!("../data/upstream/validating.yaml"))
}

fn mutating() -> Vec<Value> {
    documents(include_str!("../data/upstream/mutating.yaml"))
}

fn loaded(documents: &[Value]) -> Loaded {
    let source = |document: &Value| Source {
        origin: Origin::File("policies.yaml".to_owned()),
        document: document.clone(),
    };
    let sources: Vec<Source> = documents.iter().map(source).collect();
    PolicySet::load(&sources, documents, &PolicySet::default())
}

fn rulebook(documents: &[Value]) -> Rulebook {
    let loaded = loaded(documents);
    for report in &loaded.reports {
        assert_eq!(
            report.in_force,
            InForce::This,
            "{}: {:?}",
            report.name,
            report.faults
        );
    }
    Rulebook {
        policies: loaded.set,
        ..Rulebook::default()
    }
}

/// The faults of documents that are wrong.
fn faults(documents: &[Value]) -> Vec<String> {
    let reports = loaded(documents).reports;
    let faults = reports.iter().flat_map(|report| &report.faults);
    faults.map(admission::policy::PolicyFault::one_line).collect()
}

fn facts(labels: &Value) -> Facts {
    let mut hub = Hub::default();
    hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1", "labels": labels}}));
    hub.knowledge().known
}

fn instance(metadata: &Value, namespace: &str) -> Value {
    let mut object = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1"}, "spec": {"installNamespace": namespace}});
    json_patch::merge(&mut object["metadata"], metadata);
    object
}

fn request(operation: Operation, object: &serde_json::value::RawValue) -> Request<'_> {
    Request {
        webhook: Webhook::Mutate,
        operation,
        group: GROUP,
        version: "v1alpha1",
        resource: "managedclusteraddons",
        kind: "ManagedClusterAddOn",
        subresource: "",
        namespace: "c1",
        name: "hello",
        object: Some(object),
        old: None,
        dry_run: false,
        circumstances: RequestContext {
            unknown: UnknownFacts::Fail,
            ..RequestContext::default()
        },
    }
}

fn verdict(object: &Value, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let raw = serde_json::value::to_raw_value(object).expect("JSON");
    let user = serde_json::value::to_raw_value(&json!({"username": "alice"})).expect("JSON");
    let mut request = request(Operation::Create, &raw);
    request.circumstances.user = Some(&user);
    decide(&request, facts, rulebook)
}

fn mutated(object: &Value, documents: &[Value]) -> Trial {
    let raw = serde_json::value::to_raw_value(object).expect("JSON");
    let request = request(Operation::Create, &raw);
    try_policies(&request, object, None, &Facts::default(), &rulebook(documents))
}

fn of_policies(violations: &[Violation]) -> Vec<String> {
    let ours = violations.iter().filter(|one| one.rule().starts_with("policy/"));
    ours.map(ToString::to_string).collect()
}

#[test]
fn validating_policies_are_judged_with_params_selectors_and_conditions() {
    let (rulebook, prod) = (
        rulebook(&validating()),
        facts(&json!({"env": "prod", "team": "a"})),
    );
    let deny = |object: &Value, facts: &Facts| of_policies(verdict(object, facts, &rulebook).violations());
    let refused = ["Forbidden: must begin with addon- [policy/prefix.example.com/0]"];
    assert_eq!(deny(&instance(&json!({}), "other"), &prod), refused);
    assert_eq!(deny(&instance(&json!({}), "addon-x"), &prod), [""; 0]);
    let exempt = json!({"labels": {"exempt": ""}});
    assert_eq!(
        deny(&instance(&exempt, "other"), &prod),
        [""; 0],
        "objectSelector"
    );
    let test = facts(&json!({"env": "test", "team": "a"}));
    assert_eq!(
        deny(&instance(&json!({}), "other"), &test),
        [""; 0],
        "namespaceSelector of the binding"
    );

    let warned = |facts: &Facts| verdict(&instance(&json!({}), "addon-x"), facts, &rulebook);
    let warned = |facts: &Facts| {
        let verdict = warned(facts);
        let all = verdict
            .warnings()
            .iter()
            .map(kubernetes::field::Warning::violation);
        of_policies(&all.cloned().collect::<Vec<_>>())
    };
    assert_eq!(warned(&prod), [""; 0]);
    assert_eq!(
        warned(&facts(&json!({"env": "prod", "team": "b"}))),
        ["must live in a namespace of team a [policy/team.example.com/0]"]
    );
}

#[test]
fn the_audit_judges_by_them_and_says_what_only_a_request_has() {
    let rulebook = rulebook(&validating());
    let now = "2026-11-21T00:00:00Z".parse().expect("a time");
    let found = audit::judge(
        Kind::Instance,
        &instance(&json!({}), "other"),
        &facts(&json!({"team": "b"})),
        &rulebook,
        now,
    );
    let rules: Vec<(&str, &str)> = found
        .iter()
        .map(|one| (one.standing.action(), &*one.rule))
        .collect();
    let ours: Vec<_> = rules
        .into_iter()
        .filter(|(_, rule)| rule.starts_with("policy/"))
        .collect();
    assert_eq!(
        ours,
        [
            ("warn", "policy/team.example.com/0"),
            ("undecided", "policy/prefix.example.com/match")
        ]
    );
}

#[test]
fn missing_params_follow_the_binding() {
    let without: Vec<Value> = validating()
        .into_iter()
        .filter(|one| one["kind"] != "ConfigMap")
        .collect();
    let prod = facts(&json!({"env": "prod", "team": "a"}));
    let say = |documents: &[Value]| {
        let verdict = verdict(&instance(&json!({}), "other"), &prod, &rulebook(documents));
        of_policies(verdict.violations())
    };
    assert_eq!(
        say(&without),
        [
            "Internal error: policy prefix.example.com cannot be evaluated: no params found, and parameterNotFoundAction is Deny \
             [policy/prefix.example.com/match]"
        ]
    );
    let mut allowing = without;
    allowing[1]["spec"]["paramRef"]["parameterNotFoundAction"] = json!("Allow");
    assert_eq!(say(&allowing), [""; 0]);
}

#[test]
fn params_beside_the_object_need_an_object_in_a_namespace() {
    let mut documents = validating();
    let paramref = documents[1]["spec"]["paramRef"]
        .as_object_mut()
        .expect("a reference");
    paramref.remove("namespace");
    documents[0]["spec"]["matchConstraints"]["resourceRules"][0]["resources"] =
        json!(["clustermanagementaddons"]);
    documents[0]["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = json!("*");
    let rulebook = rulebook(&documents);
    let addon = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": {}});
    let raw = serde_json::value::to_raw_value(&addon).expect("JSON");
    let request = Request {
        resource: "clustermanagementaddons",
        kind: "ClusterManagementAddOn",
        namespace: "",
        ..request(Operation::Create, &raw)
    };
    let verdict = decide(&request, &Facts::default(), &rulebook);
    assert_eq!(
        of_policies(verdict.violations()),
        [
            "Internal error: policy prefix.example.com cannot be evaluated: the params are in the namespace of the object, and the object has no namespace \
             [policy/prefix.example.com/match]"
        ]
    );
}

#[test]
fn mutating_policies_change_what_they_match_in_the_order_of_names() {
    let plain = mutated(&instance(&json!({}), "mine"), &mutating());
    assert_eq!(of_policies(plain.findings.violations()), [""; 0]);
    assert_eq!(plain.object["metadata"]["labels"], json!({"owner": "none"}));
    assert_eq!(
        plain.object["spec"]["installNamespace"], "mine",
        "the test of the patch does not hold"
    );
    assert_eq!(
        plain.object["metadata"]["annotations"],
        Value::Null,
        "objectSelector of the binding"
    );

    let marked = mutated(
        &instance(&json!({"labels": {"mark": "yes", "owner": "me"}}), "anywhere"),
        &mutating(),
    );
    assert_eq!(of_policies(marked.findings.violations()), [""; 0]);
    assert_eq!(
        marked.object["metadata"]["labels"],
        json!({"mark": "yes", "owner": "me", "example.com/moved": "yes"})
    );
    assert_eq!(
        marked.object["metadata"]["annotations"],
        json!({"example.com/seen": "yes"})
    );
    assert_eq!(marked.object["spec"]["installNamespace"], "addon-place");

    let without: Vec<Value> = mutating()
        .into_iter()
        .filter(|one| one["kind"] != "ConfigMap")
        .collect();
    let allowed = mutated(
        &instance(&json!({"labels": {"owner": "me"}}), "anywhere"),
        &without,
    );
    assert_eq!(
        allowed.object["spec"]["installNamespace"], "anywhere",
        "no params, and Allow"
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_place_and_reason() {
    let with = |number: usize, pointer: &str, value: Value| {
        let mut documents = validating();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        documents[number].pointer_mut(parent).expect("a parent")[name] = value;
        faults(&documents)
    };
    for (number, pointer, value, expected) in [
        (
            0,
            "/spec/validations/0/expression",
            json!("authorizer.group('').resource('pods').check('get').allowed()"),
            "spec.validations[0].expression:1:1: 'authorizer' is not available in this webhook",
        ),
        (
            0,
            "/spec/matchCondition",
            json!([]),
            "spec.matchCondition: unknown field; did you mean \"matchConditions\"?",
        ),
        (
            1,
            "/spec/paramRef/parameterNotFoundAction",
            json!("Ignore"),
            "spec.paramRef.parameterNotFoundAction: must be \"Allow\" or \"Deny\", not \"Ignore\"",
        ),
        (
            1,
            "/spec/paramRef/name",
            json!("prefix-a"),
            "spec.paramRef.selector: name and selector exclude each other: remove one",
        ),
        (
            1,
            "/spec/paramRef/selector",
            json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            "spec.paramRef.selector.matchExpressions[0].operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\", \
             \"Exists\", \"DoesNotExist\"",
        ),
        (
            1,
            "/spec/policyName",
            json!("prefixes"),
            "spec.policyName: ValidatingAdmissionPolicy \"prefixes\" does not exist",
        ),
    ] {
        let found = with(number, pointer, value);
        assert!(
            found.iter().any(|fault| fault == expected),
            "{pointer}: {found:#?}"
        );
    }
}

const HAS: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: labelled}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [addon.open-cluster-management.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [managedclusteraddons]}]
  variables: [{name: labels, expression: "has(object.metadata.labels) ? object.metadata.labels : {}"}]
  validations: [{expression: "has(variables.labels) && !('banned' in variables.labels)", message: banned}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: labelled}
spec: {policyName: labelled, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: owner}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [addon.open-cluster-management.io], apiVersions: [v1alpha1], operations: [CREATE], resources: [managedclusteraddons]}]
  variables: [{name: owner, expression: "'team-' + object.metadata.namespace"}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: "has(variables.owner) ? Object{metadata: Object.metadata{labels: {'owner': variables.owner}}} : Object{}"
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {name: owner}
spec: {policyName: owner}
"#;

#[test]
fn has_of_a_variable_asks_whether_it_is_declared() {
    let documents = documents(HAS);
    let plain = mutated(&instance(&json!({}), "mine"), &documents);
    assert_eq!(of_policies(plain.findings.violations()), [""; 0]);
    assert_eq!(plain.object["metadata"]["labels"], json!({"owner": "team-c1"}));
    let banned = mutated(
        &instance(&json!({"labels": {"banned": "yes"}}), "mine"),
        &documents,
    );
    assert_eq!(
        of_policies(banned.findings.violations()),
        ["banned [policy/labelled/0]"]
    );

    let with = |number: usize, pointer: &str, expression: &str| {
        let mut documents = documents.clone();
        *documents[number].pointer_mut(pointer).expect("an expression") = json!(expression);
        faults(&documents)
    };
    let undeclared = with(0, "/spec/validations/0/expression", "has(variables.lables)");
    assert_eq!(undeclared.len(), 1, "{undeclared:?}");
    assert!(
        undeclared[0].contains("undefined field 'lables'")
            && undeclared[0].ends_with("did you mean \"labels\"?"),
        "{undeclared:?}"
    );
    let mutation = "/spec/mutations/0/applyConfiguration/expression";
    let undeclared = with(2, mutation, "has(variables.other) ? Object{} : Object{}");
    assert!(
        undeclared[0].contains("undefined field 'other'"),
        "{undeclared:?}"
    );
    // Match conditions come before the variables.
    let mut early = documents.clone();
    early[0]["spec"]["matchConditions"] = json!([{"name": "a", "expression": "has(variables.labels)"}]);
    let early = faults(&early);
    assert!(
        early.len() == 1
            && early[0].starts_with("spec.matchConditions[0].expression:1:4: undefined field 'labels'"),
        "{early:?}"
    );
}
