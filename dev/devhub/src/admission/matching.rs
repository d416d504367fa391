//! Which webhook is called for which write.
//!
//! Decides by rules, match policy, selectors and conditions.

use cel_engine::admission_policy::{MatchAttributes, NULL, Namespace, Target, Versions};
use serde_json::Value;

use super::{
    attributes::{Attributes, Kind, Operation},
    conditions::{self, ConditionContext},
    hook::Hook,
};
use crate::ApiError;

/// A call to be made: the version in which the hook wants to see the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) version: String,
    pub(super) kind: Kind,
}

/// What a hook sees of a write: objects in the version that it asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VersionedObjects {
    pub(super) object: Value,
    pub(super) old_object: Value,
}

/// Returns how `hook` is called for a write that makes `object` and what it sees, or `None` if it is not.
pub(super) async fn invocation(
    hook: &Hook,
    request: &Attributes,
    object: Option<&Value>,
) -> Result<Option<(Invocation, VersionedObjects)>, ApiError> {
    let subject = subject(request, object);
    if request.is_exempt()
        || subject.namespace_has_labels(&hook.namespace_selector) == Some(false)
        || !subject.has_labels(&hook.object_selector)
    {
        return Ok(None);
    }
    let Some(version) = subject.version(&hook.rules, hook.match_policy) else {
        return Ok(None);
    };
    let invocation = in_which(version, request);
    let seen = seen(request, &invocation, object).await?;
    let wanted = conditions_hold(hook, request, &seen, &invocation)?;
    Ok(wanted.then_some((invocation, seen)))
}

/// Returns the objects of a write in the version of an invocation.
pub(super) async fn seen(
    request: &Attributes,
    invocation: &Invocation,
    object: Option<&Value>,
) -> Result<VersionedObjects, ApiError> {
    Ok(VersionedObjects {
        object: in_version(object, request, invocation).await?,
        old_object: in_version(request.old_object.as_ref(), request, invocation).await?,
    })
}

async fn in_version(
    object: Option<&Value>,
    request: &Attributes,
    invocation: &Invocation,
) -> Result<Value, ApiError> {
    match object {
        None => Ok(Value::Null),
        Some(object) if invocation.kind == request.kind => Ok(object.clone()),
        Some(object) => request.converted(object, &invocation.kind.api_version()).await,
    }
}

/// Returns what decides about a write that makes `object`.
pub(super) fn subject<'a>(request: &'a Attributes, object: Option<&'a Value>) -> MatchAttributes<'a> {
    let old_object = request.old_object.as_ref();
    MatchAttributes {
        target: Target {
            operation: request.operation.name(),
            group: &request.group,
            version: &request.version,
            resource: &request.resource,
            subresource: &request.subresource,
            // Namespace objects count as cluster-scoped although requests for them carry a namespace.
            namespace: if request.is_namespace() {
                ""
            } else {
                &request.namespace
            },
            name: &request.name,
        },
        object,
        old_object,
        // A namespace has its new labels only in the request itself, and its last ones in what is removed. Requests for other
        // cluster-scoped objects are never left out by a namespace selector.
        namespace: if request.is_namespace() {
            let is_past = request.operation == Operation::Delete || !request.subresource.is_empty();
            let labelled = if is_past { old_object } else { object };
            Namespace::Known {
                object: labelled.unwrap_or(&NULL),
                name: "",
            }
        } else if request.namespace.is_empty() {
            Namespace::None
        } else {
            Namespace::Labels(&request.namespace_labels)
        },
        versions: Versions::Served(&request.equivalent_versions),
    }
}

/// Returns the call that shows a write in a version of its resource.
pub(super) fn in_which(version: &str, request: &Attributes) -> Invocation {
    let mut kind = request.kind.clone();
    // A subresource such as scale has a kind of its own that does not change with the resource's version.
    if kind.group == request.group && version != request.version {
        version.clone_into(&mut kind.version);
    }
    Invocation {
        version: version.to_owned(),
        kind,
    }
}

fn conditions_hold(
    hook: &Hook,
    request: &Attributes,
    seen: &VersionedObjects,
    invocation: &Invocation,
) -> Result<bool, ApiError> {
    if hook.conditions.is_empty() {
        return Ok(true);
    }
    let context = ConditionContext {
        object: &seen.object,
        old_object: &seen.old_object,
        request: &Value::Object(request.to_request(&invocation.kind, &invocation.version)),
        attributes: Some(request),
    };
    conditions::all_hold(&hook.conditions, context, hook.failure_policy)
        .map_err(|cause| forbidden(request, &cause))
}

/// Returns the refusal of a write.
pub(super) fn forbidden(request: &Attributes, cause: &str) -> ApiError {
    let mut details = serde_json::Map::new();
    for (name, value) in [
        ("name", &request.name),
        ("group", &request.group),
        ("kind", &request.resource),
    ] {
        if !value.is_empty() {
            details.insert(name.to_owned(), Value::String(value.clone()));
        }
    }
    let message = if request.name.is_empty() {
        format!("{} is forbidden: {cause}", request.group_resource())
    } else {
        format!(
            "{} \"{}\" is forbidden: {cause}",
            request.group_resource(),
            request.name
        )
    };
    ApiError::new(403, "Forbidden", message).with_details(Value::Object(details))
}
