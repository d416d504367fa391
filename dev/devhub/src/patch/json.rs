//! JSON patch in the dialect of the library that Kubernetes uses, which is laxer than RFC 6902.
//!
//! Decides what a list of operations makes of a document. `test` with null passes on a missing member, `replace` of a missing
//! member adds it, `copy` of one yields null, indices may be negative, numbers are compared by their text (`1` is not `1.0`).

use serde_json::{Map, Value};

use super::go_json::{self, type_name};
use super::pointer::{Place, find};
use super::{numbers, rejected};
use crate::ApiError;

/// Operations that one patch may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// Bytes that all `copy` operations of one patch may produce.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// A decoded JSON patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPatch {
    operations: Vec<Map<String, Value>>,
    /// Findings for `fieldValidation` Warn and Strict, such as `json patch unknown field "[1].extra"`.
    pub strict: Vec<String>,
}

/// How strictly a body is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoding {
    /// `fieldValidation` is Warn or Strict: unknown and duplicate members are noted.
    Checked,
    /// `fieldValidation` is Ignore, or the patch comes from a webhook.
    Plain,
}

/// Decodes the body of a JSON patch.
pub fn decode(body: &[u8], decoding: Decoding) -> Result<JsonPatch, ApiError> {
    let (prefix, target) = match decoding {
        Decoding::Checked => ("error decoding patch: ", "[]handlers.jsonPatchOp"),
        Decoding::Plain => ("", "jsonpatch.Patch"),
    };
    let fault = |text: String| ApiError::bad_request(format!("{prefix}{text}"));
    let duplicates = go_json::check(body).map_err(fault)?;
    let value: Value = serde_json::from_slice(body).map_err(|error| fault(error.to_string()))?;
    let items = match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => {
            return Err(fault(format!(
                "json: cannot unmarshal {} into Go value of type {target}",
                type_name(&other)
            )));
        }
    };
    let mut strict = Vec::new();
    if decoding == Decoding::Checked {
        strict.extend(
            duplicates
                .iter()
                .map(|path| format!("json patch duplicate field \"{path}\"")),
        );
        for (index, item) in items.iter().enumerate() {
            strict.extend(unknown_members(index, item).map_err(fault)?);
        }
    }
    if items.len() > MAX_OPERATIONS {
        return Err(ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                items.len()
            ),
        ));
    }
    let mut operations = Vec::with_capacity(items.len());
    for item in items {
        operations.push(match item {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            other => {
                let text = format!(
                    "json: cannot unmarshal {} into Go value of type jsonpatch.Operation",
                    type_name(&other)
                );
                return Err(fault(text));
            }
        });
    }
    Ok(JsonPatch { operations, strict })
}

fn unknown_members(index: usize, item: &Value) -> Result<Vec<String>, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Ok(Vec::new()),
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type handlers.jsonPatchOp",
                type_name(other)
            ));
        }
    };
    let mut unknown = Vec::new();
    for (name, value) in map {
        match (name.as_str(), value) {
            ("op" | "path" | "from", Value::String(_) | Value::Null) | ("value", _) => {}
            ("op" | "path" | "from", other) => {
                let found = type_name(other);
                return Err(format!(
                    "json: cannot unmarshal {found} into Go struct field jsonPatchOp.{name} of type string"
                ));
            }
            _ => unknown.push(format!("json patch unknown field \"[{index}].{name}\"")),
        }
    }
    Ok(unknown)
}

/// Applies `patch` to a copy of `document`; any operation that does not fit yields the bare 422 of Kubernetes.
pub fn apply(document: &Value, patch: &JsonPatch) -> Result<Value, ApiError> {
    apply_or_explain(document, patch).map_err(|_text| rejected())
}

/// Applies `patch` to a copy of `document`; the error is the library's text, as admission webhooks' patches quote it,
/// for instance `testing value /spec/size failed: test failed`.
pub fn apply_or_explain(document: &Value, patch: &JsonPatch) -> Result<Value, String> {
    let mut document = document.clone();
    numbers::normalize(&mut document);
    let mut copied = 0;
    for operation in &patch.operations {
        Step {
            operation,
            document: &mut document,
        }
        .run(&mut copied)?;
    }
    numbers::normalize(&mut document);
    Ok(document)
}

struct Step<'a> {
    operation: &'a Map<String, Value>,
    document: &'a mut Value,
}

