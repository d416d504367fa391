//! Random schemas and values, against what Kubernetes' own code made of them.
//!
//! The answers were recorded by `oracle/`. `UPSTREAM_SCHEMAS=file cargo test -p schema --test all upstream::` judges further
//! ones.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use crate::values::same;
use schema::{FieldError, Schema};
use serde_json::{Value, json};

const CASES: &str = include_str!("../data/upstream.jsonl");

fn faults(found: &[FieldError]) -> Vec<Value> {
    let mut rows: Vec<Value> = found
        .iter()
        .map(|fault| json!([fault.field, fault.class.reason(), fault.message]))
        .collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

fn wanted(row: &Value, is_cost_estimated: bool) -> Vec<Value> {
    let rows = row["faults"].as_array().into_iter().flatten();
    let is_about_cost = |fault: &&Value| {
        let text = fault[2].as_str().unwrap_or_default();
        text.contains("estimated rule cost") || text.contains("cost total for entire OpenAPIv3 schema")
    };
    let mut rows: Vec<Value> = rows
        .filter(|fault| is_cost_estimated || !is_about_cost(fault))
        .cloned()
        .collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

fn listed(rows: &[Value]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| format!("\n      {row}")).collect();
    rows.concat()
}

/// Says what is ours alone and what is upstream's alone.
fn apart(ours: &[Value], theirs: &[Value]) -> String {
    let only = |these: &[Value], those: &[Value]| {
        let rows: Vec<Value> = these.iter().filter(|row| !those.contains(row)).cloned().collect();
        listed(&rows)
    };
    format!(
        "    ours{}\n    upstream{}\n",
        only(ours, theirs),
        only(theirs, ours)
    )
}

fn object_differences(schema: &Schema, object: &Value) -> Option<String> {
    let mut new = object["new"].clone();
    let mut removed = schema.prune(&mut new);
    removed.sort();
    schema.apply_defaults(&mut new);
    let outcome = schema.validate(&new, object.get("old"));
    let (ours, theirs) = (faults(&outcome.errors), wanted(object, true));
    let mut texts = Vec::new();
    if json!(removed) != object.get("removed").cloned().unwrap_or_else(|| json!([])) {
        texts.push(format!(
            "    removed {removed:?} instead of {}\n",
            object["removed"]
        ));
    }
    if !same(&new, &object["stored"]) {
        texts.push(format!("    stored {new}\n    not    {}\n", object["stored"]));
    }
    let is_same = if object["unsteady"] == true {
        ours.is_empty() == theirs.is_empty()
    } else {
        ours == theirs
    };
    if !is_same {
        texts.push(apart(&ours, &theirs));
    }
    let text = texts.concat();
    (!texts.is_empty()).then(|| format!("{text}    new {}\n    old {}\n", object["new"], object["old"]))
}

fn differences(case: &Value) -> Vec<String> {
    let name = case["name"].as_str().unwrap_or_default();
    let theirs = wanted(case, false);
    let parsed = Schema::parse(&case["schema"]);
    let ours = match &parsed {
        Ok(_) => Vec::new(),
        Err(errors) => faults(errors),
    };
    let is_same = if case["unsteady"] == true {
        ours.is_empty() == theirs.is_empty()
    } else {
        ours == theirs
    };
    if !is_same {
        return vec![format!(
            "{name} definition\n{}    schema {}\n",
            apart(&ours, &theirs),
            case["schema"]
        )];
    }
    let Ok(schema) = parsed else { return Vec::new() };
    let objects = case["objects"].as_array().into_iter().flatten();
    objects
        .filter_map(|object| object_differences(&schema, object))
        .map(|text| format!("{name} object\n{text}    schema {}\n", case["schema"]))
        .collect()
}

fn judge(cases: &str) -> Vec<String> {
    cases
        .lines()
        .flat_map(|line| differences(&serde_json::from_str(line).expect("a case")))
        .collect()
}

#[test]
fn definitions_and_values_are_judged_as_upstream_judges_them() {
    let found = judge(CASES);
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}

#[test]
#[ignore = "UPSTREAM_SCHEMAS names the file of cases"]
fn further_cases_are_judged_on_request() {
    let path = std::env::var("UPSTREAM_SCHEMAS").expect("UPSTREAM_SCHEMAS names the file of cases");
    let found = judge(&std::fs::read_to_string(path).expect("cases"));
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}
