//! The bypass oracle: every denied object is tried again by every known way around a webhook. If it is stored, the test fails.
//!
//! There is one denied object per rule that denies, taken from the rule pages, and one per validation of the sample policies; one
//! way per row of `dimensions.rs`; a hub with the shipped webhooks, over TLS. With `KUBEBUILDER_ASSETS` the hub is a real API server.
//! A valid object is sent every way too, so that every way works; and before the webhooks exist the denied objects are found stored,
//! so that the check works.

mod cases;
mod dimensions;
pub(crate) mod rig;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use admission::{Entry, Operation, catalogue};
use cases::{Candidates, Case};
use dimensions::{From, Hub, Manner, PADDING, Scene, WAYS, Way};
use expect_test::expect;
use rig::{Rig, address, ask, collection};
use serde_json::{Value, json};

use crate::kit::asked::Asked;
use crate::kit::search;
use crate::pure::backstop::refusals;

/// What became of one try.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing that is denied is stored.
    Held,
    /// It is.
    Passed(String),
    /// This way does not lead to this object, and why.
    Closed(&'static str),
}

/// Returns an object without what only made it larger.
fn unpadded(stored: &Value) -> Value {
    let mut object = stored.clone();
    for part in ["annotations", "labels"] {
        if let Some(all) = object["metadata"][part].as_object_mut() {
            all.retain(|name, _| !name.starts_with(PADDING));
        }
    }
    shorten(&mut object);
    object
}

fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.truncate(100);
            items.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Stores what a way begins with; the object as the hub shows it.
async fn prepare(rig: &Rig, way: &Way, case: &Case) -> Result<Value, &'static str> {
    let place = || address(&case.denied, "v1alpha1");
    match (way.from, &case.old) {
        (From::Nothing, Some(_)) => return Err("the rule is about a change"),
        (From::Nothing, None) => return Ok(Value::Null),
        (From::Innocent | From::Going, Some(old)) => {
            let (status, answer) = rig
                .send_past(&ask("POST", collection(old, "v1alpha1"), old))
                .await;
            if status != 201 {
                return Err(if answer["code"] == 422 {
                    "the hub does not store what was there before"
                } else {
                    "the stored object is strange"
                });
            }
        }
        (From::Innocent | From::Going, None) => {
            let mut done = false;
            for innocent in &case.innocent {
                let (status, _) = rig
                    .send(&ask("POST", collection(innocent, "v1alpha1"), innocent))
                    .await;
                if status == 201 {
                    done = true;
                    break;
                }
            }
            if !done {
                return Err("nothing innocent has this name");
            }
        }
    }
    if way.from == From::Going {
        let mut hold = ask(
            "PATCH",
            place(),
            &json!({"metadata": {"finalizers": ["pad.example.com/hold"]}}),
        );
        hold.content = "application/merge-patch+json";
        let (status, answer) = rig.send_past(&hold).await;
        assert_eq!(status, 200, "{answer}");
        let (status, answer) = rig.send_past(&ask("DELETE", place(), &Value::Null)).await;
        assert_eq!(status, 200, "{answer}");
    }
    let (status, stored) = rig.send(&ask("GET", place(), &Value::Null)).await;
    assert_eq!(status, 200, "{stored}");
    Ok(stored)
}

/// Status and body of an answer.
type Answered = (u16, Value);

/// Goes one way; returns the answers and what was stored before, or why it is closed.
async fn go(rig: &Rig, way: &Way, case: &Case) -> Result<(Vec<Answered>, Value), &'static str> {
    rig.enter(case).await;
    rig.clean(case).await;
    let stored = prepare(rig, way, case).await?;
    let scene = Scene {
        wanted: &case.denied,
        stored: &stored,
    };
    let requests = way.requests(&scene).ok_or("the object has no such part")?;
    if way.manner == Manner::AtOnce {
        let sent = futures::future::join_all(requests.iter().map(|request| rig.send(request))).await;
        return Ok((sent, stored));
    }
    let mut answers = Vec::new();
    for request in &requests {
        answers.push(rig.send(request).await);
    }
    Ok((answers, stored))
}

async fn attempt(rig: &Rig, way: &Way, case: &Case) -> Outcome {
    let (answers, before) = match go(rig, way, case).await {
        Ok(done) => done,
        Err(why) => return Outcome::Closed(why),
    };
    let statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
    // A patch may make something of the stored object that is not denied.
    let says_yes = |(status, answer): &Answered| *status < 300 && case.is_broken_by(answer);
    if way.manner == Manner::Dry && answers.iter().any(says_yes) {
        return Outcome::Passed(format!("a dry run says yes: {statuses:?}"));
    }
    let stored = rig.stored(case).await;
    // To write an object that is being deleted and leave its spec alone is no bypass; to change its spec is one.
    let is_let_be = |object: &Value| way.from == From::Going && object["spec"] == before["spec"];
    let mut objects = stored
        .iter()
        .flat_map(|object| [object.clone(), unpadded(object)]);
    let broken = objects.find(|object| !is_let_be(object) && case.is_broken_by(object));
    match broken {
        Some(object) => Outcome::Passed(format!("{statuses:?}: {}", short(&object))),
        None => Outcome::Held,
    }
}

