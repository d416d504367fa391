//! Values that a schema rejects, generated from the schema.

use std::fmt;

use regex::Regex;
use serde_json::{Value, json};

/// A change that no API server stores.
pub(super) struct Fault {
    /// Names of fields below the object, outermost first; a number is a place in a list.
    path: Vec<Value>,
    value: Value,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value: String = self.value.to_string().chars().take(60).collect();
        let path: Vec<String> = self.path.iter().map(ToString::to_string).collect();
        write!(f, "{} = {value}", path.join("."))
    }
}

impl Fault {
    /// Puts the value into an object that has everything above its place.
    pub(super) fn apply(&self, object: &mut Value) {
        let (last, parents) = self.path.split_last().expect("a path");
        let parent = parents.iter().fold(object, |at, step| at_step(at, step));
        *at_step(parent, last) = self.value.clone();
    }

    /// Returns the place as refusals write it, up to the first list or map.
    pub(super) fn place(&self) -> String {
        let names = self.path.iter().map_while(Value::as_str);
        names.collect::<Vec<_>>().join(".")
    }

    /// The same as a merge patch.
    pub(super) fn patch(&self) -> Value {
        let mut steps = self.path.iter().rev();
        steps
            .try_fold(self.value.clone(), |below, step| match step {
                Value::String(name) => Some(json!({ name: below })),
                _ => Some(json!([below])),
            })
            .expect("a patch")
    }
}

fn at_step<'v>(value: &'v mut Value, step: &Value) -> &'v mut Value {
    if let Value::String(name) = step {
        if !value.is_object() {
            *value = json!({});
        }
        &mut value[name.as_str()]
    } else {
        if value.as_array().is_none_or(Vec::is_empty) {
            *value = json!([null]);
        }
        &mut value[0]
    }
}

/// What an API server refuses in the metadata of every kind.
pub(super) fn of_metadata() -> Vec<Fault> {
    let owner = |more: Value| {
        let mut owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
        for (name, value) in more.as_object().expect("fields") {
            owner[name] = value.clone();
        }
        owner
    };
    let controller = owner(json!({"controller": true}));
    let fields = [
        ("labels", json!({"owner": "team a"})),
        ("labels", json!({"bad key!": "x"})),
        ("labels", json!({"a/b/c": "x"})),
        ("labels", json!({"": "x"})),
        ("labels", json!({"long": "x".repeat(64)})),
        ("labels", json!({"x".repeat(64): "x"})),
        ("labels", json!({format!("{}/x", "y".repeat(254)): "x"})),
        ("annotations", json!({"no blanks": "x"})),
        ("annotations", json!({"large": "x".repeat(256 * 1024)})),
        ("annotations", json!({"/x": ""})),
        ("finalizers", json!(["no blanks"])),
        ("finalizers", json!([""])),
        ("finalizers", json!(["orphan", "foregroundDeletion"])),
        ("ownerReferences", json!([owner(json!({"uid": ""}))])),
        ("ownerReferences", json!([owner(json!({"name": ""}))])),
        ("ownerReferences", json!([owner(json!({"kind": ""}))])),
        ("ownerReferences", json!([owner(json!({"apiVersion": "a/b/c"}))])),
        ("ownerReferences", json!([owner(json!({"kind": "Event"}))])),
        ("ownerReferences", json!([controller, controller])),
        ("generateName", json!("Not A Name-")),
        ("generation", json!(0)),
        ("generation", json!(-1)),
        ("creationTimestamp", json!("2020-01-01T00:00:00Z")),
        ("deletionTimestamp", json!("2020-01-01T00:00:00Z")),
        ("deletionGracePeriodSeconds", json!(7)),
        ("uid", json!("another")),
        ("selfLink", json!("/x")),
        ("managedFields", json!([{"manager": "m", "operation": "Strange"}])),
    ];
    let fault = |(name, value): (&str, Value)| Fault {
        path: vec![json!("metadata"), json!(name)],
        value,
    };
    fields.into_iter().map(fault).collect()
}

/// What a schema of the spec refuses, field by field; `good` is what is stored.
pub(super) fn of_spec(schema: &Value, good: &Value) -> Vec<Fault> {
    let mut found = Vec::new();
    collect(schema, Some(good), &mut vec![json!("spec")], &mut found);
    found
}

