//! Times what runs on every write of a custom resource: prune, default, validate with and without rules.

#![expect(clippy::indexing_slicing, reason = "a bench may panic")]

use cel_engine::Program;
use divan::{Bencher, black_box};
use schema::Schema;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn text() -> Value {
    serde_json::from_str(include_str!("../tests/data/widget.json")).expect("test data is JSON")
}

fn schema() -> Schema {
    Schema::parse(&text()).expect("a valid schema")
}

fn widget(ports: usize) -> Value {
    let ports: Vec<Value> = (0..ports)
        .map(|at| json!({"port": at + 1, "protocol": "TCP", "name": "p", "frozen": "f"}))
        .collect();
    json!({
        "apiVersion": "dev.example.io/v1", "kind": "Widget", "metadata": {"name": "w", "labels": {"a": "b"}},
        "spec": {
            "size": 5, "minSize": 1, "color": "green", "note": "some words", "code": "AB12", "since": "2020-01-01T00:00:00Z",
            "replicas": 3, "config": {"mode": "auto", "level": 2}, "labels": {"x": "y"}, "set": ["a", "b"], "ports": ports,
            "notNullDefault": "x", "nullDefault": "y",
        },
    })
}

#[divan::bench]
fn parse(bencher: Bencher<'_, '_>) {
    let text = text();
    bencher.bench(|| Schema::parse(black_box(&text)));
}

#[divan::bench]
fn prune_and_default(bencher: Bencher<'_, '_>) {
    let schema = schema();
    bencher.with_inputs(|| widget(8)).bench_refs(|value| {
        let removed = schema.prune(value);
        schema.apply_defaults(value);
        removed
    });
}

#[divan::bench]
fn create(bencher: Bencher<'_, '_>) {
    let (schema, new) = (schema(), widget(8));
    assert!(schema.validate(&new, None).errors.is_empty());
    bencher.bench(|| schema.validate(black_box(&new), None));
}

#[divan::bench]
fn update(bencher: Bencher<'_, '_>) {
    let (schema, new) = (schema(), widget(8));
    bencher.bench(|| schema.validate(black_box(&new), Some(black_box(&new))));
}

#[divan::bench(args = [1, 100, 1000])]
fn without_rules(bencher: Bencher<'_, '_>, items: usize) {
    let schema = Schema::parse(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
            "items": {"type": "object", "required": ["port"], "properties": {
                "port": {"type": "integer", "minimum": 1}, "protocol": {"type": "string", "enum": ["TCP", "UDP"]},
                "name": {"type": "string", "maxLength": 15}, "frozen": {"type": "string"}}}}}}}}))
    .expect("a valid schema");
    let new = json!({"spec": {"ports": widget(items)["spec"]["ports"]}});
    assert!(schema.validate(&new, None).errors.is_empty());
    bencher.bench(|| schema.validate(black_box(&new), Some(black_box(&new))));
}

#[divan::bench]
fn match_condition(bencher: Bencher<'_, '_>) {
    let program = Program::compile("object.metadata.name.startsWith('w') && !has(object.spec.nope)")
        .expect("it compiles");
    let object = widget(8);
    bencher.bench(|| program.eval(&[("object", black_box(&object))]));
}
