//! Objects that grow: every list, map and string of a kind's schema, with any length.
//!
//! Their content is different items, the same item many times, or invalid items. The fields come from the schemas of the CRDs, so
//! that a new field is tried without a change here.

use serde_json::{Map, Value, json};

/// What an object is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filling {
    Different,
    Same,
    Wrong,
}

impl Filling {
    pub(crate) const ALL: [Self; 3] = [Self::Different, Self::Same, Self::Wrong];

    fn text(self, number: usize) -> String {
        match self {
            Self::Different => format!("x{number:06}s"),
            Self::Same => "same".to_owned(),
            Self::Wrong => format!("{{{{ X{number:06} {{{{:{{{{Y}}}}"),
        }
    }
}

/// A place that can hold as much as a test wants.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Steps from the object down; "" is the only item of a list.
    steps: Vec<String>,
    schema: Value,
}

impl Place {
    pub(crate) fn name(&self) -> String {
        let steps = self
            .steps
            .iter()
            .map(|step| if step.is_empty() { "[]" } else { step });
        steps.collect::<Vec<_>>().join(".")
    }

    /// Lets the place of an object hold so many things.
    pub(crate) fn grow(&self, object: &mut Value, count: usize, filling: Filling) {
        let mut at = object;
        for step in &self.steps {
            at = if step.is_empty() {
                only_item(at)
            } else {
                member(at, step)
            };
        }
        *at = grown(&self.schema, count, filling);
    }
}

fn only_item(at: &mut Value) -> &mut Value {
    if at.get(0).is_none() {
        *at = json!([{}]);
    }
    &mut at[0]
}

fn member<'v>(at: &'v mut Value, step: &str) -> &'v mut Value {
    if !at.is_object() {
        *at = json!({});
    }
    &mut at[step]
}

/// Returns every place of a schema that can grow, with the metadata that every object has.
pub(crate) fn places(schema: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    walk(
        &schema["properties"]["spec"],
        &mut vec!["spec".to_owned()],
        &mut found,
    );
    walk(
        &schema["properties"]["status"],
        &mut vec!["status".to_owned()],
        &mut found,
    );
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let entries =
        json!({"type": "array", "items": {"type": "object", "properties": {"manager": {"type": "string"}}}});
    let metadata = [
        ("labels", texts.clone()),
        ("annotations", texts),
        ("managedFields", entries),
    ];
    found.extend(metadata.map(|(name, schema)| Place {
        steps: vec!["metadata".to_owned(), name.to_owned()],
        schema,
    }));
    found
}

fn walk(schema: &Value, steps: &mut Vec<String>, found: &mut Vec<Place>) {
    let grows = match schema["type"].as_str() {
        Some("array") => true,
        Some("object") => is_map(schema),
        Some("string") => schema.get("enum").is_none(),
        _ => false,
    };
    if grows {
        found.push(Place {
            steps: steps.clone(),
            schema: schema.clone(),
        });
    }
    let mut below = |step: &str, schema: &Value| {
        steps.push(step.to_owned());
        walk(schema, steps, found);
        steps.pop();
    };
    if schema.get("items").is_some() {
        below("", &schema["items"]);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        below(name, property);
    }
}

fn is_map(schema: &Value) -> bool {
    schema.get("additionalProperties").is_some() || is_free(schema)
}

fn is_free(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == json!(true)
        || schema["x-kubernetes-embedded-resource"] == json!(true)
}

fn grown(schema: &Value, count: usize, filling: Filling) -> Value {
    match schema["type"].as_str() {
        Some("array") => (0..count)
            .map(|number| sample(&schema["items"], number, filling))
            .collect(),
        Some("string") => Value::String(filling.text(7).repeat(count)),
        _ if is_free(schema) => {
            let mut manifest = manifest(0, filling);
            manifest["data"] = entries(&json!({"type": "string"}), count, filling);
            manifest["spec"]["template"]["spec"]["containers"] =
                (0..count).map(|number| container(number, filling)).collect();
            manifest
        }
        _ => entries(&schema["additionalProperties"], count, filling),
    }
}

fn entries(schema: &Value, count: usize, filling: Filling) -> Value {
    let key = |number: usize| match filling {
        Filling::Different | Filling::Same => format!("key{number:06}"),
        Filling::Wrong => format!("key {number:06}/{{{{/x"),
    };
    let entry = |number| (key(number), sample(schema, number, filling));
    Value::Object((0..count).map(entry).collect::<Map<_, _>>())
}

/// Returns one thing that a schema describes.
fn sample(schema: &Value, number: usize, filling: Filling) -> Value {
    if is_free(schema) {
        return manifest(number, filling);
    }
    if let Some(legal) = schema["enum"].as_array().filter(|_| filling != Filling::Wrong) {
        return legal.first().cloned().unwrap_or_default();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let mut made: Map<String, Value> = fields
                .map(|(name, field)| (name.clone(), sample(field, number, filling)))
                .collect();
            if filling == Filling::Wrong {
                made.insert(format!("unknown{number}"), json!(number));
            }
            Value::Object(made)
        }
        Some("array") => json!([sample(&schema["items"], number, filling)]),
        Some("integer" | "number") => json!(number),
        Some("boolean") => json!(true),
        _ => Value::String(filling.text(number)),
    }
}

/// Returns a manifest of a template.
fn manifest(number: usize, filling: Filling) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": filling.text(number), "namespace": "agents"},
        "spec": {"template": {"spec": {"containers": [container(number, filling)]}}}})
}

fn container(number: usize, filling: Filling) -> Value {
    json!({"name": filling.text(number), "image": format!("example.com/{}:{{{{V{number}}}}}", filling.text(number)),
        "args": ["{{CLUSTER_NAME}}", format!("{{{{U{number:06}}}}}")]})
}
