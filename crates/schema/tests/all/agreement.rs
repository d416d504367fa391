//! Compares accept/reject with the `jsonschema` crate on random schemas and values.
//!
//! Covers what both speak: types, bounds, lengths, counts, enum, pattern, members, items and alternatives.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

use proptest::prelude::*;
use schema::Schema;
use serde_json::{Map, Value, json};

/// One schema in two spellings: Kubernetes' (booleans beside bounds, `nullable`) and JSON Schema 2020-12.
#[derive(Clone, Debug)]
struct Pair {
    kube: Value,
    json: Value,
}

impl Pair {
    fn new(kind: &str) -> Self {
        Self {
            kube: json!({"type": kind}),
            json: json!({"type": kind}),
        }
    }

    fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.kube[keyword] = value.clone();
        self.json[keyword] = value;
        self
    }

    fn with_pair(mut self, keyword: &str, pair: Self) -> Self {
        self.kube[keyword] = pair.kube;
        self.json[keyword] = pair.json;
        self
    }

    fn with_some(self, keyword: &str, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.with(keyword, value),
            None => self,
        }
    }

    fn with_bound(mut self, keyword: &str, exclusive_keyword: &str, bound: Option<(i64, bool)>) -> Self {
        let Some((at, exclusive)) = bound else { return self };
        self.kube[keyword] = json!(at);
        self.kube[exclusive_keyword] = json!(exclusive);
        self.json[if exclusive { exclusive_keyword } else { keyword }] = json!(at);
        self
    }

    fn nullable(mut self, nullable: bool) -> Self {
        if nullable && self.json.get("enum").is_none() {
            self.kube["nullable"] = json!(true);
            let kind = self.json["type"].clone();
            self.json["type"] = json!([kind, "null"]);
        }
        self
    }
}

fn some(range: std::ops::Range<i64>) -> impl Strategy<Value = Option<i64>> {
    proptest::option::weighted(0.4, range)
}

fn bound() -> impl Strategy<Value = Option<(i64, bool)>> {
    proptest::option::weighted(0.4, (-5..5_i64, any::<bool>()))
}

fn text_schema() -> impl Strategy<Value = Pair> {
    let pattern = proptest::option::weighted(
        0.3,
        prop::sample::select(vec!["^a", "b$", "^[a-c]*$", "[0-9]{2}", "\\w\\d"]),
    );
    let legal = proptest::option::weighted(
        0.2,
        prop::collection::vec(prop::sample::select(vec!["a", "b", "abc", ""]), 1..3),
    );
    (some(0..3), some(0..4), pattern, legal).prop_map(|(least, most, pattern, legal)| {
        let mut pair = Pair::new("string")
            .with_some("minLength", least)
            .with_some("maxLength", most);
        if let Some(pattern) = pattern {
            pair = pair.with("pattern", pattern);
        }
        match legal {
            Some(legal) => pair.with("enum", legal),
            None => pair,
        }
    })
}

fn number_schema() -> impl Strategy<Value = Pair> {
    (any::<bool>(), bound(), bound(), some(1..4)).prop_map(|(whole, least, most, multiple)| {
        Pair::new(if whole { "integer" } else { "number" })
            .with_bound("minimum", "exclusiveMinimum", least)
            .with_bound("maximum", "exclusiveMaximum", most)
            .with_some("multipleOf", multiple)
    })
}

/// Checks without a type, as alternatives may have them.
fn check_only() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-5..5_i64).prop_map(|at| json!({"minimum": at})),
        (-5..5_i64).prop_map(|at| json!({"maximum": at})),
        (0..4_i64).prop_map(|at| json!({"maxLength": at})),
        (0..3_i64).prop_map(|at| json!({"minProperties": at})),
        (0..3_i64).prop_map(|at| json!({"maxItems": at})),
        prop::sample::select(vec!["a", "b", "c"]).prop_map(|name| json!({"required": [name]})),
        // No whole number: Go lets 1.5 pass for a legal 1, JSON Schema does not (`a_legal_whole_number_is_met_as_go_cuts`).
        prop::sample::select(vec!["a", "b"]).prop_map(|text| json!({"enum": [text, 0.5, -2.5]})),
    ]
}

/// What the two do not agree on: Go converts a number to the type of the legal value before it compares.
#[test]
fn a_legal_whole_number_is_met_as_go_cuts() {
    let schema = json!({"type": "number", "enum": [1, 2]});
    let ours = Schema::parse(&rooted(&schema)).expect("structural");
    let theirs = jsonschema::draft202012::new(&rooted(&schema)).expect("valid");
    for (value, is_legal) in [
        (json!(1), true),
        (json!(1.5), true),
        (json!(2.9), true),
        (json!(3.1), false),
        (json!(0.9), false),
    ] {
        let object = json!({"spec": value});
        let errors = ours.validate(&object, None).errors;
        assert_eq!(errors.is_empty(), is_legal, "{object} {errors:?}");
        assert_eq!(
            theirs.is_valid(&object),
            is_legal && object["spec"].is_i64(),
            "{object}"
        );
    }
}

