//! Parses the valid parts of a malformed spec, so that one misspelt name does not hide the faults of the expressions.
//!
//! A policy with a fault is never active. This only makes it possible to report all of its faults together.

use serde_json::{Value, json};

use api::v1alpha1::AddOnPolicySpec;
use kubernetes::field::{Path, Segment};

/// The unknown parts of a spec: their faults are already reported, and consequences of them are not reported again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts(Vec<Path>);

impl Doubts {
    /// Adds a path.
    pub(super) fn add(&mut self, path: Path) {
        self.0.push(path);
    }

    /// Returns whether a fault at a path may be a consequence of a reported fault.
    pub(super) fn cover(&self, path: &Path) -> bool {
        self.0.iter().any(|doubt| is_within(path, doubt))
    }

    /// Returns whether something at or below a path, or a parent of it, is unknown.
    pub(super) fn touch(&self, path: &Path) -> bool {
        let near = |doubt: &Path| is_within(doubt, path) || is_within(path, doubt);
        self.0.iter().any(near)
    }

    /// Returns whether the names of the variables are unknown: a list, an item or a name is malformed, not only an expression.
    pub(super) fn touch_names_of_variables(&self) -> bool {
        let list = Path::parse("spec.variables");
        let is_name = |doubt: &Path| match doubt.segments() {
            [_, _, _, last, ..] => matches!(last, Segment::Key(name) if name == "name"),
            _ => true,
        };
        let near = |doubt: &Path| is_within(doubt, &list) || is_within(&list, doubt);
        self.0.iter().any(|doubt| near(doubt) && is_name(doubt))
    }
}

fn is_within(inner: &Path, outer: &Path) -> bool {
    inner.segments().starts_with(outer.segments())
}

/// Parses a spec; malformed parts count as absent. `definition` is the schema of the whole object.
pub(super) fn read(spec: &Value, doubts: &Doubts, definition: &Value) -> Result<AddOnPolicySpec, String> {
    let mut object = json!({ "spec": spec });
    for path in &doubts.0 {
        let wanted = schema_of(definition, path).and_then(|schema| schema.get("type"));
        let empty = match wanted.and_then(Value::as_str) {
            Some("string") => json!(""),
            Some("array") => json!([]),
            Some("object") => json!({}),
            Some(_) | None => Value::Null,
        };
        if let Some(value) = value_at(&mut object, path)
            && (value.is_string() || kind(value) != kind(&empty))
        {
            *value = empty;
        }
    }
    let spec = object.get_mut("spec").map(Value::take).unwrap_or_default();
    serde_json::from_value(json!({ "spec": spec }))
        .map(|Whole { spec }| spec)
        .map_err(|error| error.to_string())
}

#[derive(serde::Deserialize)]
struct Whole {
    spec: AddOnPolicySpec,
}

/// Returns the part of a schema that describes a path.
pub(super) fn schema_of<'s>(definition: &'s Value, path: &Path) -> Option<&'s Value> {
    let mut steps = path.segments().iter();
    steps.try_fold(definition, |schema, step| match step {
        Segment::Index(_) => schema.get("items"),
        Segment::Key(name) => schema.get("properties")?.get(name.as_ref()),
        Segment::Entry(name) => schema.get("properties")?.get(name.as_str()),
    })
}

fn value_at<'v>(object: &'v mut Value, path: &Path) -> Option<&'v mut Value> {
    let mut steps = path.segments().iter();
    steps.try_fold(object, |value, step| match step {
        Segment::Index(index) => value.get_mut(*index),
        Segment::Key(name) => value.get_mut(name.as_ref()),
        Segment::Entry(name) => value.get_mut(name.as_str()),
    })
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Origin, PolicyFault, PolicySet, Source};

    fn faults(fields: &Value) -> Vec<String> {
        let mut spec = json!({"matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
            "resources": ["*"]}]}});
        for (name, value) in fields.as_object().expect("fields") {
            spec[name] = value.clone();
        }
        let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": "a"}, "spec": spec});
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let loaded = PolicySet::load(&[source], &[], &PolicySet::default());
        assert!(loaded.set.is_empty(), "a malformed policy is not active");
        let reports = loaded.reports.iter();
        reports
            .flat_map(|report| &report.faults)
            .map(PolicyFault::one_line)
            .collect()
    }

    const BROKEN: &str = "spec.validations[0].expression:1:1: undeclared reference to 'y' (in container '')";

    #[test]
    fn a_fault_of_form_hides_no_fault_of_an_expression() {
        let rows = [
            (
                json!({"facts": ["clutser"], "validations": [{"expression": "y && facts.cluster.x"}]}),
                "spec.facts[0]: Unsupported value: \"clutser\": supported values: ",
            ),
            (
                json!({"fact": ["cluster"], "validations": [{"expression": "y && facts.cluster.x"}]}),
                "spec.fact: unknown field; did you mean \"facts\"?",
            ),
            (
                json!({"variabels": [], "validations": [{"expression": "y && variables.x"}]}),
                "spec.variabels: unknown field; did you mean \"variables\"?",
            ),
            (
                json!({"variables": [{"name": 5, "expression": "true"}], "validations": [{"expression": "y && variables.x"}]}),
                "spec.variables[0].name: Invalid value",
            ),
            (
                json!({"params": [], "validations": [{"expression": "y && params.x"}]}),
                "spec.params: Invalid value",
            ),
            (
                json!({"validations": [{"expression": "y", "mesage": "x"}]}),
                "spec.validations[0].mesage: unknown field; did you mean \"message\"?",
            ),
            (
                json!({"failurePolicy": "Maybe", "validations": [{"expression": "y"}]}),
                "spec.failurePolicy: Unsupported value",
            ),
            (
                json!({"validations": [{"expression": "y"}, {"message": "x"}]}),
                "spec.validations[1].expression: Required value",
            ),
        ];
        for (fields, form) in rows {
            let found = faults(&fields);
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found[0].starts_with(form), "{found:?}");
            assert_eq!(found[1], BROKEN);
        }
    }

    #[test]
    fn what_follows_from_a_fault_is_no_second_one() {
        for fields in [
            json!({"validation": [{"expression": "true"}]}),
            json!({"validations": 5}),
            json!({"validations": ["true"]}),
            json!({"validations": [{"id": "a"}], "exceptions": [{"validations": ["a"], "reason": "x"}]}),
            json!({"validations": [{"id": "a", "expression": "x"}], "exceptions": [{"validations": ["a"], "reason": "x"}]}),
        ] {
            assert_eq!(faults(&fields).len(), 1, "{:?}", faults(&fields));
        }
    }
}
