//! Tests of Kubernetes' semantics of admission policies.

use serde_json::{Value, json};

use super::question::{Fact, KnownFacts};
use super::{InForce, Judgement, Origin, Outcome, PolicySet, Question, Saw, Source, Target};

struct Facts(Value);

impl KnownFacts for Facts {
    fn fact(&self, fact: Fact) -> Option<Value> {
        self.0.get(fact.name()).cloned()
    }
}

fn rules() -> Value {
    json!({"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]})
}

/// Returns an `AddOnPolicy` with these fields.
fn ours(fields: &Value) -> Value {
    let mut spec = json!({"matchConstraints": rules()});
    json_patch::merge(&mut spec, fields);
    json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
        "metadata": {"name": "p", "generation": 1}, "spec": spec})
}

fn load(documents: &[Value], objects: &[Value]) -> PolicySet {
    let sources: Vec<Source> = documents.iter().map(source).collect();
    let loaded = PolicySet::load(&sources, objects, &PolicySet::default());
    for report in &loaded.reports {
        assert!(report.faults.is_empty(), "{:?}", report.faults);
    }
    loaded.set
}

fn source(document: &Value) -> Source {
    Source {
        origin: Origin::Hub,
        document: document.clone(),
    }
}

fn ask<T>(object: &Value, facts: &Value, answer: impl FnOnce(&Question<'_>) -> T) -> T {
    let request = json!({"operation": "CREATE"});
    let facts = Facts(facts.clone());
    answer(&Question {
        stop: Default::default(),
        target: Target {
            operation: "CREATE",
            group: "g",
            version: "v1",
            resource: "things",
            subresource: "",
            namespace: "ns",
            name: "one",
        },
        request: &request,
        object: Some(object),
        old: None,
        namespace: None,
        facts: &facts,
        now: Some("2026-11-21T00:00:00Z".parse().expect("a time")),
    })
}

fn outcome(documents: &[Value], object: &Value) -> Outcome {
    ask(object, &json!({}), |question| {
        load(documents, &[]).validate(question)
    })
}

/// Returns the findings: `deny`, `warn` or `audit`, and the violation.
fn said(outcome: &Outcome) -> Vec<String> {
    let text = |finding: &super::Finding| {
        let word = match (finding.denies(), finding.warns(), finding.audits()) {
            (true, _, _) => "deny",
            (_, true, _) => "warn",
            (_, _, true) => "audit",
            (_, _, _) => "nothing",
        };
        format!("{word} {}", finding.violation())
    };
    outcome.findings.iter().map(text).collect()
}

#[track_caller]
fn check(fields: &Value, object: &Value, expected: &[&str]) {
    assert_eq!(said(&outcome(&[ours(fields)], object)), expected);
}

#[test]
fn a_validation_that_does_not_hold_says_its_message_or_its_expression() {
    let rows = [
        (
            json!({"expression": "object.a == 1"}),
            "deny failed expression: object.a == 1 [policy/p/0]",
        ),
        (
            json!({"id": "x", "expression": "false", "message": "say\n this"}),
            "deny say this [policy/p/x]",
        ),
        (
            json!({"expression": "false", "message": "m", "messageExpression": "'is ' + string(object.a)"}),
            "deny is 2 [policy/p/0]",
        ),
        (
            json!({"expression": "false", "message": "m", "messageExpression": "object.nope"}),
            "deny m [policy/p/0]",
        ),
        (
            json!({"expression": "false", "message": "m", "messageExpression": "'two\\nlines'"}),
            "deny m [policy/p/0]",
        ),
        (
            json!({"expression": "false", "message": "m", "messageExpression": "'  '"}),
            "deny m [policy/p/0]",
        ),
        (
            json!({"expression": "false", "message": "m", "fieldPath": ".a", "suggestion": "do"}),
            "deny a: Invalid value: 2: m; hint: do [policy/p/0]",
        ),
        (
            json!({"expression": "false", "message": "m", "fieldPath": "a", "reason": "Forbidden"}),
            "deny a: Forbidden: m [policy/p/0]",
        ),
    ];
    for (validation, expected) in rows {
        check(
            &json!({"validations": [validation]}),
            &json!({"a": 2}),
            &[expected],
        );
    }
}

#[test]
fn all_validations_are_reported_together() {
    let validations = json!([{"expression": "false", "message": "a"}, {"expression": "true"}, {"expression": "false", "message": "b"}]);
    let outcome = outcome(&[ours(&json!({"validations": validations}))], &json!({}));
    assert_eq!(said(&outcome), ["deny a [policy/p/0]", "deny b [policy/p/2]"]);
    let saw: Vec<Saw> = outcome.seen.iter().map(|seen| seen.saw).collect();
    assert_eq!(saw, [Saw::False, Saw::True, Saw::False]);
}

#[test]
fn actions_say_what_happens() {
    for (actions, word) in [
        (json!(["Warn"]), "warn"),
        (json!(["Audit"]), "audit"),
        (json!(["Deny", "Audit"]), "deny"),
    ] {
        let fields =
            json!({"validationActions": actions, "validations": [{"expression": "false", "message": "m"}]});
        let expected = format!("{word} m [policy/p/0]");
        check(&fields, &json!({}), &[&expected]);
    }
}

#[test]
fn an_error_is_never_allowed_by_accident() {
    let validation = json!([{"expression": "object.nope == 1", "message": "m"}]);
    check(
        &json!({"validations": validation}),
        &json!({}),
        &[
            "deny Internal error: policy p cannot be evaluated: expression 'object.nope == 1' resulted in error: no such key: nope [policy/p/0]",
        ],
    );
    check(
        &json!({"validations": validation, "failurePolicy": "Ignore"}),
        &json!({}),
        &[
            "audit Internal error: policy p cannot be evaluated: expression 'object.nope == 1' resulted in error: no such key: nope [policy/p/0]",
        ],
    );
    check(
        &json!({"validations": [{"expression": "object.a"}]}),
        &json!({"a": "text"}),
        &[
            "deny Internal error: policy p cannot be evaluated: cel expression must evaluate to a bool [policy/p/0]",
        ],
    );
}

#[test]
fn messages_keep_their_spaces() {
    check(
        &json!({"validations": [{"expression": "false", "message": " a  b\n  c "}, {"expression": "'x  y' == 'z'"}]}),
        &json!({}),
        &[
            "deny a  b c [policy/p/0]",
            "deny failed expression: 'x  y' == 'z' [policy/p/1]",
        ],
    );
}

#[test]
fn labels_with_strange_keys_are_not_overlooked() {
    // An evaluation that escapes the keys of maps would find no such label, and admit the object.
    check(
        &json!({"validations": [{"expression": "!('app.kubernetes.io/name' in object.metadata.labels)", "message": "m"}]}),
        &json!({"metadata": {"labels": {"app.kubernetes.io/name": "x"}}}),
        &["deny m [policy/p/0]"],
    );
}

#[test]
fn a_condition_that_is_false_beats_an_error() {
    let error = json!({"name": "error", "expression": "object.nope == 1"});
    let no = json!({"name": "no", "expression": "false"});
    let validations = json!([{"expression": "false", "message": "m"}]);
    check(
        &json!({"matchConditions": [error, no], "validations": validations}),
        &json!({}),
        &[],
    );
    check(
        &json!({"matchConditions": [error], "validations": validations}),
        &json!({}),
        &[
            "deny Internal error: policy p cannot be evaluated: matchConditions[error]: expression 'object.nope == 1' resulted in error: no such key: nope [policy/p/match]",
        ],
    );
}

#[test]
fn variables_fail_only_where_they_are_read() {
    let variables = json!([
        {"name": "bad", "expression": "object.nope"},
        {"name": "time", "expression": "timestamp('2026-01-01T00:00:00Z')"},
        {"name": "later", "expression": "variables.time + duration('1h')"},
    ]);
    check(
        &json!({"variables": variables, "validations": [
            {"expression": "true || variables.bad == 1"},
            {"expression": "variables.later.getHours() == 1"},
            {"expression": "variables.bad == 1"},
        ]}),
        &json!({}),
        &[
            "deny Internal error: policy p cannot be evaluated: expression 'variables.bad == 1' resulted in error: no such key: nope [policy/p/2]",
        ],
    );
}

#[test]
fn a_declared_variable_is_there_and_fails_where_it_is_asked_for() {
    let variables = json!([
        {"name": "labels", "expression": "has(object.metadata.labels) ? object.metadata.labels : {}"},
        {"name": "bad", "expression": "object.nope"},
        {"name": "both", "expression": "has(variables.labels) && variables.labels.size() > 0"},
    ]);
    let labelled = json!({"metadata": {"labels": {"banned": "yes"}}});
    let rows = [
        ("has(variables.labels) && !('banned' in variables.labels)", true),
        ("has(variables.both) && !variables.both", true),
        ("has(variables.labels.other)", true),
        ("has(variables.bad)", true),
        ("true || has(variables.bad)", false),
    ];
    for (expression, denies) in rows {
        let policy =
            json!({"variables": variables, "validations": [{"expression": expression, "message": "m"}]});
        let found = said(&outcome(&[ours(&policy)], &labelled));
        assert_eq!(!found.is_empty(), denies, "{expression}: {found:?}");
    }
    let unlabelled = json!({"metadata": {}});
    let policy = json!({"variables": variables, "validations": [
        {"expression": "has(variables.labels) && !('banned' in variables.labels)", "message": "m"}]});
    check(&policy, &unlabelled, &[]);
}

#[test]
fn what_is_not_known_is_not_guessed() {
    let fields = json!({"facts": ["cluster"], "validations": [
        {"expression": "facts.cluster.found", "message": "m"},
        {"expression": "true || facts.cluster.found"},
    ]});
    let policy = ours(&fields);
    let unknown = outcome(std::slice::from_ref(&policy), &json!({}));
    assert_eq!(
        said(&unknown),
        ["deny Internal error: policy p cannot be evaluated: the fact \"cluster\" is not known [policy/p/0]"]
    );
    assert_eq!(unknown.findings[0].judgement, Judgement::Unknown);
    let known = ask(&json!({}), &json!({"cluster": {"found": true}}), |question| {
        load(&[policy], &[]).validate(question)
    });
    assert!(known.findings.is_empty());
    check(
        &json!({"validations": [{"expression": "namespaceObject.metadata.labels.a == 'b'"}]}),
        &json!({}),
        &[
            "deny Internal error: policy p cannot be evaluated: the namespace of the object is not known [policy/p/0]",
        ],
    );
}

#[test]
fn one_policy_that_overruns_is_its_own_finding() {
    let list: Value = (0..300).collect();
    let mut greedy = ours(&json!({"validations": [
        {"expression": "object.list.all(a, object.list.all(b, object.list.all(c, a + b + c >= 0)))"}]}));
    greedy["metadata"]["name"] = json!("greedy");
    let modest = ours(&json!({"validations": [{"expression": "object.list.size() == 1", "message": "m"}]}));
    let said = said(&outcome(&[greedy, modest], &json!({"list": list})));
    assert_eq!(
        said,
        [
            "deny spec: Internal error: policy greedy cannot be evaluated: operation cancelled: actual cost limit exceeded [policy/greedy/0]",
            "deny m [policy/p/0]",
        ]
    );
}

#[test]
fn an_exception_records_instead() {
    let fields = json!({"validations": [{"expression": "false", "message": "m"}],
        "exceptions": [{"names": ["o*"], "until": "2026-11-21", "reason": "JIRA-1"}]});
    check(
        &fields,
        &json!({}),
        &["audit m (excepted until 2026-11-21: JIRA-1) [policy/p/0]"],
    );
}

#[test]
fn annotations_are_recorded_unless_they_are_null() {
    let fields = json!({"auditAnnotations": [
        {"key": "a", "valueExpression": "'x' + string(object.a)"}, {"key": "b", "valueExpression": "object.b"}]});
    let outcome = outcome(&[ours(&fields)], &json!({"a": 1, "b": null}));
    assert_eq!(
        outcome.annotations.into_iter().collect::<Vec<_>>(),
        [("p.a".to_owned(), "x1".to_owned())]
    );
    assert!(outcome.findings.is_empty());
}

#[test]
fn params_must_fit_their_schema() {
    let policy = ours(
        &json!({"params": {"most": "3"}, "paramsSchema": {"properties": {"most": {"type": "integer"}}},
        "validations": [{"expression": "object.a <= params.most"}]}),
    );
    let loaded = PolicySet::load(&[source(&policy)], &[], &PolicySet::default());
    let faults: Vec<String> = loaded.reports[0]
        .faults
        .iter()
        .map(super::PolicyFault::one_line)
        .collect();
    assert_eq!(faults, ["spec.params[most]: \"3\" is not of type \"integer\""]);
}

#[test]
fn a_policy_that_does_not_compile_leaves_the_last_good_one() {
    let good = ours(&json!({"validations": [{"expression": "false", "message": "m"}]}));
    let mut bad = ours(&json!({"validations": [{"expression": "objct.a == 1"}]}));
    bad["metadata"]["generation"] = json!(2);
    let first = PolicySet::load(&[source(&good)], &[], &PolicySet::default());
    let second = PolicySet::load(&[source(&bad)], &[], &first.set);
    assert_eq!(second.reports[0].in_force, InForce::Older(Some(1)));
    assert_eq!(
        second.reports[0].faults[0].to_string(),
        "spec.validations[0].expression:1:6: undeclared reference to 'objct' (in container ''); did you mean \"object\"?\n | objct.a == 1\n | .....^"
    );
    let outcome = ask(&json!({}), &json!({}), |question| second.set.validate(question));
    assert_eq!(outcome.findings.len(), 1, "the old version is still active");
    let gone = PolicySet::load(&[], &[], &second.set);
    assert!(gone.set.is_empty(), "a deleted policy is not active");
}

#[test]
fn policies_of_kubernetes_need_a_binding_and_read_its_params() {
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "most"}, "spec": {"matchConstraints": rules(),
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.a <= int(params.data.most)", "messageExpression": "'most ' + params.data.most"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"}, "spec": {"policyName": "most", "validationActions": ["Warn"],
        "paramRef": {"selector": {"matchLabels": {"for": "most"}}, "parameterNotFoundAction": "Deny"}}});
    let params = |name: &str, namespace: &str, most: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"most": most},
            "metadata": {"name": name, "namespace": namespace, "labels": {"for": "most"}}})
    };
    let run = |documents: &[Value], objects: &[Value]| {
        let set = load(documents, objects);
        said(&ask(&json!({"a": 5}), &json!({}), |question| {
            set.validate(question)
        }))
    };
    let none: [&str; 0] = [];
    assert_eq!(
        run(std::slice::from_ref(&policy), &[]),
        none,
        "without a binding it has no effect"
    );
    let both = [policy, binding];
    assert_eq!(
        run(
            &both,
            &[
                params("a", "ns", "3"),
                params("b", "ns", "9"),
                params("c", "other", "1")
            ]
        ),
        ["warn most 3 [policy/most/0]"]
    );
    assert_eq!(
        run(&both, &[]),
        [
            "warn Internal error: policy most cannot be evaluated: no params found, and parameterNotFoundAction is Deny [policy/most/match]"
        ]
    );
}

