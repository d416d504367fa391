//! Random operations of three managers on one object, against a model that knows neither path sets nor merges.
//!
//! The model is a flat table of units (`.l`, `.l[k=1]`, `.l[k=1].v`) and who owns which of them. Its rules fit on one page; what
//! it does not know is order, empty intents and null.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use managed_fields::{
    Alike, FieldWrite, KeyField, List, Map, Owners, Refusal, Relation, Scalar, Type, Types, apply, update,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::of;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, TestCaseError, any, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Map as Members, Value, json};

const VERSION: &str = "v1";

/// Where a unit is: one text for every step.
type Unit = Vec<String>;

/// The object and its owners as the model sees them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    units: BTreeMap<Unit, Value>,
    owners: BTreeMap<String, BTreeSet<Unit>>,
}

#[derive(Clone, Debug)]
enum Op {
    Apply { who: usize, object: Value, force: bool },
    Update { who: usize, object: Value },
}

/// Containers that the type declares by name: a manager that applies what is in them does not own them.
fn is_declared_container(unit: &Unit) -> bool {
    matches!(unit.as_slice(), [name] if matches!(name.as_str(), ".m" | ".s" | ".l"))
}

fn units_of(object: &Value) -> BTreeMap<Unit, Value> {
    let mut units = BTreeMap::new();
    let mut put = |steps: &[String], value: Value| {
        units.insert(steps.to_vec(), value);
    };
    for (name, value) in object.as_object().into_iter().flatten() {
        let field = format!(".{name}");
        match name.as_str() {
            "m" => {
                put(std::slice::from_ref(&field), Value::Null);
                for (key, value) in value.as_object().into_iter().flatten() {
                    put(&[field.clone(), format!(".{key}")], value.clone());
                }
            }
            "s" => {
                put(std::slice::from_ref(&field), Value::Null);
                for item in value.as_array().into_iter().flatten() {
                    put(&[field.clone(), format!("[={item}]")], Value::Null);
                }
            }
            "l" => {
                put(std::slice::from_ref(&field), Value::Null);
                for item in value.as_array().into_iter().flatten() {
                    let step = format!("[k={}]", item["k"]);
                    put(&[field.clone(), step.clone()], Value::Null);
                    for (part, value) in item.as_object().into_iter().flatten() {
                        put(&[field.clone(), step.clone(), format!(".{part}")], value.clone());
                    }
                }
            }
            _ => put(&[field], value.clone()),
        }
    }
    units
}

