//! Expressions of the CEL specification and of the Kubernetes documentation, and what they evaluate to.
//!
//! Every case passes or is in `data/differences.tsv` with a reason. A case in that list that passes fails the
//! test, so the list cannot rot. `docs/cel.md` publishes the numbers.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]

use cel_engine::{Access, Activation, Authority, Decision, Program, Purpose, Typed};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

const SPEC: &str = include_str!("../data/cel-spec-simple.json");
const KUBERNETES: &str = include_str!("../data/kubernetes-expressions.json");
const DIFFERENCES: &str = include_str!("../data/differences.tsv");

/// One case: where it comes from, what happened, and what should have.
struct Case {
    group: String,
    name: String,
    expr: String,
    fault: Option<String>,
}

#[test]
fn every_case_passes_or_is_a_known_difference() {
    let cases: Vec<Case> = spec_cases().into_iter().chain(kubernetes_cases()).collect();
    let known = differences();
    let mut surprises = String::new();
    for case in &cases {
        let key = (case.group.clone(), case.name.clone());
        match (&case.fault, known.contains_key(&key)) {
            (Some(fault), false) => {
                let _ = writeln!(surprises, "{}\t{}\t{fault}\t{}", key.0, key.1, case.expr);
            }
            (None, true) => {
                let _ = writeln!(
                    surprises,
                    "{}\t{}\tpasses now: take it off the list",
                    key.0, key.1
                );
            }
            (Some(_), true) | (None, false) => {}
        }
    }
    for key in known.keys() {
        let exists = cases
            .iter()
            .any(|case| (&case.group, &case.name) == (&key.0, &key.1));
        if !exists {
            let _ = writeln!(surprises, "{}\t{}\tno such case", key.0, key.1);
        }
    }
    let table = table(&cases);
    println!("{table}");
    assert!(
        surprises.is_empty(),
        "cases that differ from what is known of them:\n{surprises}"
    );
    publish(&table);
}

/// Compares the table with the one in `docs/cel.md`; `UPDATE_EXPECT=1` writes it there.
fn publish(table: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cel.md");
    let page = std::fs::read_to_string(&path).expect("docs/cel.md exists");
    let (start, end) = ("<!-- conformance: generated -->\n\n", "<!-- end -->");
    let (before, rest) = page
        .split_once(start)
        .expect("the page has a place for the table");
    let (old, after) = rest.split_once(end).expect("the place for the table ends");
    if old == table {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "docs/cel.md is out of date: run this test with UPDATE_EXPECT=1"
    );
    std::fs::write(&path, format!("{before}{start}{table}{end}{after}")).expect("docs/cel.md can be written");
}

fn table(cases: &[Case]) -> String {
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for case in cases {
        for group in [
            case.group.as_str(),
            case.group.split('/').next().unwrap_or_default(),
        ] {
            let counts = groups.entry(group).or_default();
            counts.0 += 1;
            counts.1 += usize::from(case.fault.is_none());
        }
    }
    let mut out = String::from("| group | cases | pass | known differences |\n|---|---|---|---|\n");
    for (group, (all, passed)) in groups {
        let name = if group.contains('/') {
            group.to_owned()
        } else {
            format!("**{group}**")
        };
        let _ = writeln!(out, "| {name} | {all} | {passed} | {} |", all - passed);
    }
    let listed = differences().len();
    let _ = writeln!(out, "\nThe list of known differences has {listed} entries.");
    out
}

/// Reads the list: group, case, reason.
fn differences() -> BTreeMap<(String, String), String> {
    let mut known = BTreeMap::new();
    for line in DIFFERENCES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), 3, "a line has three cells: {line}");
        let (group, name, reason) = (cells[0], cells[1], cells[2]);
        assert!(reason.len() > 10, "a difference has a reason: {line}");
        let old = known.insert((group.to_owned(), name.to_owned()), reason.to_owned());
        assert!(old.is_none(), "a difference is listed once: {line}");
    }
    known
}

fn spec_cases() -> Vec<Case> {
    let cases: Vec<Value> = serde_json::from_str(SPEC).expect("test data is JSON");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let cases = cases.iter().map(|case| {
        let text = |name: &str| case[name].as_str().expect("a text").to_owned();
        let mut name = format!("{}/{}", text("section"), text("name"));
        let count = seen.entry(format!("{}{name}", text("file"))).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(name, "#{count}");
        }
        Case {
            group: format!("cel-spec/{}", text("file")),
            name,
            expr: text("expr"),
            fault: judge_spec(case),
        }
    });
    cases.collect()
}

