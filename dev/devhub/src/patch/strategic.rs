//! Strategic merge patch: merge patch that knows which lists of a kind are merged by key.
//!
//! Decides what such a patch makes of a document. Which lists merge is said by a [`Node`] (see [`super::kinds`]); the
//! directives are `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…` and `$setElementOrder/…`.

use serde_json::{Map, Value};

use super::go_json::{self, type_name};
use super::kinds::{Field, Node};
use super::{invalid_patch, json::Decoding, lists, rejected};
use crate::ApiError;

pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// A decoded strategic merge patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategicPatch {
    /// The patch itself, an object.
    pub value: Value,
    /// Findings for `fieldValidation` Warn and Strict, such as `duplicate field "data.a"`.
    pub strict: Vec<String>,
}

impl StrategicPatch {
    /// Returns the 422 for a patched object that cannot be decoded; Kubernetes quotes the patch in it.
    pub fn undecodable(&self, fault: &str) -> ApiError {
        invalid_patch(&kubernetes::print::plain(&self.value), fault)
    }
}

/// Why a strategic merge patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A directive is malformed: 400 with the text.
    Format(&'static str),
    /// `$patch` has an unknown value where lists or objects merge: the bare 422.
    Directive,
    /// Anything else: 500 with the text and without a reason.
    Other(String),
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Format(text) => Self::bad_request(text),
            Fault::Directive => rejected(),
            Fault::Other(text) => Self::new(500, "", text),
        }
    }
}

/// Decodes the body of a strategic merge patch.
pub fn decode(body: &[u8], decoding: Decoding) -> Result<StrategicPatch, ApiError> {
    let duplicates = go_json::check(body).map_err(ApiError::bad_request)?;
    let value: Value =
        serde_json::from_slice(body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let value = match value {
        Value::Object(_) => value,
        Value::Null => Value::Object(Map::new()),
        other => {
            let found = type_name(&other);
            return Err(ApiError::bad_request(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let strict = match decoding {
        Decoding::Checked => duplicates
            .iter()
            .map(|path| format!("duplicate field \"{path}\""))
            .collect(),
        Decoding::Plain => Vec::new(),
    };
    Ok(StrategicPatch { value, strict })
}

/// Applies `patch` to a copy of `original`, merging lists as `kind` says.
pub fn apply(original: &Value, patch: &Value, kind: &Node) -> Result<Value, ApiError> {
    let target = original.as_object().cloned().unwrap_or_default();
    let patch = patch.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(merge_object(target, patch, kind)?))
}

/// Merges the object `patch` into `original`.
pub(super) fn merge_object(
    original: Map<String, Value>,
    mut patch: Map<String, Value>,
    node: &Node,
) -> Result<Map<String, Value>, Fault> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            Some("merge") => merge_members(original, patch, node),
            Some(_) | None => Err(Fault::Directive),
        };
    }
    merge_members(original, patch, node)
}

fn merge_members(
    mut target: Map<String, Value>,
    mut patch: Map<String, Value>,
    node: &Node,
) -> Result<Map<String, Value>, Fault> {
    retain_keys(&mut target, &mut patch)?;
    merge_ordered_lists(&mut target, &mut patch, node)?;
    for (key, value) in patch {
        if let Some(rest) = key.strip_prefix(DELETE_FROM) {
            let list = rest
                .strip_prefix('/')
                .ok_or(Fault::Format("invalid patch format of primitive list"))?;
            if let (Some(Value::Array(items)), Value::Array(gone)) = (target.get_mut(list), value) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if value.is_null() {
            target.remove(&key);
            continue;
        }
        let merged = merge_value(target.remove(&key), value, node.field(&key))?;
        if let Some(merged) = merged {
            target.insert(key, merged);
        }
    }
    Ok(target)
}

/// Merges one member; `None` when the patch says that it goes.
fn merge_value(old: Option<Value>, patch: Value, field: Field) -> Result<Option<Value>, Fault> {
    match (old, patch) {
        (Some(Value::Object(old)), Value::Object(patch)) => {
            Ok(Some(Value::Object(merge_object(old, patch, field.node())?)))
        }
        (Some(Value::Array(old)), Value::Array(patch)) => match field {
            Field::Merge { .. } | Field::Set => Ok(Some(Value::Array(lists::merge(old, patch, field)?))),
            Field::Plain | Field::Object(_) => Ok(Some(Value::Array(patch))),
        },
        (_, patch) => Ok(without_directives(patch)),
    }
}

/// Returns a value that enters the document as a whole: without nulls in objects and without `$patch` directives.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(mut map) => {
            if map.remove(PATCH).is_some_and(|directive| directive == "delete") {
                return None;
            }
            let members = map.into_iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(
                members
                    .filter_map(|(key, value)| Some((key, without_directives(value)?)))
                    .collect(),
            ))
        }
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_list_directives).collect(),
        )),
        other => Some(other),
    }
}