impl Step<'_> {
    fn run(&mut self, copied: &mut usize) -> Result<(), String> {
        match self.text("op") {
            Some("add") => self.add(),
            Some("remove") => self.remove(),
            Some("replace") => self.replace(),
            Some("move") => self.relocate(),
            Some("copy") => self.copy(copied),
            Some("test") => self.test(),
            Some(_) | None => Err(format!(
                "Unexpected kind: {}",
                self.text("op").unwrap_or("unknown")
            )),
        }
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.operation.get(member).and_then(Value::as_str)
    }

    fn value(&self) -> Value {
        self.operation.get("value").cloned().unwrap_or(Value::Null)
    }

    fn path(&self, operation: &str) -> Result<String, String> {
        self.text("path")
            .map(str::to_owned)
            .ok_or_else(|| format!("{operation} operation failed to decode path: missing value"))
    }

    fn from(&self, operation: &str) -> Result<String, String> {
        self.text("from")
            .map(str::to_owned)
            .ok_or_else(|| format!("{operation} operation failed to decode from: missing value"))
    }

    fn add(&mut self) -> Result<(), String> {
        let (path, value) = (self.path("add")?, self.value());
        let mut place = find(self.document, &path).ok_or_else(|| {
            format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
        })?;
        place
            .add(value)
            .map_err(|cause| format!("error in add for path: '{path}': {cause}"))
    }

    fn remove(&mut self) -> Result<(), String> {
        let path = self.path("remove")?;
        let mut place = find(self.document, &path).ok_or_else(|| {
            format!("remove operation does not apply: doc is missing path: \"{path}\": missing value")
        })?;
        place
            .remove()
            .map(drop)
            .map_err(|cause| format!("error in remove for path: '{path}': {cause}"))
    }

    fn replace(&mut self) -> Result<(), String> {
        let (path, value) = (self.path("replace")?, self.value());
        if path.is_empty() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                return Err("replace operation value must be object or array".to_owned());
            }
            *self.document = value;
            return Ok(());
        }
        let mut place = find(self.document, &path).ok_or_else(|| {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        })?;
        if place.read().is_err() {
            return Err(format!(
                "replace operation does not apply: doc is missing key: {path}: missing value"
            ));
        }
        place
            .set(value)
            .map_err(|cause| format!("error in remove for path: '{path}': {cause}"))
    }

    fn relocate(&mut self) -> Result<(), String> {
        let from = self.from("move")?;
        let mut source = find(self.document, &from).ok_or_else(|| {
            format!("move operation does not apply: doc is missing from path: {from}: missing value")
        })?;
        let value = source
            .remove()
            .map_err(|cause| format!("error in move for path: '{}': {cause}", source.key))?;
        let path = self.path("move")?;
        let mut target = find(self.document, &path).ok_or_else(|| {
            format!("move operation does not apply: doc is missing destination path: {path}: missing value")
        })?;
        target
            .add(value)
            .map_err(|cause| format!("error in move for path: '{path}': {cause}"))
    }

    fn copy(&mut self, copied: &mut usize) -> Result<(), String> {
        let from = self.from("copy")?;
        let source = find(self.document, &from).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing from path: {from}: missing value")
        })?;
        let value = read(&source, &from, "copy")?.cloned().unwrap_or(Value::Null);
        *copied = copied.saturating_add(value.to_string().len());
        if *copied > MAX_COPIED {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
            ));
        }
        let path = self.path("copy")?;
        let mut target = find(self.document, &path).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing destination path: {path}: missing value")
        })?;
        target
            .add(value)
            .map_err(|cause| format!("error while adding value during copy: {cause}"))
    }

    fn test(&mut self) -> Result<(), String> {
        let (path, wanted) = (self.path("test")?, self.value());
        if path.is_empty() {
            let equal = *self.document == wanted;
            return if equal { Ok(()) } else { Err(failed(&path)) };
        }
        let place = find(self.document, &path).ok_or_else(|| {
            format!("test operation does not apply: is missing path: {path}: missing value")
        })?;
        let equal = match read(&place, &path, "test")? {
            None => wanted.is_null(),
            Some(found) => *found == wanted,
        };
        if equal { Ok(()) } else { Err(failed(&path)) }
    }
}

fn read<'a>(place: &'a Place<'_>, path: &str, operation: &str) -> Result<Option<&'a Value>, String> {
    place
        .read()
        .map_err(|cause| format!("error in {operation} for path: '{path}': {cause}"))
}

