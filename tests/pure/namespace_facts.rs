//! Facts about the namespace of an object for policies: in the webhook, offline, in test cases, in the audit, on a hub.
//!
//! A namespace that was not read is unknown everywhere, and never counts as one without labels.

use std::collections::BTreeMap;

use admission::{LiveFact, Operation, RequestContext, Rulebook, UnknownFacts, Verdict, Webhook, decide};
use audit::{Asks, Inputs, Shift};
use http::{Request, Response};
use insight::offline::{Dump, Hub};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client};
use kubernetes::field::Violation;
use lint::check::judge;
use serde_json::{Value, json};
use store::{Facts, Kind, Names, NamespaceFacts, ObjectKey};
use tidegate::controllers::{Tide, TideOptions};

use crate::kit::audited::{Audited, instance, objects, reports, store};
use crate::kit::hubs::hub;
use crate::kit::policies;
use crate::kit::waiting::until;

const ADDON: &str = "addon.open-cluster-management.io";

fn policy(fields: &Value) -> Rulebook {
    let mut spec = json!({"matchConstraints": {"resourceRules": [{"apiGroups": [ADDON], "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["managedclusteraddons"]}]}});
    json_patch::merge(&mut spec, fields);
    let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
        "metadata": {"name": "place"}, "spec": spec});
    policies::rulebook(&[document])
}

/// Only namespaces of the team may have add-ons.
fn teams() -> Rulebook {
    policy(
        &json!({"validations": [{"id": "team", "message": "is not for add-ons",
        "expression": "namespaceObject.metadata.labels[?'team'].orValue('') == 'a'"}]}),
    )
}

/// Nothing may be in production.
fn selecting() -> Rulebook {
    policy(
        &json!({"matchConstraints": {"namespaceSelector": {"matchLabels": {"env": "prod"}}},
        "validations": [{"id": "never", "expression": "false", "message": "nothing comes here"}]}),
    )
}

fn place(labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1", "labels": labels}})
}

fn facts(labels: Option<&Value>) -> Facts {
    let mut hub = Hub::default();
    hub.put(
        json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": {}}),
    );
    hub.put(
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
    );
    labels.map(|labels| hub.put(place(labels)));
    let mut facts = hub.knowledge().known.completed();
    // As in the gate, where the hub can still be asked.
    facts.confirmed = store::Confirmed::Nothing;
    facts
}

fn asked(operation: Operation, unknown: UnknownFacts, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    let raw = serde_json::value::to_raw_value(&instance("hello")).expect("JSON");
    let is_deletion = operation == Operation::Delete;
    let request = admission::Request {
        webhook: Webhook::Validate,
        operation,
        group: ADDON,
        version: "v1alpha1",
        resource: "managedclusteraddons",
        kind: "ManagedClusterAddOn",
        subresource: "",
        namespace: "c1",
        name: "hello",
        object: (!is_deletion).then_some(&*raw),
        old: is_deletion.then_some(&*raw),
        dry_run: false,
        circumstances: RequestContext {
            unknown,
            ..RequestContext::default()
        },
    };
    decide(&request, facts, rulebook)
}

fn told(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

#[test]
fn a_known_namespace_is_read_and_selected_by() {
    let say = |rulebook: &Rulebook, labels: Value| {
        let facts = facts(Some(&labels));
        let each = [Operation::Create, Operation::Delete];
        each.map(|operation| told(asked(operation, UnknownFacts::Fail, &facts, rulebook).violations()).len())
    };
    assert_eq!(say(&teams(), json!({"team": "a"})), [0, 0]);
    assert_eq!(say(&teams(), json!({"team": "b"})), [1, 1]);
    assert_eq!(say(&selecting(), json!({"env": "test"})), [0, 0]);
    assert_eq!(say(&selecting(), json!({"env": "prod"})), [1, 1]);
    let name = policy(&json!({"matchConstraints": {"namespaceSelector":
        {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["c1"]}]}},
        "validations": [{"id": "n", "expression": "namespaceObject.metadata.name == 'c2' || !has(namespaceObject.metadata.annotations)"}]}));
    assert_eq!(
        say(&name, json!({})),
        [0, 0],
        "the name is known with the namespace"
    );
}

#[test]
fn an_unknown_namespace_is_asked_for_and_never_taken_for_one_without_labels() {
    for (rulebook, words) in [
        (
            teams(),
            "Internal error: policy place cannot be evaluated: the namespace of the object is not known [policy/place/team]",
        ),
        (
            selecting(),
            "Internal error: policy place cannot be evaluated: the labels of namespace \"c1\" are not known [policy/place/match]",
        ),
    ] {
        let facts = facts(None);
        for operation in [Operation::Create, Operation::Delete] {
            let verdict = asked(operation, UnknownFacts::Fail, &facts, &rulebook);
            assert_eq!(told(verdict.violations()), [words], "{operation:?}");
            let namespace = ObjectKey::new(Kind::Namespace, "", "c1");
            assert!(verdict.asks().contains(&namespace), "the hub is asked");
            // What it says counts at once.
            let metadata = serde_json::from_value(place(&json!({"team": "a"}))["metadata"].clone());
            let seen = NamespaceFacts::of(&metadata.expect("metadata"), &mut Names::default());
            let answers = BTreeMap::from([(namespace, LiveFact::Namespace(seen))]);
            let again = asked(
                operation,
                UnknownFacts::Fail,
                &facts.clone().told(answers),
                &rulebook,
            );
            assert_eq!(told(again.violations()), [""; 0]);
            assert!(again.asks().is_empty());
        }
        let aside = asked(Operation::Create, UnknownFacts::SetAside, &facts, &rulebook);
        assert_eq!(
            (aside.allowed(), told(aside.undecided())),
            (true, vec![words.to_owned()])
        );
    }
    let lenient = policy(&json!({"failurePolicy": "Ignore", "validations": [{"id": "team",
        "expression": "namespaceObject.metadata.labels['team'] == 'a'"}]}));
    let verdict = asked(Operation::Create, UnknownFacts::Fail, &facts(None), &lenient);
    assert!(verdict.allowed());
}

#[test]
fn a_namespace_that_no_policy_reads_is_not_requested() {
    let by_name = policy(&json!({"matchConstraints": {"namespaceSelector":
        {"matchLabels": {"kubernetes.io/metadata.name": "c1"}}}, "validations": [{"id": "a", "expression": "true"}]}));
    assert!(!by_name.policies.reads_namespaces());
    assert!(teams().policies.reads_namespaces() && selecting().policies.reads_namespaces());
    let verdict = asked(Operation::Create, UnknownFacts::Fail, &facts(None), &by_name);
    assert!(verdict.allowed() && verdict.asks().is_empty());
}

#[test]
fn a_folder_or_a_dump_that_shows_the_namespace_decides_and_one_that_does_not_says_unknown() {
    let say = |hub: &Hub| {
        let judged = judge(&instance("hello"), None, &hub.knowledge(), &teams()).expect("one of ours");
        let about = |violations: &[Violation]| {
            let about = violations.iter().filter(|one| one.rule() == "policy/place/team");
            about.count()
        };
        (about(judged.verdict.violations()), about(&judged.unknown))
    };
    let mut hub = Hub::default();
    assert_eq!(say(&hub), (0, 1), "the namespace is unknown");
    hub.complete(Kind::Namespace);
    assert_eq!(
        say(&hub),
        (0, 1),
        "a namespace that is not listed may come with the same files"
    );
    hub.put(place(&json!({"team": "b"})));
    assert_eq!(say(&hub), (1, 0));
    let dump = Dump {
        taken_at: "2026-11-21T00:00:00Z".parse().expect("a time"),
        hub,
        ..Dump::default()
    };
    let text = dump.render();
    assert!(
        text.contains("\"kind\":\"Namespace\"") && text.contains("\"team\":\"b\""),
        "{text}"
    );
    let mut again = Dump::read(&text).expect("a dump").hub;
    assert_eq!(say(&again), (1, 0));
    again.apply(place(&json!({"team": "a"})));
    assert_eq!(say(&again), (0, 0), "a file takes the place of what the hub has");
}

#[test]
fn cases_of_a_policy_test_name_the_namespace_among_the_facts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    put(
        "teams.yaml",
        "apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata: {name: teams}
spec:
  matchConstraints:
    namespaceSelector: {matchExpressions: [{key: exempt, operator: DoesNotExist}]}
    resourceRules:
      - {apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [managedclusteraddons]}
  validations:
    - {id: team, expression: \"namespaceObject.metadata.labels[?'team'].orValue('') == 'a'\", message: is not for add-ons, fieldPath: metadata.namespace}
",
    );
    let suite = |labels: &str| {
        format!(
            "kind: PolicyTest
policies: [teams.yaml]
given: {{facts: [{{apiVersion: v1, kind: Namespace, metadata: {{name: c1, labels: {{team: a}}}}}}]}}
cases:
  - name: of the team
    object: &object {{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: ManagedClusterAddOn, metadata: {{name: x, namespace: c1}}, spec: {{}}}}
    expect: {{allow: true}}
  - name: of another team
    object: *object
    facts: [{{apiVersion: v1, kind: Namespace, metadata: {{name: c1, labels: {labels}}}}}]
    expect: {{deny: [{{id: team, message~: 'not for'}}]}}
  - name: exempt
    object: *object
    facts: [{{apiVersion: v1, kind: Namespace, metadata: {{name: c1, labels: {{exempt: ''}}}}}}]
    expect: {{allow: true}}
"
        )
    };
    put("teams.test.yaml", &suite("{team: b}"));
    let report = tidegate::cli::policy::run_tests(&[folder.path().to_owned()], false).expect("it runs");
    assert!(report.passed(), "{}", report.text());
    put("teams.test.yaml", &suite("{team: a}"));
    let report = tidegate::cli::policy::run_tests(&[folder.path().to_owned()], false).expect("it runs");
    assert!(!report.passed(), "{}", report.text());
}

#[test]
fn a_namespace_that_changes_concerns_what_lives_in_it_if_some_policy_asks() {
    let (old, new) = (
        facts(Some(&json!({"team": "a"}))),
        facts(Some(&json!({"team": "b"}))),
    );
    let here = ObjectKey::new(Kind::Instance, "c1", "hello");
    let there = ObjectKey::new(Kind::Instance, "c2", "hello");
    let footprint = Inputs::default();
    let shift = Shift::between(&old, &new, Asks::of(&teams()));
    assert!(shift.concerns(&here, &footprint) && !shift.concerns(&there, &footprint));
    assert!(Shift::between(&old, &new, Asks::of(&Rulebook::default())).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_checks_again_when_the_namespace_is_labelled() {
    let hub = hub().await;
    for object in objects() {
        store(&hub, &object).await;
    }
    store(&hub, &instance("hello")).await;
    let audited = Audited::start(hub.client()).await;
    reports(&hub, "policyreports.yaml").await;
    audited.rulebook.store(std::sync::Arc::new(teams()));
    until("both are reported", || async {
        let report = audited.report("policyreports", "c1").await?;
        (report["summary"]["fail"] == 2).then_some(())
    })
    .await;
    let namespaces: Api<Namespace> = Api::all(hub.client());
    let label = Patch::Merge(json!({"metadata": {"labels": {"team": "a"}}}));
    namespaces
        .patch("c1", &PatchParams::default(), &label)
        .await
        .expect("labelled");
    until("neither is", || async {
        let report = audited.report("policyreports", "c1").await?;
        (report["summary"]["fail"] == 0).then_some(())
    })
    .await;
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unlisted_namespaces_block_no_replica() {
    let hub = hub().await;
    for object in objects() {
        store(&hub, &object).await;
    }
    let inner = hub.client();
    let service = tower::service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move {
            let path = request.uri().path().to_owned();
            if path != "/api/v1/namespaces" {
                return inner.send(request).await;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403,
                "reason": "Forbidden", "message": "namespaces is forbidden"});
            let body = Body::from(status.to_string().into_bytes());
            Ok(Response::builder().status(403).body(body).expect("a response"))
        }
    });
    let tide = Tide::start(Client::new(service, "default"), TideOptions::default())
        .await
        .expect("the controllers start");
    until("the facts are complete", || async {
        tide.facts().load().is_complete().then_some(())
    })
    .await;
    assert!(
        tide.facts().load().namespace("c1").is_none(),
        "unknown, and not without labels"
    );
    tide.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_itself_says_what_its_namespaces_are() {
    let hub = hub().await;
    store(&hub, &place(&json!({"team": "a"}))).await;
    let ask = |name: &'static str| {
        tidegate::controllers::ask(hub.client(), ObjectKey::new(Kind::Namespace, "", name))
    };
    assert_eq!(ask("nowhere").await, Some(LiveFact::Absent));
    let Some(LiveFact::Namespace(found)) = ask("c1").await else {
        panic!("a namespace");
    };
    assert_eq!(found.labels.get("team").map(|value| &**value), Some("a"));
    hub.shutdown().await;
}
