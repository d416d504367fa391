//! What an object's `metadata` may hold, at the root and in embedded resources.
//!
//! Decides which members of `metadata` are known and of what shape; never judges names, versions or owners of the
//! root object, which is the server's business.

use serde_json::Value;

/// The shape of a known member.
enum Shape {
    Text,
    Time,
    Whole,
    Flag,
    TextMap,
    TextList,
    Owners,
    Managed,
}

/// Returns the shape of a member of `ObjectMeta`.
fn shape(name: &str) -> Option<Shape> {
    Some(match name {
        "name" | "generateName" | "namespace" | "selfLink" | "uid" | "resourceVersion" => Shape::Text,
        "creationTimestamp" | "deletionTimestamp" => Shape::Time,
        "generation" | "deletionGracePeriodSeconds" => Shape::Whole,
        "labels" | "annotations" => Shape::TextMap,
        "finalizers" => Shape::TextList,
        "ownerReferences" => Shape::Owners,
        "managedFields" => Shape::Managed,
        _ => return None,
    })
}

fn owner_shape(name: &str) -> Option<Shape> {
    Some(match name {
        "apiVersion" | "kind" | "name" | "uid" => Shape::Text,
        "controller" | "blockOwnerDeletion" => Shape::Flag,
        _ => return None,
    })
}

fn managed_known(name: &str) -> bool {
    matches!(
        name,
        "manager" | "operation" | "apiVersion" | "time" | "fieldsType" | "fieldsV1" | "subresource"
    )
}

/// All members of `ObjectMeta`.
pub const FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Tells whether a path below `metadata` exists; `names` are the members on the way, list positions left out.
pub(crate) fn knows(names: &[&str]) -> bool {
    let [first, rest @ ..] = names else { return true };
    match (shape(first), rest) {
        (Some(_), []) => true,
        (Some(Shape::TextMap), rest) => rest.len() == 1,
        (Some(Shape::Owners), [name]) => owner_shape(name).is_some(),
        (Some(Shape::Managed), [name, deeper @ ..]) => {
            managed_known(name) && (deeper.is_empty() || *name == "fieldsV1")
        }
        (
            None
            | Some(Shape::Text | Shape::Time | Shape::Whole | Shape::Flag | Shape::TextList | Shape::Owners),
            _,
        ) => false,
    }
}

/// Removes unknown members from a `metadata` value; their paths, below `path`, go to `removed`.
pub(crate) fn prune(metadata: &mut Value, path: &str, removed: &mut Vec<String>) {
    let Some(members) = metadata.as_object_mut() else {
        return;
    };
    members.retain(|name, member| {
        match shape(name) {
            None => {
                removed.push(format!("{path}.{name}"));
                return false;
            }
            Some(Shape::Owners) => {
                prune_items(member, path, name, removed, |name| owner_shape(name).is_some());
            }
            Some(Shape::Managed) => prune_items(member, path, name, removed, managed_known),
            Some(
                Shape::Text | Shape::Time | Shape::Whole | Shape::Flag | Shape::TextMap | Shape::TextList,
            ) => {}
        }
        true
    });
}

fn prune_items(
    list: &mut Value,
    path: &str,
    list_name: &str,
    removed: &mut Vec<String>,
    known: fn(&str) -> bool,
) {
    let Some(items) = list.as_array_mut() else { return };
    for (at, item) in items.iter_mut().enumerate() {
        let Some(members) = item.as_object_mut() else {
            continue;
        };
        members.retain(|name, _| {
            let keep = known(name);
            if !keep {
                removed.push(format!("{path}.{list_name}[{at}].{name}"));
            }
            keep
        });
    }
}

/// Removes the members that the API server does not write: it reads the metadata of an embedded resource into a type, in which what is
/// null or empty is the same as what is not there. What has the wrong type stays, to be refused.
pub(crate) fn drop_empty(metadata: &mut Value) {
    let Some(members) = metadata.as_object_mut() else {
        return;
    };
    members.retain(|name, member| match (name.as_str(), &*member) {
        (_, Value::Null) => false,
        (_, Value::String(text)) => !text.is_empty(),
        (_, Value::Object(entries)) => !entries.is_empty(),
        (_, Value::Array(items)) => !items.is_empty(),
        ("generation", Value::Number(number)) => number.as_i64() != Some(0),
        (_, Value::Bool(_) | Value::Number(_)) => true,
    });
}

