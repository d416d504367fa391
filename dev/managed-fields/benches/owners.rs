//! What it costs to know who owns what.
//!
//! `cargo bench -p fields`. One write of an object with about thirty fields: a create, an update of one field among three managers,
//! and an apply of the whole object among three managers.

use std::collections::BTreeMap;
use std::sync::Arc;

use divan::Bencher;
use managed_fields::{
    Alike, FieldWrite, KeyField, List, Map, Owners, Relation, Scalar, Set, Type, Types, apply, update,
};
use serde_json::{Value, json};

const VERSION: &str = "v1";

fn main() {
    divan::main();
}

fn types() -> Types {
    let text = Type::Scalar(Scalar::Text);
    let map = |fields: BTreeMap<String, Type>, others: Option<Type>| {
        Type::Map(Arc::new(Map {
            fields,
            others,
            atomic: false,
        }))
    };
    let labels = map(BTreeMap::new(), Some(text.clone()));
    let item = map(
        [
            ("name".to_owned(), text.clone()),
            ("value".to_owned(), text.clone()),
        ]
        .into(),
        None,
    );
    let key = KeyField {
        name: "name".to_owned(),
        default: None,
    };
    let list = Type::List(Arc::new(List {
        relation: Relation::Keyed(vec![key]),
        item,
    }));
    let spec = map(
        [
            ("size".to_owned(), Type::Scalar(Scalar::Number)),
            ("list".to_owned(), list),
        ]
        .into(),
        None,
    );
    let metadata = map(
        [("labels".to_owned(), labels), ("name".to_owned(), text)].into(),
        None,
    );
    let object = map(
        [("metadata".to_owned(), metadata), ("spec".to_owned(), spec)].into(),
        None,
    );
    Types::from([(VERSION.to_owned(), object)])
}

fn object(size: u32) -> Value {
    let labels: BTreeMap<String, String> = (0..8).map(|n| (format!("label-{n}"), "x".to_owned())).collect();
    let list: Vec<Value> = (0..8)
        .map(|n| json!({ "name": format!("item-{n}"), "value": "y".repeat(60) }))
        .collect();
    json!({ "metadata": { "name": "a", "labels": labels }, "spec": { "size": size, "list": list } })
}

fn asked<'a>(owner: &'a str, types: &'a Types, ignored: &'a BTreeMap<String, Set>) -> FieldWrite<'a> {
    FieldWrite {
        owner,
        version: VERSION,
        types,
        force: true,
        ignored,
        views: &Alike,
    }
}

fn owners(types: &Types) -> Owners {
    let ignored = BTreeMap::new();
    let created = update(
        &json!({}),
        &object(1),
        &Owners::new(),
        &asked("one", types, &ignored),
    )
    .expect("fits");
    let applied = apply(&object(1), &object(1), &created, &asked("two", types, &ignored)).expect("fits");
    update(
        &object(1),
        &object(2),
        &applied.owners,
        &asked("three", types, &ignored),
    )
    .expect("fits")
}

#[divan::bench]
fn create(bencher: Bencher<'_, '_>) {
    let (types, ignored, object) = (types(), BTreeMap::new(), object(1));
    bencher.bench(|| {
        update(
            &json!({}),
            &object,
            &Owners::new(),
            &asked("one", &types, &ignored),
        )
    });
}

#[divan::bench]
fn change_one_field_of_three_managers(bencher: Bencher<'_, '_>) {
    let (types, ignored) = (types(), BTreeMap::new());
    let (owners, old, new) = (owners(&types), object(2), object(3));
    bencher.bench(|| update(&old, &new, &owners, &asked("one", &types, &ignored)));
}

#[divan::bench]
fn apply_among_three_managers(bencher: Bencher<'_, '_>) {
    let (types, ignored) = (types(), BTreeMap::new());
    let (owners, old, new) = (owners(&types), object(2), object(3));
    bencher.bench(|| apply(&old, &new, &owners, &asked("two", &types, &ignored)));
}

/// Reading and writing the form in which objects carry a set.
#[divan::bench]
fn read_and_write_the_wire_form(bencher: Bencher<'_, '_>) {
    let types = types();
    let wire = owners(&types).get("one").expect("an owner").set.to_wire();
    bencher.bench(|| Set::from_wire(&wire).map(|set| set.to_wire()));
}
