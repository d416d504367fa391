//! Turns the JSON of a built-in object into the form that the server would write after it had read it into typed fields.
//!
//! Decides which members are unknown, which values have the wrong type (in the words of Go's decoders) and what is left out as empty.

use serde_json::{Map, Value};

use super::{canonical, go_time, schema};
use crate::Resource;
use crate::patch::go_json::type_name;

/// Whose words a type error is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Request bodies, JSON patches and merge patches: `json: cannot unmarshal number into Go struct field …`.
    Json,
    /// Strategic merge patches: `cannot convert int64 to string`.
    Unstructured,
}

/// Brings `object` into the written form of its kind and returns the paths of unknown members, such as `metadata.foo`, which
/// are removed. The error is the text of a type error.
pub fn object(resource: &Resource, object: &mut Value, dialect: Dialect) -> Result<Vec<String>, String> {
    match schema::definition_name(resource) {
        Some(name) => definition(&name, object, dialect),
        None => Ok(Vec::new()),
    }
}

/// Does the same for any named definition, for instance that of a delete request's options.
pub fn definition(name: &str, value: &mut Value, dialect: Dialect) -> Result<Vec<String>, String> {
    let Some((name, schema)) = schema::definition(name) else {
        return Ok(Vec::new());
    };
    let mut walk = Walk {
        dialect,
        unknown: Vec::new(),
        path: String::new(),
        fields: Vec::new(),
        owner: short(name),
    };
    walk.object(name, schema, value)?;
    Ok(walk.unknown)
}

/// Does the same for the `metadata` of a custom resource; the returned paths begin with `metadata`.
pub fn object_meta(metadata: &mut Value) -> Result<Vec<String>, String> {
    let unknown = definition(schema::OBJECT_META, metadata, Dialect::Json)?;
    Ok(unknown
        .into_iter()
        .map(|path| format!("metadata.{path}"))
        .collect())
}

struct Walk {
    dialect: Dialect,
    unknown: Vec<String>,
    /// Path with indices, for unknown members.
    path: String,
    /// Names without indices, for type errors.
    fields: Vec<String>,
    /// Innermost Go struct.
    owner: &'static str,
}

impl Walk {
    fn value(&mut self, schema: &'static Value, value: &mut Value) -> Result<(), String> {
        let (name, target) = schema::resolve(schema);
        if let Some(name) = name {
            return self.named(name, target, value);
        }
        match target.get("type").and_then(Value::as_str) {
            Some("object") => match target.get("additionalProperties") {
                Some(item) => self.map(target, item, value),
                None if value.is_object() => Ok(()),
                None => Err(self.mismatch(target, value)),
            },
            Some("array") => self.array(target, value),
            Some("string") => self.string(target, value),
            Some("integer") => self.integer(target, value),
            Some("number") if !value.is_number() => Err(self.mismatch(target, value)),
            Some("boolean") if !value.is_boolean() => Err(self.mismatch(target, value)),
            _ => Ok(()),
        }
    }

    fn named(&mut self, name: &'static str, schema: &'static Value, value: &mut Value) -> Result<(), String> {
        match short(name) {
            "Time" => self.time(schema, value, go_time::TIME),
            "MicroTime" => self.time(schema, value, go_time::MICRO_TIME),
            "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrStringArray" => {
                match value {
                    Value::Object(_) => match schema::definition(JSON_SCHEMA) {
                        Some((name, schema)) => self.object(name, schema, value),
                        None => Ok(()),
                    },
                    _ => Ok(()),
                }
            }
            _ if schema.get("properties").is_some() => self.object(name, schema, value),
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        name: &'static str,
        schema: &'static Value,
        value: &mut Value,
    ) -> Result<(), String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let Value::Object(map) = value else {
            return Err(self.wrong_struct(name, value));
        };
        let is_open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
        let outer = std::mem::replace(&mut self.owner, short(name));
        for (member, value) in &mut *map {
            match properties.and_then(|properties| properties.get(member)) {
                None if is_open => {}
                None => self.note_unknown(member),
                Some(_) if value.is_null() => {}
                Some(schema) => self.below(member, |walk| walk.value(schema, value))?,
            }
        }
        map.retain(|member, value| {
            let is_known = properties.is_some_and(|properties| properties.contains_key(member));
            !value.is_null() && (is_open || is_known)
        });
        drop_empty_maps(properties, map);
        canonical::tidy(name, schema.get("required"), map);
        self.owner = outer;
        Ok(())
    }

