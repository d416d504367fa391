//! Times expressions of admission policies on one object: converting it, evaluating, compiling.

#![expect(clippy::indexing_slicing, reason = "a bench may panic")]

use cel_engine::{Activation, Program};
use divan::{Bencher, black_box};
use serde_json::Value;

fn main() {
    divan::main();
}

const DATA: &str = include_str!("../tests/data/kubernetes-expressions.json");

/// The expressions whose figures are compared from version to version.
const EXPRESSIONS: [&str; 7] = [
    "object.spec.replicas <= params.maxReplicas",
    "object.spec.configs.all(c, object.status.supportedConfigs.exists(s, s.resource == c.resource || c.resource != ''))",
    "has(object.spec.rollout) && object.spec.rollout.progressDeadline.matches('^([0-9]+(h|m|s))+$')",
    "object.metadata.labels['env'] == 'prod' && object.metadata.name.startsWith('hello')",
    "object.spec.configs[0].name in params.allowed",
    "object.status.conditions.exists_one(c, c.type == 'Available' && c.status == 'True')",
    "object.spec.configs.filter(c, has(c.namespace)).map(c, c.name).size() == 1",
];

fn bindings() -> Value {
    let data: Value = serde_json::from_str(DATA).expect("test data is JSON");
    data["bindings"].clone()
}

fn bind<'v>(activation: &mut Activation<'_, 'v>, bindings: &'v Value) {
    for name in ["object", "oldObject", "params", "request"] {
        activation.bind(name, &bindings[name]);
    }
}

#[divan::bench]
fn bind_a_request(bencher: Bencher<'_, '_>) {
    let bindings = bindings();
    bencher.bench(|| {
        let mut activation = Activation::new(1_000_000);
        bind(&mut activation, black_box(&bindings));
        activation.left()
    });
}

#[divan::bench(args = EXPRESSIONS)]
fn evaluate(bencher: Bencher<'_, '_>, source: &str) {
    let bindings = bindings();
    let mut activation = Activation::new(u64::MAX / 2);
    bind(&mut activation, &bindings);
    let program = Program::compile(source).expect("it compiles");
    assert_eq!(activation.holds(&program), Ok(true), "{source}");
    bencher.bench(|| activation.holds(black_box(&program)));
}

#[divan::bench(args = EXPRESSIONS)]
fn compile(bencher: Bencher<'_, '_>, source: &str) {
    bencher.bench(|| Program::compile(black_box(source)));
}