fn short(object: &Value) -> String {
    let mut object = object.clone();
    if let Some(fields) = object["metadata"].as_object_mut() {
        fields.remove("managedFields");
    }
    object.to_string().chars().take(600).collect()
}

/// Tries every case in every way; prints the table, and returns what was stored.
#[expect(
    clippy::print_stderr,
    reason = "the table of what was tried is what a reader wants to see"
)]
async fn siege(rig: &Rig, cases: &[Case]) -> Vec<String> {
    let mut passed = Vec::new();
    let mut table = format!("{:<42} {:>5} {:>7} {:>7}\n", "way", "held", "closed", "passed");
    let mut closed: BTreeMap<&str, usize> = BTreeMap::new();
    let begun = Instant::now();
    for (number, way) in WAYS.iter().enumerate() {
        let (mut held, mut shut, mut through) = (0, 0, 0);
        let one_in = match (search::is_full(), way.is_heavy && cases.len() > 20) {
            (true, false) => 1,
            (false, false) => 4,
            (true, true) => 6,
            (false, true) => 12,
        };
        let chosen = cases.iter().enumerate();
        for (_, case) in chosen.filter(|(place, _)| (place + number) % one_in == 0) {
            match attempt(rig, way, case).await {
                Outcome::Held => held += 1,
                Outcome::Closed(why) => {
                    shut += 1;
                    *closed.entry(why).or_default() += 1;
                }
                Outcome::Passed(how) => {
                    through += 1;
                    passed.push(format!("{} by \"{}\": {how}", case.rule, way.name));
                }
            }
        }
        // Not every way leads to each kind.
        let is_every_kind = cases.len() > 5;
        assert!(
            held > 0 || through > 0 || !is_every_kind,
            "no case goes this way: {}",
            way.name
        );
        writeln!(table, "{:<42} {held:>5} {shut:>7} {through:>7}", way.name).expect("a string");
    }
    for case in cases {
        rig.enter(case).await;
        rig.clean(case).await;
    }
    let (rules, ways, seconds) = (cases.len(), WAYS.len(), begun.elapsed().as_secs());
    eprintln!("{rules} rules, {ways} ways, {seconds} s\n{table}\nclosed: {closed:#?}");
    passed
}

/// Of each rule's denied objects takes the first one that the hub stores while the gate is not asked: what is stored then is
/// found. Returns the cases, and the rules of which the hub itself stores nothing.
async fn storable(rig: &Rig, rules: Vec<Candidates>, others: &[Value]) -> (Vec<Case>, Vec<String>) {
    let (mut cases, mut unseen) = (Vec::new(), Vec::new());
    for candidates in rules {
        let mut found = None;
        for case in candidates.iter().take(12) {
            let name = if case.old.is_some() { "replace" } else { "create" };
            let way = WAYS.iter().find(|way| way.name == name).expect("a way");
            let outcome = attempt(rig, way, case).await;
            rig.clean(case).await;
            if matches!(outcome, Outcome::Passed(_)) {
                found = Some(case);
                break;
            }
        }
        let case = found
            .or_else(|| candidates.first())
            .expect("every rule here denies something");
        if found.is_none() {
            unseen.push(case.rule.clone());
        }
        cases.push(case.clone().with_innocents(others));
    }
    (cases, unseen)
}

