//! A manifest against its schema: types, names of fields, and what has to be there.
//!
//! Decides what the API server would say about shape. Never goes deeper than the schema: what that leaves open is not judged.

use crate::field::{Class, Fault, Path, Violation, nearest};
use serde_json::Value;

use super::aspect::{Aspect, Effort};
use super::schema::{Field, Fields, Type, fields_of};

/// What is written by controllers, and thrown away when it is applied.
const STATUS: &str = "status";
/// Fields that the schema asks for and the API server fills in.
const FILLED_IN: &[(&str, &str)] = &[("rbac.v1.RoleRef", "apiGroup")];

struct Walk<'w> {
    aspect: Aspect,
    /// Whether messages may show values: never those of a Secret.
    shows: bool,
    effort: Effort<'w>,
    found: &'w mut Vec<Violation>,
}

/// Adds what is wrong with a manifest in one aspect of its shape.
pub(super) fn check(
    manifest: &Value,
    root: &'static str,
    aspect: Aspect,
    at: &Path,
    effort: Effort<'_>,
    found: &mut Vec<Violation>,
) {
    let mut walk = Walk {
        aspect,
        shows: manifest.get("kind").and_then(Value::as_str) != Some("Secret"),
        effort,
        found,
    };
    let Some(object) = manifest.as_object() else {
        return;
    };
    // Deeper than any schema is nothing: each step goes down in one.
    let shown: Vec<(&String, &Value)> = object.iter().filter(|(name, _)| *name != STATUS).collect();
    walk.fields(root, &shown, at);
}

impl Walk<'_> {
    fn value(&mut self, of: &Type, value: &Value, at: &Path) {
        // Null is absent, for every field.
        if value.is_null() || !(self.effort)(1) {
            return;
        }
        match (of, value) {
            (Type::Anything, _)
            | (Type::Text | Type::Quantity | Type::TextOrWhole, Value::String(_))
            | (Type::Truth, Value::Bool(_))
            | (Type::Number | Type::Quantity, Value::Number(_)) => {}
            (Type::Whole | Type::TextOrWhole, Value::Number(number)) if is_whole(number) => {}
            (Type::Bytes, Value::String(text)) => self.bytes(text, at),
            (Type::List(of), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(of, item, &at.index(index));
                }
            }
            (Type::Map(of), Value::Object(entries)) => {
                for (name, entry) in entries {
                    self.value(of, entry, &stepped(at, name));
                }
            }
            (Type::Fields(name), Value::Object(object)) => {
                let all: Vec<(&String, &Value)> = object.iter().collect();
                self.fields(name, &all, at);
            }
            (of, value) => self.mismatch(of, value, at),
        }
    }

    fn fields(&mut self, definition: &'static str, object: &[(&String, &Value)], at: &Path) {
        let Some(known) = fields_of(definition) else {
            return;
        };
        for (name, value) in object {
            match known.get(name.as_str()) {
                Some(field) => self.value(&field.of, value, &at.key((*name).clone())),
                None => self.unknown(name, known, at),
            }
        }
        if self.aspect == Aspect::Required {
            for (name, _) in known
                .iter()
                .filter(|(name, field)| is_missing(definition, name, field, object))
            {
                let fault = Fault::bare(
                    Class::Required,
                    "the cluster rejects the object without this field",
                );
                self.tell(fault, at.key(*name));
            }
        }
    }

    fn unknown(&mut self, name: &str, known: &Fields, at: &Path) {
        if self.aspect != Aspect::UnknownField {
            return;
        }
        let near = nearest(name, known.keys().copied());
        let hint = near.map(|near| format!("did you mean \"{near}\"?"));
        let fault =
            Fault::bare(Class::Invalid, "unknown field: the cluster drops or rejects it").hint_if(hint);
        self.tell(fault, stepped(at, name));
    }

    fn bytes(&mut self, text: &str, at: &Path) {
        let is_base64 = |letter: char| letter.is_ascii_alphanumeric() || "+/=\n\r".contains(letter);
        if self.aspect == Aspect::Type && !text.contains("{{") && !text.chars().all(is_base64) {
            let fault =
                Fault::bare(Class::Invalid, "must be base64").hint("write plain text into stringData");
            self.tell(fault, at.clone());
        }
    }

    fn mismatch(&mut self, of: &Type, value: &Value, at: &Path) {
        if self.aspect != Aspect::Type {
            return;
        }
        let detail = format!("must be {}", words(of));
        let fault = if self.shows {
            Fault::of(Class::Invalid, value, detail).hint_if(cure(of, value))
        } else {
            Fault::bare(Class::Invalid, detail)
        };
        self.tell(fault, at.clone());
    }

    fn tell(&mut self, fault: Fault, at: Path) {
        self.found.push(fault.at(at, self.aspect.rule()));
    }
}

fn is_missing(definition: &str, name: &&str, field: &Field, object: &[(&String, &Value)]) -> bool {
    let is_there = || {
        object
            .iter()
            .any(|(known, value)| known.as_str() == *name && !value.is_null())
    };
    let is_filled_in = || FILLED_IN.contains(&(definition, name));
    field.required && !is_filled_in() && !is_there()
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// The API server writes plain names of entries like fields.
fn stepped(at: &Path, name: &str) -> Path {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_plain) {
        at.key(name.to_owned())
    } else {
        at.entry(name)
    }
}

