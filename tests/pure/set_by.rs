//! The webhook records who has set a pause or a freeze, and when.

use admission::{RequestContext, Rulebook, Verdict, Webhook};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::Facts;

use crate::kit::asked::Asked;

const SET_BY: &str = "/metadata/annotations/tidegate.io~1set-by";

/// The user and the time of a request.
type At<'a> = (&'a str, &'a str);

fn rollout(spec: &Value) -> Value {
    json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout", "metadata": {"name": "hello"}, "spec": spec})
}

fn paused(pause: &Value) -> Value {
    rollout(&json!({"addon": "hello", "pause": pause}))
}

fn annotated(mut object: Value, lines: &str) -> Value {
    object["metadata"]["annotations"] = json!({"tidegate.io/set-by": lines});
    object
}

fn verdict(webhook: Webhook, object: &Value, old: Option<&Value>, (user, now): At<'_>) -> Verdict {
    let mut asked = Asked::create(object.clone());
    if let Some(old) = old {
        asked.operation = admission::Operation::Update;
        asked.old = Some(old.clone());
    }
    let user = to_raw_value(&json!({"username": user})).expect("JSON");
    let circumstances = RequestContext {
        user: Some(&user),
        now: Some(now.parse().expect("a time")),
        ..RequestContext::default()
    };
    asked.as_told(&Rulebook::default(), (webhook, circumstances), &Facts::default())
}

/// Returns the object that both webhooks let the hub store; the second one is called up to a minute later.
fn stored(object: &Value, old: Option<&Value>, at: At<'_>) -> Value {
    let first = verdict(Webhook::Mutate, object, old, at);
    let mut after = object.clone();
    json_patch::patch(&mut after, first.patch()).expect("the patch fits");
    let later: jiff::Timestamp = at.1.parse().expect("a time");
    let later = (later + jiff::SignedDuration::from_secs(60)).to_string();
    for webhook in [Webhook::Mutate, Webhook::Validate] {
        let second = verdict(webhook, &after, old, (at.0, &later));
        assert!(second.patch().0.is_empty(), "{:?}", second.patch());
        assert!(second.violations().is_empty(), "{:?}", second.violations());
    }
    after
}

fn lines(object: &Value) -> &str {
    object.pointer(SET_BY).and_then(Value::as_str).unwrap_or_default()
}

const ALICE: At<'_> = ("alice", "2030-01-01T00:00:00Z");
const BOB: At<'_> = ("bob b", "2030-01-02T00:00:00Z");

#[test]
fn a_line_is_set_kept_changed_and_removed_with_its_pause() {
    let first = stored(&paused(&json!({})), None, ALICE);
    assert_eq!(lines(&first), "* 2030-01-01T00:00:00Z alice");
    // A manifest has no annotation; the hub keeps what no field manager owns, or drops it.
    let two = rollout(&json!({"addon": "hello", "pause": {}, "placements": [
        {"namespace": "default", "name": "edge", "pause": {"reason": "INC-1"}},
        {"namespace": "default", "name": "all", "windows": []}]}));
    let both = "* 2030-01-01T00:00:00Z alice\ndefault/edge 2030-01-02T00:00:00Z bob b";
    assert_eq!(lines(&stored(&two, Some(&first), BOB)), both);
    let second = stored(&annotated(two, lines(&first)), Some(&first), BOB);
    assert_eq!(lines(&second), both);
    let reason = annotated(paused(&json!({"reason": "INC-2"})), lines(&first));
    let third = stored(&reason, Some(&first), BOB);
    assert_eq!(lines(&third), "* 2030-01-02T00:00:00Z bob b");
    let resumed = annotated(rollout(&json!({"addon": "hello"})), lines(&third));
    let resumed = stored(&resumed, Some(&third), ALICE);
    assert_eq!(resumed.pointer(SET_BY), None);
    assert_eq!(stored(&rollout(&json!({})), None, ALICE).pointer(SET_BY), None);
}

#[test]
fn the_same_user_can_change_a_pause_within_a_minute() {
    let first = stored(&paused(&json!({"reason": "a"})), None, ALICE);
    let other = annotated(paused(&json!({"reason": "b"})), lines(&first));
    let second = stored(&other, Some(&first), ("alice", "2030-01-01T00:00:30Z"));
    assert_eq!(lines(&second), "* 2030-01-01T00:00:30Z alice");
}