#[test]
fn mutations_run_in_order_and_only_add() {
    let patch = |name: &str, expression: &str| {
        let mut policy = ours(
            &json!({"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]}),
        );
        policy["metadata"]["name"] = json!(name);
        policy
    };
    let first = patch("a", "[JSONPatch{op: 'add', path: '/spec/x', value: 1}]");
    let second = patch(
        "b",
        "[JSONPatch{op: 'add', path: '/spec/y', value: object.spec.x + 1}]",
    );
    let late = patch("c", "[JSONPatch{op: 'add', path: '/spec/x', value: 7}]");
    let set = load(&[late, second, first], &[]);
    let object = json!({"spec": {}});
    let mutated = ask(&object, &json!({}), |question| set.mutate(question));
    assert_eq!(
        serde_json::to_value(&mutated.patch).expect("JSON"),
        json!([{"op": "add", "path": "/spec/x", "value": 1}, {"op": "add", "path": "/spec/y", "value": 2}])
    );
    let replacing = patch("a", "[JSONPatch{op: 'replace', path: '/spec/x', value: 1}]");
    let mutated = ask(&json!({"spec": {"x": 3}}), &json!({}), |question| {
        load(&[replacing], &[]).mutate(question)
    });
    assert!(mutated.patch.0.is_empty());
    assert_eq!(
        mutated.findings[0].violation().to_string(),
        "Internal error: policy a cannot be evaluated: /spec/x: only add and test are possible without allowOverwrite [policy/a/mutation-0]"
    );
}

#[test]
fn names_are_taken_once_and_files_come_first() {
    let policy = ours(&json!({"validations": [{"expression": "true"}]}));
    let file = Source {
        origin: Origin::File("a.yaml".to_owned()),
        document: policy.clone(),
    };
    let loaded = PolicySet::load(&[source(&policy), file], &[], &PolicySet::default());
    let found: Vec<(String, bool)> = loaded
        .reports
        .iter()
        .map(|report| (report.origin.to_string(), report.faults.is_empty()))
        .collect();
    assert_eq!(
        found,
        [("a.yaml".to_owned(), true), ("the hub".to_owned(), false)]
    );
    assert_eq!(loaded.set.len(), 1);
}

#[test]
fn what_kubernetes_can_say_as_well_is_exported() {
    let plain = ours(
        &json!({"validations": [{"id": "x", "expression": "object.a == 1", "message": "m", "fieldPath": "a",
        "suggestion": "do"}], "validationActions": ["Warn"]}),
    );
    let exported = super::native(&load(&[plain], &[]));
    let objects = exported[0].as_ref().expect("it has a native form");
    assert_eq!(
        objects[0]["spec"]["validations"],
        json!([{"expression": "object.a == 1", "message": "m; hint: do", "reason": "Forbidden"}])
    );
    assert_eq!(
        objects[1]["spec"],
        json!({"policyName": "p", "validationActions": ["Warn"]})
    );
    let again = load(objects, &[]);
    assert_eq!(
        said(&ask(&json!({"a": 2}), &json!({}), |question| again.validate(question))),
        ["warn Forbidden: m; hint: do [policy/p/0]"],
        "the exported objects have the same result"
    );
    let asking = ours(&json!({"facts": ["now"], "validations": [{"expression": "facts.now != ''"}]}));
    let refused = super::native(&load(&[asking], &[]));
    assert_eq!(
        refused[0].as_ref().expect_err("facts").reasons,
        ["it reads facts about the fleet"]
    );
}

#[test]
fn what_the_api_server_would_reject_is_not_exported() {
    let dynamic =
        ours(&json!({"validations": [{"id": "a", "expression": "object.spec.enabled", "message": "m"}]}));
    let refused = super::native(&load(&[dynamic], &[]));
    let reasons = match refused.first() {
        Some(Err(refused)) => refused.reasons.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reasons,
        ["the API server rejects spec.validations[0].expression:1:1: must evaluate to bool, not to dyn"]
    );
}

#[test]
fn what_is_probably_not_meant_is_noted() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "configs": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}});
    let policy = ours(&json!({
        "facts": ["addon"],
        "variables": [{"name": "unused", "expression": "1"}],
        "validations": [{"id": "a", "fieldPath": "spec", "message": "m",
            "expression": "object.spec.confgs.size() == 0 && object.spec.configs.all(c, c.nme == '' && c.name == '')"}],
    }));
    let (notes, native) = super::lint(
        &load(&[policy], &[]),
        &|_, _| Some(schema.clone()),
        &[("addon.open-cluster-management.io", "managedclusteraddons")],
        None,
    );
    let lines: Vec<String> = notes.iter().map(|note| note.fault.one_line()).collect();
    assert_eq!(
        lines,
        [
            "spec.facts[0]: no expression reads facts.addon",
            "spec.validations[0].expression:1:46: spec.configs may be absent, and the evaluation then fails: test has(object.spec.configs), or read \
             object.spec.?configs.orValue(…)",
            "spec.validations[0].expression:1:12: undefined field 'confgs'; did you mean \"configs\"?",
            "spec.validations[0].expression:1:63: undefined field 'nme'; did you mean \"name\"?",
            "spec.variables[0]: no expression reads variables.unused",
        ]
    );
    assert!(native.is_empty());
}