    fn below(
        &mut self,
        member: &str,
        walk: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(member);
        self.fields.push(member.to_owned());
        walk(self)?;
        self.fields.pop();
        self.path.truncate(length);
        Ok(())
    }

    fn note_unknown(&mut self, member: &str) {
        self.unknown.push(if self.path.is_empty() {
            member.to_owned()
        } else {
            format!("{}.{member}", self.path)
        });
    }

    fn map(&mut self, schema: &'static Value, item: &'static Value, value: &mut Value) -> Result<(), String> {
        let Value::Object(map) = value else {
            return Err(self.mismatch(schema, value));
        };
        for (key, value) in &mut *map {
            if value.is_null() && item.get("type").is_some_and(|kind| kind == "string") {
                *value = Value::String(String::new());
            }
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(key);
            self.value(item, value)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn array(&mut self, schema: &'static Value, value: &mut Value) -> Result<(), String> {
        let Value::Array(items) = value else {
            return Err(self.mismatch(schema, value));
        };
        let Some(item) = schema.get("items") else {
            return Ok(());
        };
        for (index, value) in items.iter_mut().enumerate() {
            let length = self.path.len();
            self.path.extend(["[", &index.to_string(), "]"]);
            self.value(item, value)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn string(&self, schema: &'static Value, value: &Value) -> Result<(), String> {
        let Value::String(text) = value else {
            return Err(self.mismatch(schema, value));
        };
        match schema.get("format").and_then(Value::as_str) {
            Some("byte") => match corrupt_base64(text) {
                Some(at) => Err(format!("illegal base64 data at input byte {at}")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn time(&self, schema: &'static Value, value: &mut Value, layout: &str) -> Result<(), String> {
        let Value::String(text) = value else {
            return match self.dialect {
                Dialect::Json => Err(format!(
                    "json: cannot unmarshal {} into Go value of type string",
                    type_name(value)
                )),
                Dialect::Unstructured => Err(self.mismatch(schema, value)),
            };
        };
        if text.is_empty() {
            *value = Value::Null;
            return Ok(());
        }
        go_time::check(text, layout)
    }

    fn integer(&self, schema: &'static Value, value: &mut Value) -> Result<(), String> {
        let narrow = schema.get("format").is_some_and(|format| format == "int32");
        let fits = |number: i64| !narrow || i32::try_from(number).is_ok();
        match value {
            Value::Number(number) if number.as_i64().is_some_and(fits) => Ok(()),
            Value::Number(number) if self.dialect == Dialect::Json => {
                Err(self.json_mismatch(&format!("number {number}"), &go_type(schema)))
            }
            _ => Err(self.mismatch(schema, value)),
        }
    }

    fn mismatch(&self, schema: &'static Value, value: &Value) -> String {
        let wanted = go_type(schema);
        match self.dialect {
            Dialect::Json => self.json_mismatch(type_name(value), &wanted),
            Dialect::Unstructured => match (schema.get("type").and_then(Value::as_str), value) {
                (Some("object"), _) => format!("cannot restore map from {}", reflect_kind(value)),
                (Some("array"), _) => format!("cannot restore slice from {}", reflect_kind(value)),
                (_, Value::Array(_) | Value::Object(_)) => format!("unrecognized type: {wanted}"),
                _ => format!("cannot convert {} to {wanted}", reflect_kind(value)),
            },
        }
    }

    fn wrong_struct(&self, name: &'static str, value: &Value) -> String {
        match self.dialect {
            Dialect::Json if self.fields.is_empty() => {
                format!(
                    "json: cannot unmarshal {} into Go value of type v1.{}",
                    type_name(value),
                    short(name)
                )
            }
            Dialect::Json => self.json_mismatch(type_name(value), &format!("v1.{}", short(name))),
            Dialect::Unstructured => format!("cannot restore struct from: {}", reflect_kind(value)),
        }
    }

    fn json_mismatch(&self, found: &str, wanted: &str) -> String {
        format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
            self.owner,
            self.fields.join(".")
        )
    }
}

const JSON_SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

fn drop_empty_maps(properties: Option<&'static Map<String, Value>>, map: &mut Map<String, Value>) {
    map.retain(|member, value| {
        let schema = properties.and_then(|properties| properties.get(member));
        let is_map = schema.is_some_and(|schema| schema.get("additionalProperties").is_some());
        !(is_map && value.as_object().is_some_and(Map::is_empty))
    });
}

fn go_type(schema: &'static Value) -> String {
    let (name, target) = schema::resolve(schema);
    if let Some(name) = name {
        return format!("v1.{}", short(name));
    }
    let text = |member: &str| target.get(member).and_then(Value::as_str);
    match (text("type"), text("format")) {
        (Some("string"), Some("byte")) => "[]uint8".to_owned(),
        (Some("integer"), Some("int32")) => "int32".to_owned(),
        (Some("integer"), _) => "int64".to_owned(),
        (Some("number"), _) => "float64".to_owned(),
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("array"), _) => target.get("items").map_or_else(
            || "[]interface {}".to_owned(),
            |item| format!("[]{}", go_type(item)),
        ),
        (Some("object"), _) => target.get("additionalProperties").map_or_else(
            || "map[string]interface {}".to_owned(),
            |item| format!("map[string]{}", go_type(item)),
        ),
        _ => "string".to_owned(),
    }
}

fn reflect_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

fn short(name: &'static str) -> &'static str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the offset at which Go's decoder finds the first fault of a base64 text.
fn corrupt_base64(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut letters = bytes
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    let mut filled = 0;
    while let Some((at, byte)) = letters.next() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => filled = (filled + 1) % 4,
            b'=' if filled < 2 => return Some(at),
            b'=' => return corrupt_padding(&mut letters, 4 - filled - 1, bytes.len()),
            _ => return Some(at),
        }
    }
    (filled > 0).then(|| bytes.len() - filled)
}

/// Expects `missing` more padding letters and then the end.
fn corrupt_padding(
    letters: &mut impl Iterator<Item = (usize, u8)>,
    missing: usize,
    length: usize,
) -> Option<usize> {
    for _ in 0..missing {
        match letters.next() {
            Some((_, b'=')) => {}
            Some((at, _)) => return Some(at),
            None => return Some(length),
        }
    }
    letters.next().map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode(kind: &str, mut value: Value, dialect: Dialect) -> Result<(Vec<String>, Value), String> {
        let resource = crate::builtin::resources()
            .into_iter()
            .find(|resource| resource.kind == kind)
            .expect("a kind");
        object(&resource, &mut value, dialect).map(|unknown| (unknown, value))
    }

    #[test]
    fn type_errors_read_as_recorded() {
        use Dialect::{Json, Unstructured};
        for (kind, value, dialect, text) in [
            (
                "ConfigMap",
                json!({"data": {"n": 5}}),
                Json,
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            (
                "ConfigMap",
                json!({"data": {"n": 1}}),
                Unstructured,
                "cannot convert int64 to string",
            ),
            (
                "ConfigMap",
                json!({"data": {"$retainKeys": ["q"], "q": "1"}}),
                Unstructured,
                "unrecognized type: string",
            ),
            (
                "ConfigMap",
                json!({"binaryData": {"q": "***"}}),
                Json,
                "illegal base64 data at input byte 0",
            ),
            (
                "Secret",
                json!({"data": {"a": "not base64!"}}),
                Json,
                "illegal base64 data at input byte 3",
            ),
            (
                "Lease",
                json!({"spec": {"renewTime": "yesterday"}}),
                Json,
                "parsing time \"yesterday\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"yesterday\" as \"2006\"",
            ),
            (
                "Lease",
                json!({"spec": {"leaseDurationSeconds": 1.5}}),
                Json,
                "json: cannot unmarshal number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
            ),
            (
                "ConfigMap",
                json!({"metadata": {"labels": ["a"]}}),
                Json,
                "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
        ] {
            assert_eq!(decode(kind, value, dialect), Err(text.to_owned()));
        }
    }

    #[test]
    fn metadata_of_custom_resources_has_its_own_words() {
        for (metadata, expected) in [
            (
                json!({"labels": {"k": 5}}),
                Err("json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
            ),
            (
                json!({"labels": ["a"]}),
                Err(
                    "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
                ),
            ),
            (
                json!({"bogus": 1, "name": "a"}),
                Ok(vec!["metadata.bogus".to_owned()]),
            ),
        ] {
            let mut metadata = metadata;
            assert_eq!(object_meta(&mut metadata), expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn unknown_members_are_named_and_removed() {
        let value = json!({"kind": "Role", "metadata": {"name": "r", "foo": 1}, "rules": [{"verbs": ["get"], "zz": 1}], "extra": {}});
        let (unknown, value) = decode("Role", value, Dialect::Json).expect("decodes");
        assert_eq!(unknown, ["extra", "metadata.foo", "rules[0].zz"]);
        assert_eq!(
            value,
            json!({"kind": "Role", "metadata": {"name": "r"}, "rules": [{"verbs": ["get"]}]})
        );
    }

    #[test]
    fn empty_values_are_left_out_as_recorded() {
        for (kind, value, expected) in [
            (
                "ConfigMap",
                json!({"metadata": {"labels": {}, "generation": 0}, "data": {}, "immutable": false}),
                json!({"metadata": {}, "immutable": false}),
            ),
            (
                "ConfigMap",
                json!({"data": {"a": null}}),
                json!({"data": {"a": ""}}),
            ),
            (
                "ServiceAccount",
                json!({"automountServiceAccountToken": false, "imagePullSecrets": null, "secrets": []}),
                json!({"automountServiceAccountToken": false}),
            ),
            (
                "Namespace",
                json!({"metadata": {"name": "x"}}),
                json!({"metadata": {"name": "x"}, "spec": {}, "status": {}}),
            ),
            (
                "ValidatingWebhookConfiguration",
                json!({"webhooks": [{"name": "x", "objectSelector": {}, "clientConfig": {"caBundle": ""}, "admissionReviewVersions": [], "sideEffects": null}]}),
                json!({"webhooks": [{"name": "x", "objectSelector": {}, "clientConfig": {}, "admissionReviewVersions": []}]}),
            ),
            ("Role", json!({}), json!({"rules": null})),
        ] {
            assert_eq!(decode(kind, value, Dialect::Json), Ok((vec![], expected)));
        }
    }

    #[test]
    fn definitions_of_custom_resources_keep_free_form_values() {
        let schema = json!({"type": "object", "nullable": false, "default": {"a": []}, "properties": {"n": {"type": "string", "bogus": 1}}, "additionalProperties": false});
        let value = json!({"spec": {"group": "g", "names": {"kind": "K", "plural": "ks", "singular": ""}, "scope": "Cluster",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
        let (unknown, value) = decode("CustomResourceDefinition", value, Dialect::Json).expect("decodes");
        assert_eq!(
            unknown,
            ["spec.versions[0].schema.openAPIV3Schema.properties.n.bogus"]
        );
        assert_eq!(
            value.pointer("/spec/versions/0/schema/openAPIV3Schema/default"),
            Some(&json!({"a": []}))
        );
        assert_eq!(
            value.pointer("/spec/names"),
            Some(&json!({"kind": "K", "plural": "ks"}))
        );
    }
}
