//! Replays what a real API server answered: objects against two schemas, and schemas of definitions.
//!
//! Each line of the data files is one request with the causes, warnings and stored parts of its answer.

use crate::values::same;
use schema::{Check, ErrorClass, FieldError, Outcome, Part, Schema};
use serde_json::{Value, json};

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("test data is JSON"))
        .collect()
}

fn parsed(text: &str) -> Schema {
    Schema::parse(&serde_json::from_str(text).expect("test data is JSON"))
        .expect("a schema that the server took")
}

fn causes(errors: &[FieldError]) -> Vec<Value> {
    let mut rows: Vec<Value> = errors
        .iter()
        .map(|error| json!([error.field, error.class.reason(), error.message]))
        .collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

fn wanted(row: &Value) -> Vec<Value> {
    let mut rows = row["errors"].as_array().cloned().unwrap_or_default();
    rows.sort_by_key(ToString::to_string);
    rows
}

/// Runs the passes of a write: decode, prune, default, validate.
fn write(schema: &Schema, row: &Value) -> (Value, Vec<String>, Result<Outcome, String>) {
    let mut new = row["new"].clone();
    let removed = schema.prune(&mut new);
    if let Some(words) = schema.metadata_fault(&new) {
        return (new, removed, Err(words));
    }
    schema.apply_defaults(&mut new);
    let part = if row["part"] == "status" {
        Part::Status
    } else {
        Part::Whole
    };
    let outcome = schema.check(&Check {
        stop: Default::default(),
        new: &new,
        old: row.get("old"),
        part,
        before: &[],
    });
    (new, removed, Ok(outcome))
}

/// Says which part of an accepted object is not what the server stored.
fn unlike_stored(row: &Value, new: &Value) -> Vec<String> {
    let Some(stored) = row.get("stored").and_then(Value::as_object) else {
        return Vec::new();
    };
    let differs = |(part, stored): &(&String, &Value)| !same(stored, &new[part.as_str()]);
    stored
        .iter()
        .filter(differs)
        .map(|(part, _)| format!("{}: {part} is {}", row["id"], new[part.as_str()]))
        .collect()
}

#[test]
fn objects_meet_the_recorded_answers() {
    let widget = parsed(include_str!("../data/widget.json"));
    let ratchet = parsed(include_str!("../data/ratchet.json"));
    let mut wrong = Vec::new();
    for row in lines(include_str!("../data/objects.jsonl")) {
        let schema = if row["schema"] == "widget" {
            &widget
        } else {
            &ratchet
        };
        let (new, removed, outcome) = write(schema, &row);
        if json!(removed) != row.get("removed").cloned().unwrap_or_else(|| json!([])) {
            wrong.push(format!("{}: removed {removed:?}", row["id"]));
        }
        match (outcome, row.get("refused")) {
            (Err(words), Some(text)) => {
                assert!(text.as_str().unwrap_or_default().ends_with(&words), "{words}");
            }
            (Ok(outcome), None) => {
                if causes(&outcome.errors) != wanted(&row) {
                    wrong.push(format!(
                        "{}:\n  got    {:?}\n  wanted {:?}",
                        row["id"],
                        causes(&outcome.errors),
                        wanted(&row)
                    ));
                }
                if json!(outcome.warnings) != row.get("warnings").cloned().unwrap_or_else(|| json!([])) {
                    wrong.push(format!("{}: warnings {:?}", row["id"], outcome.warnings));
                }
                wrong.extend(unlike_stored(&row, &new));
            }
            (outcome, refused) => wrong.push(format!("{}: {outcome:?} instead of {refused:?}", row["id"])),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows that depend on Kubernetes' static cost estimate, which this crate does not make.
const NEEDS_COST_ESTIMATE: [&str; 2] = ["crd-02-039", "crd-02-040"];

#[test]
fn schemas_meet_the_recorded_answers() {
    let mut wrong = Vec::new();
    for row in lines(include_str!("../data/schemas.jsonl")) {
        if NEEDS_COST_ESTIMATE.iter().any(|id| row["id"] == *id) {
            continue;
        }
        let (errors, warnings) = match Schema::parse(&row["schema"]) {
            Ok(schema) => (Vec::new(), schema.warnings().to_vec()),
            Err(errors) => (errors, Vec::new()),
        };
        if causes(&errors) != wanted(&row) {
            wrong.push(format!(
                "{}:\n  got    {:?}\n  wanted {:?}",
                row["id"],
                causes(&errors),
                wanted(&row)
            ));
        }
        if json!(warnings) != row.get("warnings").cloned().unwrap_or_else(|| json!([])) {
            wrong.push(format!("{}: warnings {warnings:?}", row["id"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn old_self_is_refused_below_a_list_whose_items_have_no_keys() {
    let rows = lines(include_str!("../data/schemas.jsonl"));
    let row = rows
        .iter()
        .find(|row| row["id"] == "crd-02-039")
        .expect("the recorded row");
    let errors = Schema::parse(&row["schema"]).expect_err("oldSelf cannot be bound there");
    let wanted = wanted(row);
    assert!(errors.iter().all(|error| error.class == ErrorClass::Invalid));
    assert!(
        causes(&errors).iter().all(|cause| wanted.contains(cause)),
        "{errors:?}"
    );
}
