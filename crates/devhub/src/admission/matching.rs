//! Which webhook is called for which write.
//!
//! Decides by rules, match policy, selectors and conditions; never calls anything.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    attributes::{Attributes, Kind, Operation},
    conditions::{self, Scene},
    hook::{Hook, MatchPolicy, Rule, RuleScope},
};
use crate::ApiError;

/// A call to be made: the version in which the hook wants to see the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) version: String,
    pub(super) kind: Kind,
}

/// Returns how `hook` is called for a write that makes `object`, or `None` if it is not.
pub(super) fn invocation(
    hook: &Hook,
    request: &Attributes,
    object: Option<&Value>,
) -> Result<Option<Invocation>, ApiError> {
    if request.is_exempt()
        || !namespace_selected(hook, request, object)
        || !object_selected(hook, request, object)
    {
        return Ok(None);
    }
    let Some(invocation) = matching_version(hook, request) else {
        return Ok(None);
    };
    let wanted = conditions_hold(hook, request, object, &invocation)?;
    Ok(wanted.then_some(invocation))
}

/// Requests for cluster-scoped objects other than namespaces are never left out by a namespace selector.
fn namespace_selected(hook: &Hook, request: &Attributes, object: Option<&Value>) -> bool {
    if hook.namespace_selector.is_empty() || request.request_namespace().is_empty() && !request.is_namespace()
    {
        return true;
    }
    // A namespace has its new labels only in the request itself, and its last ones in what is removed.
    if !request.is_namespace() {
        hook.namespace_selector.matches(&request.namespace_labels)
    } else if request.operation == Operation::Delete || !request.subresource.is_empty() {
        hook.namespace_selector
            .matches(&labels(request.old_object.as_ref()))
    } else {
        hook.namespace_selector.matches(&labels(object))
    }
}

/// The object before or after the write must be selected. A missing object has no labels to be selected by.
fn object_selected(hook: &Hook, request: &Attributes, object: Option<&Value>) -> bool {
    hook.object_selector.is_empty()
        || [object, request.old_object.as_ref()]
            .into_iter()
            .flatten()
            .any(|object| hook.object_selector.matches(&labels(Some(object))))
}

fn labels(object: Option<&Value>) -> BTreeMap<String, String> {
    let written = object
        .and_then(|object| object.pointer("/metadata/labels"))
        .and_then(Value::as_object);
    written
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn matching_version(hook: &Hook, request: &Attributes) -> Option<Invocation> {
    if hook
        .rules
        .iter()
        .any(|rule| rule_matches(rule, request, &request.version))
    {
        return Some(Invocation {
            version: request.version.clone(),
            kind: request.kind.clone(),
        });
    }
    if hook.match_policy == MatchPolicy::Exact {
        return None;
    }
    let candidates = hook.rules.iter().flat_map(|rule| {
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

fn rule_matches(rule: &Rule, request: &Attributes, version: &str) -> bool {
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
    object: Option<&Value>,
    invocation: &Invocation,
) -> Result<bool, ApiError> {
    if hook.conditions.is_empty() {
        return Ok(true);
    }
    let seen =
        |object: Option<&Value>| object.map_or(Value::Null, |object| in_version(object, request, invocation));
    let scene = Scene {
        object: &seen(object),
        old_object: &seen(request.old_object.as_ref()),
        request: &Value::Object(request.to_request(&invocation.kind, &invocation.version)),
    };
    conditions::all_hold(&hook.conditions, scene, hook.failure_policy)
        .map_err(|cause| forbidden(request, &cause))
}

/// Returns `object` as the invocation sees it. Only `apiVersion` differs between equivalent versions.
pub(super) fn in_version(object: &Value, request: &Attributes, invocation: &Invocation) -> Value {
    let mut seen = object.clone();
    if invocation.kind != request.kind
        && let Some(version) = seen.get_mut("apiVersion")
    {
        *version = Value::String(invocation.kind.api_version());
    }
    seen
}

fn forbidden(request: &Attributes, cause: &str) -> ApiError {
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