fn without_list_directives(item: Value) -> Option<Value> {
    let bare_directive = item
        .as_object()
        .is_some_and(|map| map.len() == 1 && map.contains_key(PATCH));
    if bare_directive {
        None
    } else {
        without_directives(item)
    }
}

fn retain_keys(target: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Fault> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = Fault::Format("invalid patch format of retainKeys");
    let Value::Array(kept) = directive else {
        return Err(malformed);
    };
    let kept: Vec<&str> = kept.iter().filter_map(Value::as_str).collect();
    for (key, value) in &*patch {
        let directive = key.starts_with(DELETE_FROM) || key.starts_with(ELEMENT_ORDER);
        if !value.is_null() && !directive && !kept.contains(&key.as_str()) {
            return Err(malformed);
        }
    }
    target.retain(|key, _| kept.contains(&key.as_str()));
    Ok(())
}

/// Takes every list that comes with a `$setElementOrder` out of the patch and merges it in that order.
fn merge_ordered_lists(
    target: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    node: &Node,
) -> Result<(), Fault> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let order = patch.remove(&directive);
        let name = directive
            .strip_prefix(ELEMENT_ORDER)
            .and_then(|rest| rest.strip_prefix('/'))
            .ok_or(Fault::Format("invalid patch format of setElementOrder list"))?;
        let Some(Value::Array(order)) = order else {
            return Err(Fault::Format("invalid patch format of setElementOrder list"));
        };
        let field = node.field(name);
        let patched = patch.remove(name).map(list).transpose()?;
        let live = target.remove(name).map(list).transpose()?;
        lists::check_order(patched.as_deref().unwrap_or_default(), &order, field)?;
        let merged = match (live.clone(), patched) {
            (None, None) => continue,
            (Some(live), None) => live,
            (None, Some(patched)) => patched.into_iter().filter_map(without_list_directives).collect(),
            (Some(live), Some(patched)) => match field {
                Field::Merge { .. } | Field::Set => lists::merge(live, patched, field)?,
                Field::Plain | Field::Object(_) => patched,
            },
        };
        let ordered = lists::order(merged, &order, &live.unwrap_or_default(), field)?;
        target.insert(name.to_owned(), Value::Array(ordered));
    }
    Ok(())
}