#[test]
fn validations_of_creations_that_an_update_evades_are_noted() {
    let noted = |operations: &[&[&str]], expression: &str| {
        let rule = |operations: &&[&str]| json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": operations, "resources": ["*"]});
        let rules: Vec<Value> = operations.iter().map(rule).collect();
        let spec = json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"id": "a", "message": "m", "expression": expression}]});
        let (notes, _) = super::lint(&load(&[ours(&spec)], &[]), &|_, _| None, &[("*", "*")], None);
        let lines = notes.iter().map(|note| note.fault.one_line());
        lines
            .filter(|line| line.contains("evaluated for creations and not for updates"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        noted(&[&["DELETE"], &["CREATE", "DELETE"]], "object.spec.a == 1"),
        [
            "spec.matchConstraints.resourceRules[1].operations: the policy is evaluated for creations and not for updates: what it rejects can be \
          added by an update"
        ]
    );
    for fine in [
        &[&["CREATE", "UPDATE"][..]][..],
        &[&["CREATE"], &["UPDATE"]],
        &[&["*"]],
        &[&["DELETE"]],
    ] {
        assert_eq!(
            noted(fine, "object.spec.a == 1"),
            <[String; 0]>::default(),
            "{fine:?}"
        );
    }
    for about_the_user in [
        "request.userInfo.username == 'a'",
        "object.spec.a == 1 || request.userInfo.username == 'a'",
        "true",
    ] {
        assert_eq!(
            noted(&[&["CREATE"]], about_the_user),
            <[String; 0]>::default(),
            "{about_the_user}"
        );
    }
}

