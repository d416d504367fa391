//! What the gate does while it asks the hub whether objects exist, and what the one who asks may do.
//!
//! Never tests a rule; it takes the two that find neither add-on nor cluster, and the one about authors of templates.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::rig::{Rig, quick, review};
use crate::server::ExistenceReader;
use admission::{Enforcement, Rulebook, decide};
use admission::{InstallNamespace, LiveFact};

/// Refuses what is confirmed to be absent.
fn strict() -> Rulebook {
    Rulebook {
        enforcement: Enforcement::parse("[{rule: naming/*, action: Deny}]").expect("a good file"),
        ..Rulebook::default()
    }
}

async fn answer(witness: Option<ExistenceReader>) -> (Value, usize) {
    let rig = Rig::asking(quick(), decide, strict(), witness).await;
    let (status, body) = rig.post("/validate", review(&json!({}))).await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let response = &answer["response"];
    let warnings = response["warnings"].as_array().map_or(0, Vec::len);
    (response["allowed"].clone(), warnings)
}

#[tokio::test]
async fn what_only_the_watch_has_not_seen_is_stored_with_a_warning() {
    assert_eq!(answer(None).await, (json!(true), 2));
}

#[tokio::test]
async fn what_the_hub_calls_absent_is_refused_and_what_it_has_is_fine() {
    let says = |word: LiveFact| {
        let word = move |_| {
            let word = word.clone();
            async move { Some(word) }.boxed()
        };
        Some(ExistenceReader::new(word))
    };
    assert_eq!(answer(says(LiveFact::Absent)).await, (json!(false), 0));
    assert_eq!(answer(says(LiveFact::Exists)).await, (json!(true), 0));
}

#[tokio::test]
async fn a_hub_that_does_not_answer_is_not_waited_for() {
    let silent = ExistenceReader::new(|_| std::future::pending().boxed());
    let answered = tokio::time::timeout(Duration::from_mins(1), answer(Some(silent))).await;
    assert_eq!(answered.expect("an answer without the hub's"), (json!(true), 2));
}

/// Returns what is added to an object that names no install namespace.
async fn addition(witness: ExistenceReader) -> String {
    let rig = Rig::asking(quick(), decide, Rulebook::default(), Some(witness)).await;
    let (status, body) = rig.post("/mutate", review(&json!({}))).await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let patch = answer.pointer("/response/patch").and_then(Value::as_str);
    let patch = STANDARD.decode(patch.unwrap_or_default()).expect("base64");
    String::from_utf8(patch).expect("text")
}

#[tokio::test]
async fn what_is_filled_in_is_what_the_hub_says_and_not_what_the_watch_has_shown() {
    let giving = |namespace: Option<&'static str>| {
        ExistenceReader::new(move |object| {
            let given = namespace.map(|text| InstallNamespace::parse(text).expect("a namespace"));
            let told = object.is_about_a_default().then_some(LiveFact::Given(given));
            async move { told }.boxed()
        })
    };
    let expected = r#"[{"op":"add","path":"/spec/installNamespace","value":"agents"}]"#;
    assert_eq!(addition(giving(Some("agents"))).await, expected);
    assert_eq!(addition(giving(None)).await, "");
    let silent = ExistenceReader::new(|_| std::future::pending().boxed());
    assert_eq!(addition(silent).await, "", "then it is what the watch has shown");
}

const OWN_ROLE: &str = include_str!("../../../tests/data/attacks/own-role.yaml");

/// Posts the first object of an attack as a given user; returns whether it is allowed, and the messages of a refusal.
async fn post_as(user: &Value, witness: Option<ExistenceReader>) -> (bool, String) {
    let rig = Rig::asking(quick(), decide, Rulebook::default(), witness).await;
    let first = OWN_ROLE.split("\n---\n").next().expect("a template");
    let object: Value = serde_saphyr::from_str(first).expect("YAML");
    let request = json!({
        "uid": "u-1", "operation": "CREATE", "name": "hello", "userInfo": user,
        "kind": {"group": "addon.open-cluster-management.io", "version": "v1alpha1", "kind": "AddOnTemplate"},
        "resource": {"group": "addon.open-cluster-management.io", "version": "v1alpha1", "resource": "addontemplates"},
        "object": object,
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (status, body) = rig
        .post("/validate", serde_json::to_vec(&review).expect("JSON"))
        .await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let response = &answer["response"];
    (response["allowed"] == true, response["status"].to_string())
}

/// Answers that there are no objects, and for permissions what the test sets.
fn vouching(may: Option<bool>) -> ExistenceReader {
    ExistenceReader::new(|_| async { Some(LiveFact::Absent) }.boxed()).vouching(move |user, question| {
        assert!(
            user.contains("alice") && user.contains("writers") && user.contains("scopes"),
            "{user}"
        );
        assert_eq!((&*question.object.name, &*question.namespace), ("cmreader", ""));
        async move { may }.boxed()
    })
}

#[tokio::test]
async fn an_author_gives_away_only_what_he_may_and_never_a_role_of_the_hub() {
    let alice = json!({"username": "alice", "groups": ["writers"], "extra": {"scopes": ["a"]}});
    for (may, about) in [
        (Some(true), None),
        (
            Some(false),
            Some("you are not allowed to grant this role in all namespaces"),
        ),
        (
            None,
            Some("the hub did not report in time whether you are allowed to grant this role"),
        ),
    ] {
        let (allowed, said) = post_as(&alice, Some(vouching(may))).await;
        assert!(!allowed, "{may:?}");
        for words in [
            "[permission/role]",
            "[permission/namespace]",
            "tidegate-tide",
            "kube-system",
        ] {
            assert!(said.contains(words), "{may:?}: {said}");
        }
        assert_eq!(
            said.contains("[permission/author]"),
            about.is_some(),
            "{may:?}: {said}"
        );
        assert!(about.is_none_or(|words| said.contains(words)), "{may:?}: {said}");
    }
    let (allowed, said) = post_as(&alice, None).await;
    assert!(
        !allowed && said.contains("[permission/author]"),
        "no hub to ask: {said}"
    );
}

#[tokio::test]
async fn a_user_without_end_is_not_asked_about() {
    let endless = json!({"username": "alice", "groups": ["x".repeat(64 << 10)]});
    let witness =
        ExistenceReader::new(|_| async { None }.boxed()).vouching(|_, _| panic!("no request is expected"));
    let (allowed, said) = post_as(&endless, Some(witness)).await;
    assert!(!allowed && said.contains("[permission/author]"), "{said}");
}