/// The rules that deny nothing which could be stored: those that only warn, and those that deny a deletion.
fn silent_rules() -> Vec<&'static str> {
    let warns = |entry: &Entry| !entry.refuses || entry.id == "schema/unknown-field";
    let silent = catalogue().into_iter().filter(|entry| {
        warns(entry)
            || [
                "deletion/guarded",
                "deletion/rollout-profile",
                "deletion/rollout-settings",
            ]
            .contains(&entry.id)
    });
    silent.map(|entry| entry.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_rule_denies_is_stored_in_no_way() {
    let (rules, others, silent) = cases::of_rules();
    assert_eq!(silent, silent_rules());
    let rig = Rig::start().await;
    let (mut cases, unseen) = storable(&rig, rules, &others).await;
    // What is too large goes every long way already, as the padding of the others.
    cases.retain(|case| case.rule != "schema/bounds");
    // The hub's own definitions refuse these as well.
    expect![["
        approval/author
        approval/content
        config/incomplete-reference
        deployment-config/quantity
        install/duplicate-placement
        install/namespace
        install/placement-space
        metadata/value
        rollout/author
        rollout/checks
        rollout/on-failure
        rollout/placements
        rollout/revisions
        rollout/times
        rollout/unknown-type
        schema/bounds
        schema/value
        template/manifest-identity
        template/namespace"]]
    .assert_eq(&unseen.join("\n"));
    rig.close_the_gate().await;
    let passed = siege(&rig, &cases).await;
    rig.stop().await;
    let passed = passed.join("\n");
    assert!(passed.is_empty(), "stored, although it is denied:\n{passed}");
}

/// The webhooks are not registered at all: what the API server refuses by itself is stored in no way either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_backstop_refuses_is_stored_in_no_way_without_webhooks() {
    let (rules, others, _) = cases::of_rules();
    let is_refused = |case: &Case| {
        let operation = if case.old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        };
        let asked = Asked {
            operation,
            subresource: "",
            object: case.denied.clone(),
            old: case.old.clone(),
        };
        let refusals = refusals(&asked);
        refusals.iter().any(|(rule, _)| *rule == case.rule)
    };
    let refused = rules.into_iter().map(|cases| -> Candidates {
        let told = cases.into_iter().filter(is_refused);
        told.filter(|case| {
            ["ClusterManagementAddOn", "RolloutApproval"]
                .map(Value::from)
                .contains(&case.denied["kind"])
        })
        .collect()
    });
    let refused = refused.filter(|cases: &Candidates| !cases.is_empty()).collect();
    let rig = Rig::start().await;
    let (mut cases, unseen) = storable(&rig, refused, &others).await;
    cases.retain(|case| !unseen.contains(&case.rule));
    let covered: Vec<&str> = cases.iter().map(|case| case.rule.as_str()).collect();
    expect![[r#"
        [
            "rollout/max-concurrency",
            "rollout/max-failures",
            "rollout/min-success-time",
            "rollout/progress-deadline",
        ]
    "#]]
    .assert_debug_eq(&covered);
    rig.raise_the_backstop().await;
    let passed = siege(&rig, &cases).await;
    rig.stop().await;
    let passed = passed.join("\n");
    assert!(passed.is_empty(), "stored, although it is denied:\n{passed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_policy_denies_is_stored_in_no_way() {
    let (cases, silent) = cases::of_policies();
    // One policy warns, the other one changes objects.
    expect![[r"
        policy/rollout-no-empty-mandatory-groups/group
        rollout-no-empty-mandatory-groups.test.yaml: nothing is denied
        tier-label-default.test.yaml: nothing is denied"]]
    .assert_eq(&silent.join("\n"));
    let rig = Rig::start().await;
    let rules = cases.iter().map(|case| vec![case.clone()]).collect();
    let (_, unseen) = storable(&rig, rules, &[]).await;
    expect![[""]].assert_eq(&unseen.join("\n"));
    rig.close_the_gate().await;
    let passed = siege(&rig, &cases).await;
    rig.stop().await;
    let passed = passed.join("\n");
    assert!(passed.is_empty(), "stored, although it is denied:\n{passed}");
}

/// Returns an innocent object of each kind that is built differently.
fn innocents() -> [Value; 3] {
    let object = |kind: &str, namespace: Option<&str>, spec: Value| {
        let mut object = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": kind,
            "metadata": {"name": "innocent", "labels": {"mark": "new"}}, "spec": spec});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    };
    let placements = json!([{"name": "a", "namespace": "default"}]);
    [
        object(
            "ClusterManagementAddOn",
            None,
            json!({"installStrategy": {"type": "Placements", "placements": placements}}),
        ),
        object(
            "AddOnDeploymentConfig",
            Some("default"),
            json!({"customizedVariables": [{"name": "A", "value": "b"}]}),
        ),
        object(
            "AddOnTemplate",
            None,
            json!({"addonName": "innocent", "agentSpec": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}]}}}),
        ),
    ]
}

/// An innocent object of each kind gets through wherever the hub itself lets anything through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_innocent_object_goes_every_way() {
    let rig = Rig::start().await;
    rig.close_the_gate().await;
    let kinds = innocents();
    let mut wrong = Vec::new();
    for denied in kinds {
        let mut before = denied.clone();
        before["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("labels");
        let case = Case {
            rule: String::new(),
            denied,
            old: None,
            facts: Arc::default(),
            rulebook: Arc::default(),
            innocent: vec![before],
        };
        for way in &WAYS {
            let statuses = go(&rig, way, &case).await.map(|(statuses, _)| statuses);
            let stored = rig.stored(&case).await;
            let arrived = stored
                .iter()
                .any(|one| one["metadata"]["labels"]["mark"] == "new");
            let is_as_expected = match way.hub {
                Hub::Stores => arrived,
                Hub::StoresNothing => !arrived,
                Hub::Either => true,
            };
            if statuses.is_ok() && !is_as_expected {
                wrong.push(format!(
                    "{} {}: {statuses:?}, stored: {arrived}",
                    case.denied["kind"], way.name
                ));
            }
        }
        rig.clean(&case).await;
    }
    rig.stop().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