fn judge_spec(case: &Value) -> Option<String> {
    let source = case["expr"].as_str().unwrap_or_default();
    let fails = case.get("want_error").is_some();
    let program = match Program::build(source) {
        Ok(program) => program,
        Err(error) => return (!fails).then(|| error.faults[0].message.clone()),
    };
    if case["check_only"] == true {
        return None;
    }
    let mut activation = Activation::new(1_000_000);
    for (name, value) in case["bindings"].as_object().into_iter().flatten() {
        activation.bind_typed(name, &typed(value));
    }
    match (activation.eval_typed(&program), fails) {
        (Err(_), true) => None,
        (Err(error), false) => Some(error.words().to_owned()),
        (Ok(value), true) => Some(format!("is {value:?}, should fail")),
        (Ok(value), false) => {
            let wanted = typed(&case["want"]);
            (!same(&value, &wanted)).then(|| format!("is {value:?}, should be {wanted:?}"))
        }
    }
}

/// Reads a value of the test data: `{"int": "1"}`.
fn typed(value: &Value) -> Typed {
    let (kind, value) = value
        .as_object()
        .and_then(|value| value.iter().next())
        .expect("one member");
    let text = || value.as_str().expect("a text").to_owned();
    let list = || value.as_array().expect("a list").iter();
    match kind.as_str() {
        "null" => Typed::Null,
        "bool" => Typed::Bool(value.as_bool().expect("a truth value")),
        "int" => Typed::Int(text().parse().expect("an int")),
        "uint" => Typed::Uint(text().parse().expect("a uint")),
        "double" => Typed::Double(match text().as_str() {
            "Infinity" | "inf" => f64::INFINITY,
            "-Infinity" | "-inf" => f64::NEG_INFINITY,
            other => other.parse().expect("a double"),
        }),
        "string" => Typed::String(text()),
        "bytes" => {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(text());
            Typed::Bytes(bytes.expect("base64"))
        }
        "list" => Typed::List(list().map(typed).collect()),
        "map" => Typed::Map(list().map(|entry| (typed(&entry[0]), typed(&entry[1]))).collect()),
        "type" => Typed::Type(text()),
        "duration" => Typed::Duration(format!("{}.{:09}s", value[0], value[1].as_u64().expect("nanos"))),
        // No result has this type: a kind that this test does not know makes its case fail.
        other => Typed::Other(other.to_owned(), value.to_string()),
    }
}

/// Compares with the equality that the specification asks for: types count, the order of a map does not.
fn same(left: &Typed, right: &Typed) -> bool {
    match (left, right) {
        (Typed::Double(left), Typed::Double(right)) => {
            (left.is_nan() && right.is_nan()) || left.partial_cmp(right) == Some(Ordering::Equal)
        }
        (Typed::List(left), Typed::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Typed::Map(left), Typed::Map(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right
                        .iter()
                        .any(|(other, found)| same(key, other) && same(value, found))
                })
        }
        _ => left == right,
    }
}

/// The user of the documentation's example may do anything.
#[derive(Debug)]
struct Admin;

impl Authority for Admin {
    fn decide(&self, access: &Access) -> Decision {
        assert_eq!(
            (access.resource.as_str(), access.verb.as_str()),
            ("pods", "create")
        );
        Decision::Allowed {
            reason: "admin".to_owned(),
        }
    }
}

fn kubernetes_cases() -> Vec<Case> {
    let data: Value = serde_json::from_str(KUBERNETES).expect("test data is JSON");
    let cases = data["cases"].as_array().expect("cases").iter().map(|case| {
        let text = |name: &str| case[name].as_str().expect("a text").to_owned();
        Case {
            group: format!("kubernetes/{}", text("group")),
            name: text("expr"),
            expr: text("expr"),
            fault: judge_kubernetes(case, &data["bindings"]),
        }
    });
    cases.collect()
}

fn judge_kubernetes(case: &Value, bindings: &Value) -> Option<String> {
    let source = case["expr"].as_str().unwrap_or_default();
    let purpose = if case["group"] == "MAP" {
        Purpose::Mutation
    } else {
        Purpose::Judgement
    };
    let fails = case["error"] == true;
    let program = match Program::build_for(source, purpose) {
        Ok(program) => program,
        Err(error) => return (!fails).then(|| error.to_string()),
    };
    let mut activation = Activation::new(1_000_000);
    for (name, value) in bindings.as_object().into_iter().flatten() {
        activation.bind(name, value);
    }
    activation.authorize(Arc::new(Admin));
    match (activation.eval(&program), fails) {
        (Err(_), true) => None,
        (Err(error), false) => Some(error.words().to_owned()),
        (Ok(value), true) => Some(format!("is {value}, should fail")),
        (Ok(value), false) => {
            (value != case["want"]).then(|| format!("is {value}, should be {}", case["want"]))
        }
    }
}