fn list(value: Value) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(Fault::Other(format!(
            "expected a []interface {{}}, but received a {}",
            type_name(&other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::patch::kinds;

    static ENV: Node = Node(&[]);
    static CONTAINER: Node = Node(&[
        (
            "env",
            Field::Merge {
                key: "name",
                item: &ENV,
            },
        ),
        (
            "ports",
            Field::Merge {
                key: "containerPort",
                item: &ENV,
            },
        ),
    ]);
    static POD: Node = Node(&[
        (
            "containers",
            Field::Merge {
                key: "name",
                item: &CONTAINER,
            },
        ),
        (
            "imagePullSecrets",
            Field::Merge {
                key: "name",
                item: &ENV,
            },
        ),
        (
            "volumes",
            Field::Merge {
                key: "name",
                item: &ENV,
            },
        ),
    ]);

    fn names(value: &Value) -> String {
        let items = value.as_array().expect("a list");
        items
            .iter()
            .map(|item| item["name"].as_str().or(item.as_str()).expect("a name"))
            .collect::<Vec<_>>()
            .join(",")
    }

    #[test]
    fn metadata_lists_behave_as_recorded() {
        let live = json!({"metadata": {"finalizers": ["e/a", "e/b"], "ownerReferences": [{"uid": "a", "name": "o"}]}});
        for (patch, pointer, expected) in [
            (
                json!({"metadata": {"finalizers": ["e/c"]}}),
                "/metadata/finalizers",
                json!(["e/c", "e/a", "e/b"]),
            ),
            (
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["e/a", "e/none"]}}),
                "/metadata/finalizers",
                json!(["e/b"]),
            ),
            (
                json!({"metadata": {"$setElementOrder/finalizers": ["e/b", "e/a"], "finalizers": ["e/b", "e/a"]}}),
                "/metadata/finalizers",
                json!(["e/b", "e/a"]),
            ),
            (
                json!({"metadata": {"ownerReferences": [{"uid": "f", "name": "n"}]}}),
                "/metadata/ownerReferences",
                json!([{"uid": "f", "name": "n"}, {"uid": "a", "name": "o"}]),
            ),
            (
                json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "a"}]}}),
                "/metadata/ownerReferences",
                json!([]),
            ),
        ] {
            let patched = apply(&live, &patch, kinds::of("", "ConfigMap")).expect("applies");
            assert_eq!(patched.pointer(pointer), Some(&expected), "{patch}");
        }
    }

    #[test]
    fn patches_that_kubectl_computes_apply() {
        let live = json!({"metadata": {"finalizers": ["x.io/a"]}, "data": {"a": "1", "b": "2"}});
        let patch = json!({"data": {"a": "2", "b": null}, "metadata": {
            "$deleteFromPrimitiveList/finalizers": ["x.io/a"], "$setElementOrder/finalizers": ["x.io/b"], "finalizers": ["x.io/b"]}});
        let expected = json!({"metadata": {"finalizers": ["x.io/b"]}, "data": {"a": "2"}});
        assert_eq!(apply(&live, &patch, kinds::of("", "ConfigMap")), Ok(expected));
        let live = json!({"secrets": [{"name": "a"}, {"name": "b"}]});
        let patch = json!({"$setElementOrder/secrets": [{"name": "c"}, {"name": "a"}],
            "secrets": [{"name": "c"}, {"$patch": "delete", "name": "b"}]});
        let expected = json!({"secrets": [{"name": "c"}, {"name": "a"}]});
        assert_eq!(
            apply(&live, &patch, kinds::of("", "ServiceAccount")),
            Ok(expected)
        );
    }

    #[test]
    fn maps_merge_replace_and_vanish() {
        let live = json!({"data": {"a": "1", "b": "2"}});
        for (patch, expected) in [
            (
                json!({"data": {"a": null, "c": "3"}}),
                json!({"data": {"b": "2", "c": "3"}}),
            ),
            (
                json!({"data": {"$patch": "replace", "z": "1"}}),
                json!({"data": {"z": "1"}}),
            ),
            (json!({"data": {"$patch": "delete"}}), json!({"data": {}})),
            (
                json!({"other": {"$patch": "bogus"}}),
                json!({"data": {"a": "1", "b": "2"}, "other": {}}),
            ),
            (
                json!({"data": {"$retainKeys": ["b"], "b": "3"}}),
                json!({"data": {"b": "3"}}),
            ),
        ] {
            assert_eq!(
                apply(&live, &patch, kinds::of("", "ConfigMap")),
                Ok(expected),
                "{patch}"
            );
        }
    }

    #[test]
    fn directives_of_new_members_stay_except_for_the_patch_directive() {
        let patch = StrategicPatch {
            value: json!({"data": {"$retainKeys": ["q"], "q": "1"}}),
            strict: vec![],
        };
        let patched = apply(&json!({}), &patch.value, kinds::of("", "ConfigMap"));
        assert_eq!(patched, Ok(json!({"data": {"$retainKeys": ["q"], "q": "1"}})));
        let error = patch.undecodable("unrecognized type: string");
        assert_eq!(
            error.message,
            " \"\" is invalid: patch: Invalid value: \"map[data:map[$retainKeys:[q] q:1]]\": unrecognized type: string"
        );
    }

    #[test]
    fn pod_lists_behave_as_recorded() {
        let live = json!({
            "containers": [{"name": "c1", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                            "ports": [{"containerPort": 80}]}, {"name": "c2", "image": "j:1", "args": ["x", "y"]}],
            "imagePullSecrets": [{"name": "p1"}], "volumes": [{"name": "v", "emptyDir": {}}],
        });
        let apply = |patch: Value| super::apply(&live, &patch, &POD);
        let patched = apply(json!({"containers": [{"name": "c1", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}],
                                   "ports": [{"containerPort": 81, "name": "x"}]}]})).expect("applies");
        assert_eq!(names(&patched["containers"]), "c1,c2");
        assert_eq!(
            patched["containers"][0]["env"],
            json!([{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}])
        );
        assert_eq!(
            patched["containers"][0]["ports"],
            json!([{"containerPort": 81, "name": "x"}, {"containerPort": 80}])
        );
        let patched = apply(
            json!({"$setElementOrder/containers": [{"name": "c2"}, {"name": "c3"}, {"name": "c1"}],
                                   "containers": [{"name": "c3", "image": "k:1"}]}),
        )
        .expect("applies");
        assert_eq!(names(&patched["containers"]), "c2,c3,c1");
        let patched = apply(json!({"containers": [{"name": "c2", "args": ["z"]}]})).expect("applies");
        assert_eq!(
            patched["containers"][1],
            json!({"name": "c2", "image": "j:1", "args": ["z"]})
        );
        let patched = apply(json!({"containers": [{"name": "c2", "$patch": "delete"}]})).expect("applies");
        assert_eq!(names(&patched["containers"]), "c1");
        let patched =
            apply(json!({"containers": [{"$patch": "replace"}, {"name": "only"}]})).expect("applies");
        assert_eq!(patched["containers"], json!([{"name": "only"}]));
        let patched = apply(json!({"imagePullSecrets": [{"name": "p2"}]})).expect("applies");
        assert_eq!(names(&patched["imagePullSecrets"]), "p2,p1");
        let patched = apply(
            json!({"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "cm"}}]}),
        );
        assert_eq!(
            patched.expect("applies")["volumes"],
            json!([{"name": "v", "configMap": {"name": "cm"}}])
        );
    }

    #[test]
    fn faults_answer_as_recorded() {
        let live = json!({"containers": [{"name": "c1"}], "data": {"a": "1"}});
        for (patch, code, message) in [
            (
                json!({"containers": [{"image": "noname"}]}),
                500,
                "map: map[image:noname] does not contain declared merge key: name",
            ),
            (
                json!({"data": {"$retainKeys": "x"}}),
                400,
                "invalid patch format of retainKeys",
            ),
            (
                json!({"data": {"$retainKeys": ["b"], "c": "1"}}),
                400,
                "invalid patch format of retainKeys",
            ),
            (
                json!({"data": {"$patch": "bogus"}}),
                422,
                "the server rejected our request due to an error in our request",
            ),
        ] {
            let error = apply(&live, &patch, &POD).expect_err("a fault");
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
        let error = decode(b"[1]", Decoding::Checked).expect_err("no object");
        assert_eq!(
            error.message,
            "json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
