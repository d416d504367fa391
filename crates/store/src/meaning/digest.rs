//! Digest of a work's spec, so that the store compares bodies without keeping them.
//!
//! Decides which defaults of the API server do not count. Two specs have one digest if they mean the same (`spec.rs`).
//! Never used as the spec hash of configurations; that one is `crate::hash` and has its own rules.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::spec::Meaning;

/// Digest of a spec: the first half of its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 16]);

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Digest {
    /// Returns the digest of a spec in canonical text form.
    pub fn of_text(canonical: &str) -> Self {
        let mut digest = Digesting::default();
        digest.add(canonical);
        digest.finish()
    }

    /// Returns the digest of what a work's spec means.
    pub fn of_spec(spec: &Value) -> Self {
        let Meaning { rest, groups } = Meaning::of(spec);
        let groups = groups.map(|group| {
            let items = group.items.iter().map(|item| Self::of_text(item)).collect();
            (items, group.ordered)
        });
        Self::of_parts(Self::of_text(&rest), groups)
    }

    /// Returns the digest of a spec from those of its parts: what stands beside the lists, and the items of each list with
    /// whether their order counts.
    pub fn of_parts(rest: Self, groups: [(Vec<Self>, bool); 3]) -> Self {
        let mut digest = Sha256::new_with_prefix(rest.0);
        for (mut items, ordered) in groups {
            if !ordered {
                items.sort_unstable();
                items.dedup();
            }
            digest.update([u8::from(ordered)]);
            digest.update(items.len().to_be_bytes());
            for item in items {
                digest.update(item.0);
            }
        }
        Digesting(digest).finish()
    }
}

/// A digest in the making: texts that begin alike share the work of their beginning.
#[derive(Debug, Clone, Default)]
pub struct Digesting(Sha256);

impl Digesting {
    /// Takes the next piece of the canonical text.
    pub fn add(&mut self, text: &str) {
        self.0.update(text.as_bytes());
    }

    /// Returns the digest of all pieces.
    pub fn finish(self) -> Digest {
        let full = self.0.finalize();
        let mut half = [0; 16];
        for (to, from) in half.iter_mut().zip(full.iter()) {
            *to = *from;
        }
        Digest(half)
    }
}

/// Fills in what the API server defaults in a work's spec and drops what it drops, so that both sides compare equal.
pub fn fill_defaults(spec: &mut Value) {
    drop_nulls(spec);
    let manifests = spec
        .pointer_mut("/workload/manifests")
        .and_then(Value::as_array_mut);
    for metadata in manifests
        .into_iter()
        .flatten()
        .filter_map(|manifest| manifest.get_mut("metadata"))
    {
        drop_empty(metadata);
    }
    let Some(spec) = spec.as_object_mut() else { return };
    spec.retain(|_, value| !is_empty(value));
    if let Some(option) = spec.get_mut("deleteOption").and_then(Value::as_object_mut) {
        default(option, "propagationPolicy", "Foreground");
    }
    let configs = spec.get_mut("manifestConfigs").and_then(Value::as_array_mut);
    for config in configs.into_iter().flatten().filter_map(Value::as_object_mut) {
        default(config, "feedbackScrapeType", "Poll");
        if let Some(strategy) = config.get_mut("updateStrategy").and_then(Value::as_object_mut) {
            fill_update_strategy(strategy);
        }
    }
}

/// A patch that carries a null removes the field, whatever it meant; so a null is never there to stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
    }
}

/// The API server reads the metadata of an embedded object into its own type, and writes no empty field of it.
fn drop_empty(metadata: &mut Value) {
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|_, field| !is_empty(field) && field.as_str() != Some(""));
    }
}

fn fill_update_strategy(strategy: &mut Map<String, Value>) {
    default(strategy, "type", "Update");
    let Some(apply) = strategy.get_mut("serverSideApply").and_then(Value::as_object_mut) else {
        return;
    };
    default(apply, "fieldManager", "work-agent");
    let fields = apply.get_mut("ignoreFields").and_then(Value::as_array_mut);
    for field in fields.into_iter().flatten().filter_map(Value::as_object_mut) {
        default(field, "condition", "OnSpokePresent");
    }
}

fn default(object: &mut Map<String, Value>, key: &str, value: &str) {
    object.entry(key).or_insert_with(|| Value::from(value));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns compact JSON with sorted keys, whatever order the map type keeps.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => write_object(fields, out),
    }
}

fn write_object(fields: &Map<String, Value>, out: &mut String) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write_value(value, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_server_defaults_does_not_count() {
        let written = json!({"workload": {"manifests": []}, "deleteOption": {"ttlSecondsAfterFinished": 5},
            "manifestConfigs": [{"resourceIdentifier": {"name": "x"}, "updateStrategy": {}}], "executor": null});
        let stored = json!({"workload": {"manifests": []},
            "deleteOption": {"propagationPolicy": "Foreground", "ttlSecondsAfterFinished": 5},
            "manifestConfigs": [{"resourceIdentifier": {"name": "x"}, "feedbackScrapeType": "Poll",
                "updateStrategy": {"type": "Update"}}]});
        assert_eq!(Digest::of_spec(&written), Digest::of_spec(&stored));
    }

    #[test]
    fn what_the_server_drops_does_not_count() {
        let manifest = |metadata: Value, spec: Value| json!({"workload": {"manifests": [{"kind": "Deployment", "metadata": metadata, "spec": spec}]}});
        let written = manifest(
            json!({"name": "x", "creationTimestamp": null, "labels": {}, "namespace": ""}),
            json!({"strategy": {}, "template": {"metadata": {"creationTimestamp": null}}, "args": ["", null]}),
        );
        let stored = manifest(
            json!({"name": "x"}),
            json!({"strategy": {}, "template": {"metadata": {}}, "args": ["", null]}),
        );
        assert_eq!(Digest::of_spec(&written), Digest::of_spec(&stored));
        let other = manifest(
            json!({"name": "x"}),
            json!({"template": {"metadata": {}}, "args": [null]}),
        );
        assert_ne!(
            Digest::of_spec(&stored),
            Digest::of_spec(&other),
            "an item of a list is never dropped"
        );
    }

    #[test]
    fn any_other_difference_counts() {
        let one = json!({"workload": {"manifests": [{"kind": "ConfigMap", "data": {"a": "1"}}]}});
        let other = json!({"workload": {"manifests": [{"kind": "ConfigMap", "data": {"a": "2"}}]}});
        assert_ne!(Digest::of_spec(&one), Digest::of_spec(&other));
    }

    #[test]
    fn keys_are_sorted_at_every_depth() {
        assert_eq!(
            canonical(&json!({"b": [{"d": 1, "c": "\"<"}], "a": null})),
            r#"{"a":null,"b":[{"c":"\"<","d":1}]}"#
        );
    }
}