fn failed(path: &str) -> String {
    format!("testing value {path} failed: test failed")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(document: &Value, patch: &Value) -> Result<Value, String> {
        let patch = decode(patch.to_string().as_bytes(), Decoding::Checked).map_err(|error| error.message)?;
        apply_or_explain(document, &patch)
    }

    /// Patches a small document and returns its list `l`.
    fn lists(patch: &Value) -> Option<Value> {
        let doc = json!({"a": {"n": 1, "f": 1.0, "s~/x": "esc", "z": null}, "l": ["x", "y"]});
        patched(&doc, patch).ok().map(|mut doc| doc["l"].take())
    }

    #[test]
    fn lists_change_as_recorded() {
        for (name, patch, expected) in [
            (
                "append",
                json!([{"op": "add", "path": "/l/-", "value": "z"}]),
                Some(json!(["x", "y", "z"])),
            ),
            (
                "insert",
                json!([{"op": "add", "path": "/l/0", "value": "z"}]),
                Some(json!(["z", "x", "y"])),
            ),
            (
                "negative add is after the last",
                json!([{"op": "add", "path": "/l/-1", "value": "z"}]),
                Some(json!(["x", "y", "z"])),
            ),
            (
                "negative remove",
                json!([{"op": "remove", "path": "/l/-1"}]),
                Some(json!(["x"])),
            ),
            (
                "negative replace",
                json!([{"op": "replace", "path": "/l/-1", "value": "z"}]),
                Some(json!(["x", "z"])),
            ),
            (
                "index beyond",
                json!([{"op": "add", "path": "/l/99", "value": "z"}]),
                None,
            ),
            (
                "replace beyond",
                json!([{"op": "replace", "path": "/l/99", "value": "z"}]),
                None,
            ),
        ] {
            assert_eq!(lists(&patch), expected, "{name}");
        }
    }

    #[test]
    fn tests_and_faults_behave_as_recorded() {
        for (name, patch, expected) in [
            (
                "test missing is null",
                json!([{"op": "test", "path": "/nope", "value": null}]),
                Some(json!(["x", "y"])),
            ),
            (
                "test missing is not one",
                json!([{"op": "test", "path": "/nope", "value": 1}]),
                None,
            ),
            (
                "test below missing",
                json!([{"op": "test", "path": "/nope/x", "value": null}]),
                None,
            ),
            (
                "one is not one point zero",
                json!([{"op": "test", "path": "/a/n", "value": 1.0}]),
                None,
            ),
            (
                "stored floats are integers",
                json!([{"op": "test", "path": "/a/f", "value": 1}]),
                Some(json!(["x", "y"])),
            ),
            (
                "escapes",
                json!([{"op": "test", "path": "/a/s~0~1x", "value": "esc"}]),
                Some(json!(["x", "y"])),
            ),
            ("unknown operation", json!([{"op": "bogus", "path": "/l"}]), None),
            ("no operation", json!([{"path": "/l"}]), None),
            ("no path", json!([{"op": "add", "value": 1}]), None),
            ("no from", json!([{"op": "move", "path": "/l"}]), None),
            (
                "add below missing",
                json!([{"op": "add", "path": "/no/x", "value": 1}]),
                None,
            ),
            ("remove missing", json!([{"op": "remove", "path": "/no"}]), None),
            (
                "no leading slash adds at the top",
                json!([{"op": "add", "path": "l/size", "value": 1}]),
                Some(json!(["x", "y"])),
            ),
        ] {
            assert_eq!(lists(&patch), expected, "{name}");
        }
    }

    #[test]
    fn copy_of_nothing_is_null_and_replace_of_nothing_adds() {
        let doc = json!({"a": {}});
        assert_eq!(
            patched(&doc, &json!([{"op": "copy", "from": "/a/x", "path": "/b"}])),
            Ok(json!({"a": {}, "b": null}))
        );
        assert_eq!(
            patched(&doc, &json!([{"op": "replace", "path": "/a/x", "value": 1}])),
            Ok(json!({"a": {"x": 1}}))
        );
        assert_eq!(
            patched(&doc, &json!([{"op": "replace", "path": "", "value": {"b": 1}}])),
            Ok(json!({"b": 1}))
        );
        assert_eq!(
            patched(&doc, &json!([{"op": "add", "path": "/b"}])),
            Ok(json!({"a": {}, "b": null}))
        );
    }

    #[test]
    fn texts_are_those_that_webhook_errors_quote() {
        let doc = json!({"spec": {"size": 1}});
        for (patch, text) in [
            (
                json!([{"op": "remove", "path": "/nope/x"}]),
                "remove operation does not apply: doc is missing path: \"/nope/x\": missing value",
            ),
            (
                json!([{"op": "test", "path": "/spec/size", "value": 5}]),
                "testing value /spec/size failed: test failed",
            ),
        ] {
            assert_eq!(patched(&doc, &patch), Err(text.to_owned()));
        }
    }

    #[test]
    fn bad_bodies_answer_as_recorded() {
        for (body, code, message) in [
            (
                r#"{"op":"add"}"#,
                400,
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                r#""x""#,
                400,
                "error decoding patch: json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp",
            ),
            ("[{", 400, "error decoding patch: unexpected end of JSON input"),
        ] {
            let error = decode(body.as_bytes(), Decoding::Checked).expect_err(body);
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
        let many = json!(vec![
            json!({"op": "test", "path": "/kind", "value": "Widget"});
            10_001
        ])
        .to_string();
        let error = decode(many.as_bytes(), Decoding::Checked).expect_err("too many");
        assert_eq!(
            error.message,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        );
        assert_eq!(
            (error.code, error.reason.as_str(), error.details),
            (413, "RequestEntityTooLarge", None)
        );
    }

    #[test]
    fn members_that_no_operation_has_are_noted() {
        let body = br#"[{"op":"add","path":"/a","value":1},{"op":"add","path":"/b","value":1,"extra":1}]"#;
        let patch = decode(body, Decoding::Checked).expect("a patch");
        assert_eq!(patch.strict, ["json patch unknown field \"[1].extra\""]);
    }
}