/// Returns the first type fault of a `metadata` value in the words of Go's JSON decoder, if there is one.
pub(crate) fn type_fault(metadata: &Value) -> Option<String> {
    let members = match metadata {
        Value::Object(members) => members,
        Value::Null => return None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Some(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                go_kind(metadata)
            ));
        }
    };
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|left, right| left.0.cmp(right.0));
    sorted
        .into_iter()
        .find_map(|(name, member)| member_fault("ObjectMeta", name, &shape(name)?, member))
}

fn member_fault(owner: &str, name: &str, shape: &Shape, member: &Value) -> Option<String> {
    let fault = |found: &Value, wanted: &str| {
        Some(format!(
            "json: cannot unmarshal {} into Go struct field {owner}.{name} of type {wanted}",
            go_kind(found)
        ))
    };
    match (shape, member) {
        (_, Value::Null) | (Shape::Text | Shape::Time, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => {
            None
        }
        (Shape::Text, _) => fault(member, "string"),
        (Shape::Time, _) => Some(format!(
            "json: cannot unmarshal {} into Go value of type string",
            go_kind(member)
        )),
        (Shape::Flag, _) => fault(member, "bool"),
        (Shape::Whole, Value::Number(number)) if number.is_i64() => None,
        (Shape::Whole, Value::Number(number)) => Some(format!(
            "json: cannot unmarshal number {number} into Go struct field {owner}.{name} of type int64"
        )),
        (Shape::Whole, _) => fault(member, "int64"),
        (Shape::TextMap, Value::Object(entries)) => entries
            .values()
            .find(|v| !is_text(v))
            .and_then(|v| fault(v, "string")),
        (Shape::TextMap, _) => fault(member, "map[string]string"),
        (Shape::TextList, Value::Array(items)) => items
            .iter()
            .find(|v| !is_text(v))
            .and_then(|v| fault(v, "string")),
        (Shape::TextList, _) => fault(member, "[]string"),
        (Shape::Owners, Value::Array(items)) => items.iter().find_map(owner_fault),
        (Shape::Owners, _) => fault(member, "[]v1.OwnerReference"),
        (Shape::Managed, Value::Array(_)) => None,
        (Shape::Managed, _) => fault(member, "[]v1.ManagedFieldsEntry"),
    }
}

fn owner_fault(item: &Value) -> Option<String> {
    let Some(members) = item.as_object() else {
        let kind = go_kind(item);
        return (!item.is_null()).then(|| {
            format!("json: cannot unmarshal {kind} into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference")
        });
    };
    members.iter().find_map(|(name, member)| {
        let wanted = owner_shape(name)?;
        member_fault("OwnerReference.ownerReferences", name, &wanted, member)
    })
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Null)
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn type_faults_read_like_the_go_decoder() {
        let rows = [
            (
                json!({"name": 5}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
            ),
            (
                json!({"labels": {"k": 5}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            ),
            (
                json!({"labels": ["a"]}),
                "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
            ),
        ];
        for (metadata, text) in rows {
            assert_eq!(type_fault(&metadata).as_deref(), Some(text));
        }
        assert_eq!(
            type_fault(&json!({"name": "a", "labels": null, "generation": 1, "bogus": 5})),
            None
        );
    }

    #[test]
    fn what_is_empty_is_not_written() {
        let mut metadata = json!({"name": "a", "namespace": "", "creationTimestamp": null, "labels": {}, "annotations": {"k": ""},
            "finalizers": [], "generation": 0, "deletionGracePeriodSeconds": 0});
        drop_empty(&mut metadata);
        assert_eq!(
            metadata,
            json!({"name": "a", "annotations": {"k": ""}, "deletionGracePeriodSeconds": 0})
        );
    }

    #[test]
    fn unknown_members_are_removed_and_named() {
        let mut metadata = json!({"name": "a", "bogus": 1, "ownerReferences": [{"uid": "u", "zz": 1}]});
        let mut removed = Vec::new();
        prune(&mut metadata, "metadata", &mut removed);
        assert_eq!(removed, ["metadata.bogus", "metadata.ownerReferences[0].zz"]);
        assert_eq!(metadata, json!({"name": "a", "ownerReferences": [{"uid": "u"}]}));
    }
}