#[test]
fn profiles_and_freezes_have_a_line() {
    let profile = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutProfile", "metadata": {"name": "x"},
        "spec": {"pause": {"reason": "holidays"}}});
    assert_eq!(
        lines(&stored(&profile, None, ALICE)),
        "* 2030-01-01T00:00:00Z alice"
    );
    let freeze = |until: &str| {
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutFreeze", "metadata": {"name": "x"},
            "spec": {"reason": "holidays", "until": until}})
    };
    let first = stored(&freeze("2031-01-01T00:00:00Z"), None, ALICE);
    assert_eq!(lines(&first), "* 2030-01-01T00:00:00Z alice");
    let same = stored(&freeze("2031-01-01T00:00:00Z"), Some(&first), BOB);
    assert_eq!(lines(&same), lines(&first));
    let longer = stored(&freeze("2031-02-01T00:00:00Z"), Some(&first), BOB);
    assert_eq!(lines(&longer), "* 2030-01-02T00:00:00Z bob b");
}

#[test]
fn another_value_is_replaced_with_a_warning_and_then_refused() {
    let before = stored(&paused(&json!({})), None, ALICE);
    for forged in [
        "* 2030-01-02T00:00:00Z jane",
        "* 2029-01-02T00:00:00Z bob b",
        "banana",
        "* 2030-01-01T00:00:00Z alice\ndefault/edge 2030-01-02T00:00:00Z bob b",
        "* 2030-01-01T00:00:00Z alice\n",
        "",
    ] {
        // An export of another hub, and an edit of nothing but the annotation.
        for old in [None, Some(&before)] {
            let object = annotated(paused(&json!({})), forged);
            let right = if old.is_some() { ALICE } else { BOB };
            let expected = format!("* {} {}", right.1, right.0);
            let first = verdict(Webhook::Mutate, &object, old, BOB);
            assert!(first.violations().is_empty(), "{forged}");
            let warned = first.warnings().iter().map(ToString::to_string);
            let warned: Vec<String> = warned.filter(|text| text.contains("[rollout/author]")).collect();
            assert_eq!(warned.len(), 1, "{forged:?} {warned:?}");
            let mut after = object.clone();
            json_patch::patch(&mut after, first.patch()).expect("the patch fits");
            assert_eq!(lines(&after), expected, "{forged}");
            let refused = verdict(Webhook::Validate, &object, old, BOB);
            let refused: Vec<&str> = refused
                .violations()
                .iter()
                .map(kubernetes::field::Violation::rule)
                .collect();
            assert_eq!(refused, ["rollout/author"], "{forged}");
        }
    }
}

#[test]
fn without_a_user_there_is_no_line_and_no_finding() {
    let object = annotated(paused(&json!({})), "* 2030-01-02T00:00:00Z jane");
    for webhook in [Webhook::Mutate, Webhook::Validate] {
        let asked = Asked::create(object.clone());
        let context = RequestContext::default();
        let verdict = asked.as_told(&Rulebook::default(), (webhook, context), &Facts::default());
        assert!(verdict.patch().0.is_empty());
        assert!(!verdict.rules().contains(&"rollout/author"));
    }
}

#[test]
fn a_name_that_a_line_cannot_have_is_not_recorded() {
    for name in ["", "eve\n* 2030-01-01T00:00:00Z alice", "a\tb"] {
        let first = stored(&paused(&json!({})), None, (name, ALICE.1));
        assert_eq!(first.pointer(SET_BY), None, "{name:?}");
    }
}

#[test]
fn the_annotation_has_at_most_eight_kib() {
    let placements =
        (0..256).map(|at| json!({"namespace": "default", "name": format!("placement-{at}"), "pause": {}}));
    let placements: Vec<Value> = placements.collect();
    let many = stored(
        &rollout(&json!({"pause": {}, "placements": placements})),
        None,
        ALICE,
    );
    let lines = lines(&many);
    assert!(lines.starts_with("* "), "{lines}");
    assert!((8_000..=8_192).contains(&lines.len()), "{}", lines.len());
}