#[test]
fn a_mutation_that_reads_the_name_is_noted() {
    let noted = |value: &str| {
        let spec = json!({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration":
            {"expression": format!("Object{{metadata: Object.metadata{{labels: {{'of': {value}}}}}}}")}}]});
        let (notes, _) = super::lint(&load(&[ours(&spec)], &[]), &|_, _| None, &[], None);
        let mut lines = notes.iter().map(|note| note.fault.one_line());
        lines.any(|line| line.contains("fails for an object with generateName"))
    };
    assert!(noted("object.metadata.name"));
    assert!(!noted("object.metadata.?name.orValue('')"));
    assert!(!noted("has(object.metadata.name) ? object.metadata.name : ''"));
    assert!(!noted("object.metadata.namespace"));
}

#[test]
fn a_field_path_of_a_policy_about_the_change_is_noted() {
    let noted = |expression: &str, more: &Value| {
        let mut spec = json!({"validations": [{"id": "a", "fieldPath": "metadata.name", "message": "m", "expression": expression}]});
        json_patch::merge(&mut spec, more);
        let (notes, _) = super::lint(&load(&[ours(&spec)], &[]), &|_, _| None, &[], None);
        let lines = notes.iter().map(|note| note.fault.one_line());
        let of_the_path = lines.filter(|line| line.starts_with("spec.validations[0].fieldPath: reads "));
        of_the_path
            .map(|line| line.split(": ").nth(1).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let rows = [
        (
            "'system:masters' in request.userInfo.groups",
            json!({}),
            Some("reads request.userInfo"),
        ),
        (
            "object.spec.a == oldObject.spec.a",
            json!({}),
            Some("reads oldObject.spec"),
        ),
        (
            "facts.now != ''",
            json!({"facts": ["now"]}),
            Some("reads facts.now"),
        ),
        (
            "object.spec.a == 1",
            json!({"matchConditions": [{"name": "c", "expression": "request.operation == 'UPDATE'"}]}),
            Some("reads request.operation"),
        ),
        (
            "variables.who == 'a'",
            json!({"variables": [{"name": "who", "expression": "request.userInfo.username"}]}),
            Some("reads request.userInfo"),
        ),
        ("object.metadata.name != request.namespace", json!({}), None),
    ];
    let without_path = json!({"validations": [{"id": "a", "message": "m", "expression": "request.userInfo.username == 'a'"}]});
    let (notes, _) = super::lint(&load(&[ours(&without_path)], &[]), &|_, _| None, &[], None);
    assert!(
        notes
            .iter()
            .all(|note| !note.fault.one_line().contains("fieldPath")),
        "whatever its author writes, it would be noted: {notes:?}"
    );
    for (expression, more, expected) in rows {
        assert_eq!(noted(expression, &more), Vec::from_iter(expected), "{expression}");
    }
}