fn alternatives() -> impl Strategy<Value = Option<(&'static str, Value)>> {
    let list = prop::collection::vec(check_only(), 1..4).prop_map(Value::Array);
    let keyword = prop::sample::select(vec!["allOf", "anyOf", "oneOf"]);
    prop_oneof![
        3 => Just(None),
        2 => (keyword, list).prop_map(Some),
        1 => check_only().prop_map(|check| Some(("not", check))),
    ]
}

fn any_schema() -> impl Strategy<Value = Pair> {
    let leaf = prop_oneof![text_schema(), number_schema(), Just(Pair::new("boolean"))];
    let nested = leaf.prop_recursive(3, 24, 4, |inner| {
        let members =
            prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner.clone(), 1..4);
        let required = prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c"]), 0..3);
        let object = (members, required).prop_map(|(members, required)| {
            let (mut kube, mut json) = (Map::new(), Map::new());
            for (name, pair) in members {
                kube.insert(name.to_owned(), pair.kube);
                json.insert(name.to_owned(), pair.json);
            }
            let pair = Pair {
                kube: Value::Object(kube),
                json: Value::Object(json),
            };
            Pair::new("object")
                .with_pair("properties", pair)
                .with("required", required.into_iter().collect::<Vec<_>>())
        });
        let map = (inner.clone(), some(0..3), some(0..3)).prop_map(|(inner, least, most)| {
            let pair = Pair::new("object").with_pair("additionalProperties", inner);
            pair.with_some("minProperties", least)
                .with_some("maxProperties", most)
        });
        let list = (inner, some(0..3), some(0..3)).prop_map(|(inner, least, most)| {
            Pair::new("array")
                .with_pair("items", inner)
                .with_some("minItems", least)
                .with_some("maxItems", most)
        });
        prop_oneof![2 => object, 1 => map, 1 => list]
    });
    (nested, alternatives(), prop::bool::weighted(0.2)).prop_map(|(pair, alternatives, nullable)| {
        match alternatives {
            // Kubernetes does not try alternatives on null, so the two only agree without it.
            Some((keyword, value)) => pair.with(keyword, value),
            None => pair.nullable(nullable),
        }
    })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-6..7_i64).prop_map(Value::from),
        (-6..7_i32).prop_map(|whole| json!(f64::from(whole))),
        (-12..12_i32).prop_map(|half| json!(f64::from(half) / 2.0)),
        prop::sample::select(vec!["", "a", "b", "abc", "a1", "\u{e9}\u{e9}", "12"]).prop_map(Value::from),
    ]
}

/// Makes the members of an object or the entries of a map.
fn object_for(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(inner) = schema.get("additionalProperties") {
        let keys = prop::sample::select(vec!["a", "b", "x"]);
        return prop::collection::btree_map(keys, value_for(inner), 0..4)
            .prop_map(|entries| json!(entries))
            .boxed();
    }
    let members = schema["properties"].as_object().into_iter().flatten();
    let optional: Vec<_> = members
        .map(|(name, inner)| {
            let name = name.clone();
            proptest::option::weighted(0.7, value_for(inner).prop_map(move |value| (name.clone(), value)))
        })
        .collect();
    optional
        .prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
        .boxed()
}

/// Makes a value that has the shape of the schema most of the time.
fn value_for(schema: &Value) -> BoxedStrategy<Value> {
    let fitting: BoxedStrategy<Value> = match schema["type"].as_str() {
        Some("object") => object_for(schema),
        Some("array") => prop::collection::vec(value_for(&schema["items"]), 0..4)
            .prop_map(Value::Array)
            .boxed(),
        _ => scalar().boxed(),
    };
    prop_oneof![8 => fitting, 1 => scalar(), 1 => Just(json!([])), 1 => Just(json!({}))].boxed()
}

fn case() -> impl Strategy<Value = (Pair, Vec<Value>)> {
    any_schema().prop_flat_map(|pair| {
        let values = prop::collection::vec(value_for(&pair.kube), 6);
        (Just(pair), values)
    })
}

/// Puts a schema below the root, which must be an object.
fn rooted(inner: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": inner}})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_accept_the_same_values((pair, values) in case()) {
        let ours = Schema::parse(&rooted(&pair.kube)).expect("the generator only makes structural schemas");
        let theirs = jsonschema::draft202012::new(&rooted(&pair.json)).expect("the generator only makes valid schemas");
        for value in values {
            let object = json!({"spec": value});
            let errors = ours.validate(&object, None).errors;
            prop_assert_eq!(errors.is_empty(), theirs.is_valid(&object), "{} {} {:?}", pair.kube, object, errors);
        }
    }

    #[test]
    fn pruning_and_defaulting_twice_changes_nothing((pair, values) in case()) {
        let ours = Schema::parse(&rooted(&pair.kube)).expect("the generator only makes structural schemas");
        for value in values {
            let mut once = json!({"spec": value, "bogus": 1});
            ours.prune(&mut once);
            ours.apply_defaults(&mut once);
            let mut twice = once.clone();
            prop_assert!(ours.prune(&mut twice).is_empty());
            ours.apply_defaults(&mut twice);
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn an_unchanged_object_is_never_refused((pair, values) in case()) {
        let ours = Schema::parse(&rooted(&pair.kube)).expect("the generator only makes structural schemas");
        for value in values {
            let object = json!({"spec": value});
            prop_assert!(ours.validate(&object, Some(&object)).errors.is_empty());
        }
    }
}
