//! Which webhook is called for which write.
//!
//! Decides by rules, match policy, selectors and conditions; never calls anything.

use serde_json::Value;

use super::{
    attributes::{Attributes, Kind, Operation},
    conditions::{self, Scene},
    configuration::{MatchPolicy, Rule, RuleScope},
    hook::Hook,
};
use crate::ApiError;
use apimachinery::labels::Selector;

/// A call to be made: the version in which the hook wants to see the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) version: String,
    pub(super) kind: Kind,
}

/// What a hook sees of a write: objects in the version that it asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) object: Value,
    pub(super) old_object: Value,
}

/// Returns how `hook` is called for a write that makes `object` and what it sees, or `None` if it is not.
pub(super) async fn invocation(
    hook: &Hook,
    request: &Attributes,
    object: Option<&Value>,
) -> Result<Option<(Invocation, Seen)>, ApiError> {
    if request.is_exempt()
        || !namespace_selected(&hook.namespace_selector, request, object)
        || !object_selected(&hook.object_selector, request, object)
    {
        return Ok(None);
    }
    let Some(invocation) = matching_version(&hook.rules, hook.match_policy, request) else {
        return Ok(None);
    };
    let seen = seen(request, &invocation, object).await?;
    let wanted = conditions_hold(hook, request, &seen, &invocation)?;
    Ok(wanted.then_some((invocation, seen)))
}

/// Returns the objects of a write in the version of an invocation.
pub(super) async fn seen(
    request: &Attributes,
    invocation: &Invocation,
    object: Option<&Value>,
) -> Result<Seen, ApiError> {
    Ok(Seen {
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

/// Requests for cluster-scoped objects other than namespaces are never left out by a namespace selector.
pub(super) fn namespace_selected(selector: &Selector, request: &Attributes, object: Option<&Value>) -> bool {
    if selector.is_everything() || request.request_namespace().is_empty() && !request.is_namespace() {
        return true;
    }
    // A namespace has its new labels only in the request itself, and its last ones in what is removed.
    if !request.is_namespace() {
        selector.matches_map(&request.namespace_labels)
    } else if request.operation == Operation::Delete || !request.subresource.is_empty() {
        matches(selector, request.old_object.as_ref())
    } else {
        matches(selector, object)
    }
}

/// The object before or after the write must be selected. A missing object has no labels to be selected by.
pub(super) fn object_selected(selector: &Selector, request: &Attributes, object: Option<&Value>) -> bool {
    selector.is_everything()
        || [object, request.old_object.as_ref()]
            .into_iter()
            .flatten()
            .any(|object| selector.matches_object(object))
}

/// An object that is not there has no labels.
fn matches(selector: &Selector, object: Option<&Value>) -> bool {
    selector.matches_object(object.unwrap_or(&Value::Null))
}

/// Returns the version in which rules want to see a write, if they want it at all.
pub(super) fn matching_version<'r>(
    rules: impl IntoIterator<Item = &'r Rule> + Clone,
    policy: MatchPolicy,
    request: &Attributes,
) -> Option<Invocation> {
    if rules
        .clone()
        .into_iter()
        .any(|rule| rule_matches(rule, request, &request.version))
    {
        return Some(Invocation {
            version: request.version.clone(),
            kind: request.kind.clone(),
        });
    }
    if policy == MatchPolicy::Exact {
        return None;
    }
    let candidates = rules.into_iter().flat_map(|rule| {
        request
            .equivalent_versions
            .iter()
            .filter(move |version| rule_matches(rule, request, version))
    });
    candidates
        .into_iter()
        .find(|version| **version != request.version)
        .map(|version| {
            let mut kind = request.kind.clone();
            // A subresource such as scale has a kind of its own that does not change with the resource's version.
            if kind.group == request.group {
                kind.version.clone_from(version);
            }
            Invocation {
                version: version.clone(),
                kind,
            }
        })
}

pub(super) fn rule_matches(rule: &Rule, request: &Attributes, version: &str) -> bool {
    listed(&rule.operations, request.operation.name())
        && listed(&rule.api_groups, &request.group)
        && listed(&rule.api_versions, version)
        && scope_matches(rule.scope, request)
        && rule
            .resources
            .iter()
            .any(|resource| resource_matches(resource, request))
}

fn listed(list: &[String], item: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == item)
}

/// Namespace objects count as cluster-scoped although requests for them carry a namespace.
fn scope_matches(scope: RuleScope, request: &Attributes) -> bool {
    let namespaced = !request.namespace.is_empty() && !request.is_namespace();
    match scope {
        RuleScope::All => true,
        RuleScope::Namespaced => namespaced,
        RuleScope::Cluster => !namespaced,
    }
}

/// `x` means objects without a subresource, `x/y` one subresource, `x/*` the object and every subresource.
fn resource_matches(resource: &str, request: &Attributes) -> bool {
    let (name, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    (name == "*" || name == request.resource) && (subresource == "*" || subresource == request.subresource)
}

fn conditions_hold(
    hook: &Hook,
    request: &Attributes,
    seen: &Seen,
    invocation: &Invocation,
) -> Result<bool, ApiError> {
    if hook.conditions.is_empty() {
        return Ok(true);
    }
    let scene = Scene {
        object: &seen.object,
        old_object: &seen.old_object,
        request: &Value::Object(request.to_request(&invocation.kind, &invocation.version)),
        attributes: Some(request),
    };
    conditions::all_hold(&hook.conditions, scene, hook.failure_policy)
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