impl Model {
    /// A unit counts as owned as well if it is a declared container of one that is.
    fn with_containers<'u>(units: impl IntoIterator<Item = &'u Unit>) -> BTreeSet<Unit> {
        let units = units.into_iter();
        units
            .flat_map(|unit| [unit.clone(), unit.iter().take(1).cloned().collect()])
            .collect()
    }

    /// Takes everything that differs away from others; what is new or different is returned.
    fn settle(&mut self, after: &BTreeMap<Unit, Value>, who: Option<&str>) -> BTreeSet<Unit> {
        let fresh: BTreeSet<Unit> = after
            .iter()
            .filter(|(unit, value)| self.units.get(*unit) != Some(value))
            .map(|(unit, _)| unit.clone())
            .collect();
        for (owner, owned) in &mut self.owners {
            if Some(owner.as_str()) != who {
                owned.retain(|unit| after.contains_key(unit) && !fresh.contains(unit));
            }
        }
        self.units.clone_from(after);
        self.owners.retain(|_, owned| !owned.is_empty());
        fresh
    }

    fn update(&mut self, who: &str, object: &Value) {
        let fresh = self.settle(&units_of(object), None);
        if !fresh.is_empty() {
            self.owners.entry(who.to_owned()).or_default().extend(fresh);
        }
    }

    /// Returns whether others mind; then nothing happens.
    fn apply(&mut self, who: &str, object: &Value, force: bool) -> bool {
        let before = self.clone();
        let intent = units_of(object);
        let last = self.owners.remove(who).unwrap_or_default();
        let own: BTreeSet<Unit> = intent
            .keys()
            .filter(|unit| !is_declared_container(unit))
            .cloned()
            .collect();
        self.owners.insert(who.to_owned(), own);
        let mut after = self.units.clone();
        after.extend(intent);
        // What the applier set before and no manager owns now goes, with everything in it.
        let owned = Self::with_containers(self.owners.values().flatten());
        let lost = Self::with_containers(&last);
        let gone: Vec<&Unit> = lost.difference(&owned).collect();
        after.retain(|unit, _| !gone.iter().any(|gone| unit.starts_with(gone)));
        // A list that loses its last item this way goes, even if another manager owns it; a map stays.
        for list in [vec![".s".to_owned()], vec![".l".to_owned()]] {
            let is_left = after.keys().any(|unit| unit.len() > 1 && unit.starts_with(&list));
            if lost.contains(&list) && !is_left {
                after.remove(&list);
            }
        }
        let is_disputed = |unit: &Unit| {
            after
                .get(unit)
                .is_some_and(|value| self.units.get(unit) != Some(value))
        };
        let others = self.owners.iter().filter(|(owner, _)| *owner != who);
        if !force && others.flat_map(|(_, owned)| owned).any(is_disputed) {
            *self = before;
            return true;
        }
        self.settle(&after, Some(who));
        false
    }
}

fn type_of_object() -> Type {
    let number = Type::Scalar(Scalar::Number);
    let fields = |fields: &[&str]| -> BTreeMap<String, Type> {
        fields
            .iter()
            .map(|name| ((*name).to_owned(), number.clone()))
            .collect()
    };
    let map = |atomic| {
        Type::Map(Arc::new(Map {
            others: Some(Type::Scalar(Scalar::Number)),
            atomic,
            ..Map::default()
        }))
    };
    let list = |relation, item| Type::List(Arc::new(List { relation, item }));
    let key = KeyField {
        name: "k".to_owned(),
        default: None,
    };
    let item = Type::Map(Arc::new(Map {
        fields: fields(&["k", "v", "w"]),
        ..Map::default()
    }));
    let mut members = fields(&["a", "b"]);
    members.insert("m".to_owned(), map(false));
    members.insert("t".to_owned(), map(true));
    members.insert("s".to_owned(), list(Relation::Set, Type::Scalar(Scalar::Text)));
    members.insert("l".to_owned(), list(Relation::Keyed(vec![key]), item));
    members.insert(
        "p".to_owned(),
        list(Relation::Atomic, Type::Scalar(Scalar::Number)),
    );
    Type::Map(Arc::new(Map {
        fields: members,
        ..Map::default()
    }))
}

fn small() -> impl Strategy<Value = Value> {
    (0..3_u8).prop_map(|number| json!(number))
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![Just("x"), Just("y"), Just("z")].prop_map(str::to_owned)
}

fn objects() -> impl Strategy<Value = Value> {
    let map = || btree_map(names(), small(), 1..3).prop_map(|map| json!(map));
    let item = (0..3_u8, of(small()), of(small()));
    let keyed = vec(item, 1..4).prop_map(|items| {
        let items: BTreeMap<u8, Value> = items
            .into_iter()
            .map(|(key, v, w)| {
                let parts = [("k", Some(json!(key))), ("v", v), ("w", w)];
                let item: Members<String, Value> = parts
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                    .collect();
                (key, Value::Object(item))
            })
            .collect();
        json!(items.into_values().collect::<Vec<_>>())
    });
    let set = btree_set(names(), 1..3).prop_map(|set| json!(set));
    let plain = vec(small(), 1..3).prop_map(|items| json!(items));
    let all = (
        of(small()),
        of(small()),
        of(map()),
        of(map()),
        of(set),
        of(keyed),
        of(plain),
    );
    all.prop_map(|(a, b, m, t, s, l, p)| {
        let parts = [
            ("a", a),
            ("b", b),
            ("m", m),
            ("t", t),
            ("s", s),
            ("l", l),
            ("p", p),
        ];
        let members: Members<String, Value> = parts
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        Value::Object(members)
    })
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..3_usize, objects(), any::<bool>()).prop_map(|(who, object, force)| Op::Apply { who, object, force }),
        1 => (0..3_usize, objects()).prop_map(|(who, object)| Op::Update { who, object }),
    ]
}

