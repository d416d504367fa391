//! Texts of failures that are about objects.
//!
//! Decides how a failure reads.

use schema::FieldError;
use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::resource::Resource;

/// Returns `details` of a status about an object: kind is the plural.
fn details(resource: &Resource, name: &str) -> Value {
    let mut details = Map::new();
    let mut put = |key: &str, text: &str| {
        if !text.is_empty() {
            details.insert(key.to_owned(), Value::String(text.to_owned()));
        }
    };
    put("name", name);
    put("group", &resource.group);
    put("kind", &resource.plural);
    Value::Object(details)
}

/// Returns a 404.
pub(crate) fn not_found(resource: &Resource, name: &str) -> ApiError {
    let message = format!("{} \"{name}\" not found", resource.group_resource());
    ApiError::new(404, "NotFound", message).with_details(details(resource, name))
}

/// Returns a 409 for a name that is taken.
pub(crate) fn already_exists(resource: &Resource, name: &str, deleting: bool) -> ApiError {
    let prefix = if deleting { "object is being deleted: " } else { "" };
    let message = format!("{prefix}{} \"{name}\" already exists", resource.group_resource());
    ApiError::new(409, "AlreadyExists", message).with_details(details(resource, name))
}

/// Returns the error for a generated name that is taken.
pub(crate) fn not_unique(mut error: ApiError) -> ApiError {
    if error.reason == "AlreadyExists" {
        error
            .message
            .push_str(", the server was not able to generate a unique name for the object");
        let details = error.details.get_or_insert_default();
        details.insert("retryAfterSeconds".to_owned(), json!(1));
    }
    error
}

/// Returns a 409 for an object that changed in between.
pub(crate) fn conflict(resource: &Resource, name: &str) -> ApiError {
    conflict_because(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// Returns a 409 with a cause.
pub(crate) fn conflict_because(resource: &Resource, name: &str, cause: &str) -> ApiError {
    let message = format!(
        "Operation cannot be fulfilled on {} \"{name}\": {cause}",
        resource.group_resource()
    );
    ApiError::new(409, "Conflict", message).with_details(details(resource, name))
}

/// Returns a 409 of a deletion whose preconditions do not hold; it names the kind where others name the plural.
pub(crate) fn precondition(resource: &Resource, name: &str, cause: &str) -> ApiError {
    let kind = resource.group_kind();
    let message = format!("Operation cannot be fulfilled on {kind} \"{name}\": {cause}");
    let mut details = details(resource, name);
    if let Some(map) = details.as_object_mut() {
        map.insert("kind".to_owned(), Value::String(resource.kind.clone()));
    }
    ApiError::new(409, "Conflict", message).with_details(details)
}

/// Returns a 403.
pub(crate) fn forbidden(resource: &Resource, name: &str, cause: &str) -> ApiError {
    let message = format!("{} \"{name}\" is forbidden: {cause}", resource.group_resource());
    ApiError::new(403, "Forbidden", message).with_details(details(resource, name))
}

/// Returns the 403 for new content in a namespace that goes away.
pub(crate) fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> ApiError {
    let text =
        format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut error = forbidden(resource, name, &text);
    if let Some(details) = &mut error.details {
        let cause = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
        details.insert("causes".to_owned(), cause);
    }
    error
}

/// Returns a 422 whose head names the plural, as checks outside validation do.
pub(crate) fn invalid_resource(resource: &Resource, name: &str, errors: &[FieldError]) -> ApiError {
    invalid_kind(&resource.group, &resource.plural, name, errors)
}

/// Returns a 422 about options of `meta.k8s.io`.
pub(crate) fn invalid_options(kind: &str, errors: &[FieldError]) -> ApiError {
    invalid_kind("meta.k8s.io", kind, "", errors)
}

/// Returns a 422.
pub(crate) fn invalid_kind(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> ApiError {
    let mut texts: Vec<String> = Vec::new();
    for text in errors.iter().map(ToString::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let list = match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    let head = if group.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind}.{group}")
    };
    let causes: Vec<Value> = errors
        .iter()
        .map(
            |error| json!({ "reason": error.class.reason(), "message": error.message, "field": error.field }),
        )
        .collect();
    let mut details = Map::new();
    for (key, text) in [("name", name), ("group", group), ("kind", kind)] {
        if !text.is_empty() {
            details.insert(key.to_owned(), Value::String(text.to_owned()));
        }
    }
    details.insert("causes".to_owned(), Value::Array(causes));
    ApiError::new(422, "Invalid", format!("{head} \"{name}\" is invalid: {list}"))
        .with_details(Value::Object(details))
}

/// Returns the failure of a request for a state that is still to come.
pub(crate) fn too_large_version(asked: u64, current: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    ApiError::new(504, "Timeout", message).with_details(json!({
        "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
        "retryAfterSeconds": 1,
    }))
}
