//! What the gate does while it asks the hub whether objects exist.
//!
//! Never tests a rule; it takes the two that find neither add-on nor cluster.

use std::time::Duration;

use futures::FutureExt as _;
use serde_json::{Value, json};

use super::rig::{Rig, quick, review};
use crate::admission::Told;
use crate::admission::{Enforcement, Rulebook, decide};
use crate::server::Witness;

/// Refuses what is confirmed to be absent.
fn strict() -> Rulebook {
    Rulebook {
        enforcement: Enforcement::parse("[{rule: naming/*, action: Deny}]").expect("a good file"),
        ..Rulebook::default()
    }
}

async fn answer(witness: Option<Witness>) -> (Value, usize) {
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
    let says = |word: Told| {
        let word = move |_| {
            let word = word.clone();
            async move { Some(word) }.boxed()
        };
        Some(Witness::new(word))
    };
    assert_eq!(answer(says(Told::Absent)).await, (json!(false), 0));
    assert_eq!(answer(says(Told::Exists)).await, (json!(true), 0));
}

#[tokio::test]
async fn a_hub_that_does_not_answer_is_not_waited_for() {
    let silent = Witness::new(|_| std::future::pending().boxed());
    let answered = tokio::time::timeout(Duration::from_mins(1), answer(Some(silent))).await;
    assert_eq!(answered.expect("an answer without the hub's"), (json!(true), 2));
}
