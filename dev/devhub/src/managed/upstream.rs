//! Histories of random objects, against what Kubernetes' own field managers made of them.
//!
//! The answers were recorded by `dev/managed-fields/oracle`. `UPSTREAM_CASES=file cargo test -p devhub --lib upstream` judges
//! further ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use managed_fields::Types;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Intent, Ownable, Scope, Writer, applied, lists, track};
use crate::error::ApiError;
use crate::resource::{Resource, Scope as Where};

const CASES: &str = include_str!("../../tests/data/upstream/owners.jsonl");

#[derive(Deserialize)]
struct Case {
    name: String,
    definitions: Vec<Definition>,
    operations: Vec<Operation>,
}

#[derive(Deserialize)]
struct Definition {
    versions: BTreeMap<String, Value>,
    #[serde(default)]
    status: bool,
}

#[derive(Deserialize)]
#[serde(default)]
struct Operation {
    definition: usize,
    version: String,
    op: String,
    subresource: String,
    manager: String,
    force: bool,
    object: Value,
    answer: UpstreamResult,
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            definition: 0,
            version: String::new(),
            op: String::new(),
            subresource: String::new(),
            manager: String::new(),
            force: false,
            object: Value::Null,
            answer: UpstreamResult::default(),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct UpstreamResult {
    object: Value,
    managed: Value,
    error: String,
    causes: Vec<String>,
    /// Upstream says it in other words every time.
    unsteady: bool,
}

impl Definition {
    fn resource(&self, version: &str) -> Resource {
        Resource {
            group: "g.io".to_owned(),
            version: version.to_owned(),
            kind: "Thing".to_owned(),
            list_kind: "ThingList".to_owned(),
            plural: "things".to_owned(),
            singular: "thing".to_owned(),
            short_names: Vec::new(),
            categories: Vec::new(),
            scope: Where::Namespaced,
            verbs: Vec::new(),
            status: self.status,
            columns: Vec::new(),
            open_api: self.versions.get(version).cloned().map(Arc::new),
            custom: true,
        }
    }

    fn scope(&self, version: &str, subresource: &str) -> Scope {
        let types: Types = self
            .versions
            .keys()
            .map(|name| (format!("g.io/{name}"), Ownable::new(&self.resource(name)).of))
            .collect();
        let resource = self.resource(version);
        Scope::new(&resource, &Ownable::new(&resource), types, subresource)
    }
}

/// Does one operation on the object as upstream left it, and returns what became of it.
fn answer(case: &Case, operation: &Operation, live: Option<&Value>, position: usize) -> UpstreamResult {
    let scope = case.definitions[operation.definition].scope(&operation.version, &operation.subresource);
    let mut live = live.cloned();
    if let Some(live) = &mut live {
        live["apiVersion"] = json!(scope.version);
    }
    let now = format!("2001-01-01T00:{:02}:{:02}Z", position / 60, position % 60);
    let writer = Writer {
        manager: operation.manager.clone(),
        applies: operation.op == "apply",
        version: scope.version.clone(),
        subresource: operation.subresource.clone(),
    };
    let mut after = if writer.applies {
        let intent = Intent {
            object: &operation.object,
            writer: &writer,
            force: operation.force,
        };
        match applied(&scope, live.as_ref(), &intent, &now) {
            Ok(after) => after,
            Err(error) => return refused(&error),
        }
    } else {
        let mut after = operation.object.clone();
        track(&scope, live.as_ref(), &mut after, &writer, &now);
        after
    };
    let managed = lists::take(&mut after);
    after["metadata"]["uid"] = json!("uid-1");
    UpstreamResult {
        object: if writer.applies { after } else { Value::Null },
        managed,
        ..UpstreamResult::default()
    }
}

fn refused(error: &ApiError) -> UpstreamResult {
    let causes = error.details.as_ref().and_then(|details| details.get("causes"));
    let causes = causes.and_then(Value::as_array).into_iter().flatten();
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let mut causes: Vec<String> = causes
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect();
    causes.sort();
    UpstreamResult {
        error: error.message.clone(),
        causes,
        ..UpstreamResult::default()
    }
}

/// Returns where a history goes another way; every step begins where upstream's ended.
fn differences(case: &Case) -> Vec<String> {
    let mut live: Option<Value> = None;
    let mut all = Vec::new();
    for (position, operation) in case.operations.iter().enumerate() {
        let found = answer(case, operation, live.as_ref(), position);
        let wanted = &operation.answer;
        let is_same = if wanted.unsteady {
            !found.error.is_empty()
        } else {
            found == *wanted
        };
        if !is_same {
            let mut text = format!(
                "{}#{position} {} {} {}\n",
                case.name, operation.op, operation.version, operation.subresource
            );
            let parts = [
                ("object", &found.object, &wanted.object),
                ("managed", &found.managed, &wanted.managed),
                ("error", &json!(found.error), &json!(wanted.error)),
                ("causes", &json!(found.causes), &json!(wanted.causes)),
            ];
            for (what, found, wanted) in parts.into_iter().filter(|(_, found, wanted)| found != wanted) {
                let _ = writeln!(text, "  {what}\n    ours     {found}\n    upstream {wanted}");
            }
            if let Some(live) = &live {
                let _ = writeln!(text, "  live {live}");
            }
            let _ = writeln!(text, "  given {}", operation.object);
            all.push(text);
        }
        if wanted.error.is_empty() {
            let mut next = if operation.op == "apply" {
                wanted.object.clone()
            } else {
                operation.object.clone()
            };
            lists::take(&mut next);
            if !wanted.managed.is_null() {
                next["metadata"]["managedFields"] = wanted.managed.clone();
            }
            next["metadata"]["uid"] = json!("uid-1");
            live = Some(next);
        }
    }
    all
}

fn judge(cases: &str) -> Vec<String> {
    cases
        .lines()
        .flat_map(|line| differences(&serde_json::from_str(line).expect("a case")))
        .collect()
}

#[test]
fn objects_and_owners_are_those_of_upstream() {
    let found = judge(CASES);
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}

#[test]
#[ignore = "UPSTREAM_CASES names the file of cases"]
fn further_cases_are_judged_on_request() {
    let path = std::env::var("UPSTREAM_CASES").expect("UPSTREAM_CASES names the file of cases");
    let found = judge(&std::fs::read_to_string(path).expect("cases"));
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}