fn words(of: &Type) -> &'static str {
    match of {
        Type::Text | Type::Bytes => "a string",
        Type::Whole => "a whole number",
        Type::Number => "a number",
        Type::Truth => "true or false",
        Type::Quantity => "a quantity such as \"500m\" or \"1Gi\"",
        Type::TextOrWhole => "a string or a whole number",
        Type::Anything => "a value",
        Type::List(_) => "a list",
        Type::Map(_) | Type::Fields(_) => "a map of fields",
    }
}

/// What is probably meant, where that is known.
fn cure(of: &Type, value: &Value) -> Option<String> {
    match (of, value) {
        (Type::Whole | Type::Number | Type::Truth, Value::String(text)) if text.contains("{{") => {
            Some("a variable is always replaced with a string: write the value, or create a template for each value".to_owned())
        }
        (Type::Whole, Value::String(text)) => {
            let number: i64 = text.parse().ok()?;
            Some(format!("write {number} without quotes"))
        }
        (Type::Truth, Value::String(text)) => {
            let truth = ["true", "false"]
                .into_iter()
                .find(|word| text.eq_ignore_ascii_case(word))?;
            Some(format!("write {truth} without quotes"))
        }
        (Type::Text, Value::Number(_) | Value::Bool(_)) => Some(format!("write \"{value}\" in quotes")),
        (Type::List(_), Value::Object(_)) => Some("begin its items with \"- \"".to_owned()),
        (Type::Map(_) | Type::Fields(_), Value::Array(items)) if items.len() == 1 => {
            Some("remove the \"- \"".to_owned())
        }
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check as check_manifest, is_known};
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn told(manifest: &Value, expected: &Expect) {
        assert!(is_known(manifest));
        let all = Aspect::ALL.into_iter();
        let found = all.flat_map(|aspect| check_manifest(manifest, aspect, &Path::root(), &|_| true));
        let lines: Vec<String> = found.map(|fault| format!("{fault}\n")).collect();
        expected.assert_eq(&lines.concat());
    }

    fn deployment(spec: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec,
            "status": {"nonsense": true}})
    }

    #[test]
    fn what_is_right_is_right() {
        let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "x", "image": "y", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "web", "path": "/"}}, "env": null}]}}});
        told(&deployment(&spec), &expect![]);
    }

    #[test]
    fn types_are_reported_with_the_fix() {
        let spec = json!({"replicas": "two", "minReadySeconds": "5", "paused": "yes",
            "selector": {"matchLabels": {"app": true}},
            "template": {"metadata": {"labels": {"app": "true"}}, "spec": {"containers": {"name": "x"},
                "hostNetwork": "{{HOST}}", "terminationGracePeriodSeconds": 1.5}}});
        told(
            &deployment(&spec),
            &expect![[r#"
            spec.minReadySeconds: Invalid value: "5": must be a whole number; hint: write 5 without quotes [manifest/type]
            spec.paused: Invalid value: "yes": must be true or false [manifest/type]
            spec.replicas: Invalid value: "two": must be a whole number [manifest/type]
            spec.selector.matchLabels.app: Invalid value: true: must be a string; hint: write "true" in quotes [manifest/type]
            spec.template.spec.containers: Invalid value: {"name":"x"}: must be a list; hint: begin its items with "- " [manifest/type]
            spec.template.spec.hostNetwork: Invalid value: "{{HOST}}": must be true or false; hint: a variable is always replaced with a string: write the value, or create a template for each value [manifest/type]
            spec.template.spec.terminationGracePeriodSeconds: Invalid value: 1.5: must be a whole number [manifest/type]
        "#]],
        );
    }

    #[test]
    fn names_and_required_fields_are_reported() {
        let spec = json!({"replica": 2, "template": {"spec": {"containers": [{"image": "y", "a.b": 1}]}}});
        told(
            &deployment(&spec),
            &expect![[r#"
            spec.replica: Invalid value: unknown field: the cluster drops or rejects it; hint: did you mean "replicas"? [manifest/unknown-field]
            spec.template.spec.containers[0][a.b]: Invalid value: unknown field: the cluster drops or rejects it [manifest/unknown-field]
            spec.template.spec.containers[0].name: Required value: the cluster rejects the object without this field [manifest/required]
            spec.selector: Required value: the cluster rejects the object without this field [manifest/required]
        "#]],
        );
        told(
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": 1, "b.c": true}}),
            &expect![[r#"
                data.a: Invalid value: 1: must be a string; hint: write "1" in quotes [manifest/type]
                data[b.c]: Invalid value: true: must be a string; hint: write "true" in quotes [manifest/type]
            "#]],
        );
        told(
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "pass word", "b": "{{X}}"}, "stringData": {"c": 12345}}),
            &expect![[r"
                data.a: Invalid value: must be base64; hint: write plain text into stringData [manifest/type]
                stringData.c: Invalid value: must be a string [manifest/type]
            "]],
        );
        told(
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "x"},
                "roleRef": {"kind": "Role"}, "subjects": [{"name": "y"}]}),
            &expect![[r"
                roleRef.name: Required value: the cluster rejects the object without this field [manifest/required]
                subjects[0].kind: Required value: the cluster rejects the object without this field [manifest/required]
            "]],
        );
    }

    #[test]
    fn who_has_no_steps_left_looks_at_nothing() {
        let manifest = deployment(&json!({"replicas": "two"}));
        assert!(check_manifest(&manifest, Aspect::Type, &Path::root(), &|_| false).is_empty());
    }
}