fn collect(schema: &Value, good: Option<&Value>, path: &mut Vec<Value>, found: &mut Vec<Fault>) {
    for value in refused(schema) {
        found.push(Fault {
            path: path.clone(),
            value,
        });
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        let stored = good.and_then(|good| good.get(name));
        let mut within = Vec::new();
        path.push(json!(name));
        collect(below, stored, path, &mut within);
        path.pop();
        if good.is_none() {
            // What is above is not stored: it comes along with everything that it needs.
            within = within
                .into_iter()
                .map(|fault| lifted(fault, schema, path))
                .collect();
        }
        found.extend(within);
    }
    for (key, step) in [("items", json!(0)), ("additionalProperties", json!("k"))] {
        if schema[key].is_object() {
            let mut within = Vec::new();
            path.push(step);
            collect(&schema[key], None, path, &mut within);
            path.pop();
            found.extend(within.into_iter().map(|fault| lifted(fault, schema, path)));
        }
    }
}

/// Returns the same fault with the whole value at a place.
fn lifted(fault: Fault, schema: &Value, path: &[Value]) -> Fault {
    let mut whole = json!({"at": sample(schema)});
    let below = fault.path.iter().skip(path.len()).cloned();
    let inner = Fault {
        path: std::iter::once(json!("at")).chain(below).collect(),
        value: fault.value,
    };
    inner.apply(&mut whole);
    Fault {
        path: path.to_vec(),
        value: whole["at"].take(),
    }
}

fn number(schema: &Value, name: &str) -> Option<i64> {
    schema[name].as_i64()
}

/// Texts of which one fits most patterns.
const TEXTS: [&str; 9] = [
    "a",
    "a.b",
    "1.0.0",
    "10s",
    "25%",
    "None",
    "2026-01-01T00:00:00Z",
    "1h",
    "a/b",
];

/// Returns a value that a schema takes.
pub(super) fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let fields = required.map(|name| (name.to_owned(), sample(&schema["properties"][name])));
            Value::Object(fields.collect())
        }
        Some("array") => {
            let count = number(schema, "minItems").unwrap_or_default().max(1);
            let items: Vec<Value> = (0..count).map(|_| sample(&schema["items"])).collect();
            json!(items)
        }
        Some("string") => {
            let pattern = schema["pattern"]
                .as_str()
                .map(|text| Regex::new(text).expect("a pattern"));
            let fits = |text: &&str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
            let is_time = schema["format"] == "date-time";
            let mut texts = TEXTS.into_iter().filter(|text| !is_time || text.ends_with('Z'));
            json!(texts.find(|text| fits(text)).unwrap_or("a"))
        }
        Some("integer" | "number") => json!(number(schema, "minimum").unwrap_or(1)),
        Some("boolean") => json!(true),
        _ => json!({}),
    }
}

/// Returns values that a schema refuses.
fn refused(schema: &Value) -> Vec<Value> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    let others = [
        ("integer", json!(5)),
        ("number", json!(1.5)),
        ("string", json!("x y!")),
        ("boolean", json!(true)),
        ("array", json!([])),
        ("object", json!({})),
    ];
    let is_number = |kind: &str| ["integer", "number"].contains(&kind);
    let of_another_type = others
        .into_iter()
        .filter(|(other, _)| !(*other == kind || kind == "number" && is_number(other)));
    found.extend(of_another_type.map(|(_, value)| value));
    found.push(json!(null));
    match kind {
        "string" => {
            found.extend(["", "!", "no such value"].map(Value::from));
            let most = number(schema, "maxLength").unwrap_or(300);
            found.push(json!("a".repeat(usize::try_from(most + 1).unwrap_or_default())));
        }
        "integer" | "number" => {
            found.extend(number(schema, "minimum").map(|least| json!(least - 1)));
            found.extend(number(schema, "maximum").map(|most| json!(most + 1)));
            found.push(json!(i64::from(i32::MAX) + 1));
        }
        "array" => {
            let item = sample(&schema["items"]);
            found.push(json!([item, item]));
            found.push(json!([null]));
            if let Some(most) = number(schema, "maxItems") {
                found.push(json!(vec![item; usize::try_from(most + 1).unwrap_or_default()]));
            }
        }
        "object" => {
            let whole = sample(schema);
            for name in schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                let mut without = whole.clone();
                without.as_object_mut().and_then(|fields| fields.remove(name));
                found.push(without);
            }
            found.extend(pairs(schema, &whole));
        }
        _ => {}
    }
    if schema["x-kubernetes-int-or-string"] == true {
        found.extend([json!("no number"), json!(-1), json!("101%x")]);
    }
    found
}

/// Objects with two fields at a time, which the expressions of a definition may refuse.
fn pairs(schema: &Value, whole: &Value) -> Vec<Value> {
    let names: Vec<&String> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    if schema["x-kubernetes-validations"].is_null() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for first in &names {
        for second in &names {
            let mut object = whole.clone();
            for name in [first, second] {
                object[name.as_str()] = sample(&schema["properties"][name.as_str()]);
            }
            found.push(object);
        }
    }
    found
}