/// The object under test.
struct Real {
    types: Types,
    object: Value,
    owners: Owners,
}

impl Real {
    /// Does one operation; returns whether others minded.
    fn run(&mut self, op: &Op) -> bool {
        let (who, applies) = match op {
            Op::Apply { who, .. } => (who, true),
            Op::Update { who, .. } => (who, false),
        };
        let owner = identity(*who, applies);
        let ignored = BTreeMap::new();
        let asked = |force| FieldWrite {
            owner: &owner,
            version: VERSION,
            types: &self.types,
            force,
            ignored: &ignored,
            views: &Alike,
        };
        match op {
            Op::Apply { object, force, .. } => {
                match apply(&self.object, object, &self.owners, &asked(*force)) {
                    Ok(applied) => {
                        self.owners = applied.owners;
                        self.object = applied.object.unwrap_or_else(|| self.object.take());
                        false
                    }
                    Err(Refusal::Conflicts(_)) => true,
                    Err(other) => unreachable!("what is generated fits: {other:?}"),
                }
            }
            Op::Update { object, .. } => {
                self.owners = update(&self.object, object, &self.owners, &asked(true)).expect("fits");
                self.object = object.clone();
                false
            }
        }
    }

    /// What the model would say of this state.
    fn seen(&self) -> (BTreeMap<Unit, Value>, BTreeMap<String, BTreeSet<String>>) {
        let owners = self.owners.iter().map(|(owner, owned)| {
            let paths = owned.set.paths();
            (owner.clone(), paths.iter().map(ToString::to_string).collect())
        });
        (units_of(&self.object), owners.collect())
    }
}

fn identity(who: usize, applies: bool) -> String {
    format!("{}-{who}", if applies { "applies" } else { "updates" })
}

fn check(ops: &[Op]) -> Result<(), TestCaseError> {
    let mut model = Model::default();
    let mut real = Real {
        types: Types::from([(VERSION.to_owned(), type_of_object())]),
        object: json!({}),
        owners: Owners::new(),
    };
    for op in ops {
        let minded = match op {
            Op::Apply { who, object, force } => model.apply(&identity(*who, true), object, *force),
            Op::Update { who, object } => {
                model.update(&identity(*who, false), object);
                false
            }
        };
        prop_assert_eq!(real.run(op), minded, "conflict after {:?}", op);
        let owners: BTreeMap<String, BTreeSet<String>> = model
            .owners
            .iter()
            .map(|(owner, units)| (owner.clone(), units.iter().map(|unit| unit.concat()).collect()))
            .collect();
        prop_assert_eq!(real.seen(), (model.units.clone(), owners), "after {:?}", op);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn objects_and_owners_are_as_the_model_says(ops in vec(ops(), 1..40)) {
        check(&ops)?;
    }
}

#[test]
fn the_model_minds_what_others_own() {
    let mut model = Model::default();
    assert!(!model.apply("one", &json!({"a": 1, "l": [{"k": 1, "v": 1}]}), false));
    assert!(model.apply("two", &json!({"a": 2}), false));
    assert!(!model.apply("two", &json!({"a": 1}), false));
    assert!(!model.apply("one", &json!({}), false));
    assert_eq!(model.units, units_of(&json!({"a": 1})));
    assert_eq!(model.owners.keys().collect::<Vec<_>>(), ["two"]);
}
