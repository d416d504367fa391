//! From a path and a method to what is done.
//!
//! Decides which verb a request is and who answers it; custom resources and built-in kinds refuse in different words.

use std::sync::Arc;

use serde_json::json;

use super::call::{Call, Incoming};
use super::errors::not_found;
use super::part::Part;
use super::update::replace;
use super::{collection, create, delete, list, patch, represent, review, token, watch};
use crate::admission::Warnings;
use crate::builtin;
use crate::error::ApiError;
use crate::http::{Accepted, Form, Menu, Reply, Target, negotiate};
use crate::hub::Hub;
use crate::managed::VersionViews;
use crate::registry::{Registry, Served};
use crate::resource::Scope;

/// Returns the refusal of a method.
pub(crate) fn method_not_allowed() -> ApiError {
    ApiError::new(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )
    .with_details(json!({}))
}

fn no_such_resource() -> ApiError {
    ApiError::new(
        404,
        "NotFound",
        "the server could not find the requested resource",
    )
    .with_details(json!({}))
}

/// Answers a request to a resource.
pub(crate) async fn answer(
    hub: &Arc<Hub>,
    incoming: Incoming,
    warnings: &mut Warnings,
) -> Result<Reply, ApiError> {
    let registry = hub.directory.load();
    let target = &incoming.target;
    let Some(served) = find(&registry, target) else {
        return if is_builtin_group(&registry, target) {
            Err(no_such_resource())
        } else {
            Ok(Reply::unknown_path())
        };
    };
    if let Some(custom) = &served.custom {
        if let Some(text) = &custom.deprecation {
            warnings.add(text.clone());
        }
    } else if !builtin_has(served, target) {
        return Err(no_such_resource());
    }
    let call = resolve(hub, Arc::clone(served), &incoming)?;
    if served.custom.is_some() {
        custom(&call, &incoming, warnings).await
    } else {
        built_in(&call, &incoming, warnings).await
    }
}

fn find<'a>(registry: &'a Registry, target: &Target) -> Option<&'a Arc<Served>> {
    let served = registry.find(&target.group, &target.version, &target.resource)?;
    let fits = match (served.resource.scope, &target.namespace, &target.name) {
        (Scope::Cluster, Some(_), _) | (Scope::Namespaced, None, Some(_)) => false,
        (Scope::Cluster, None, _) | (Scope::Namespaced, Some(_), _) | (Scope::Namespaced, None, None) => true,
    };
    fits.then_some(served)
}

/// Groups of built-in kinds answer unknown resources with a status, all others with plain text.
fn is_builtin_group(registry: &Registry, target: &Target) -> bool {
    target.group.is_empty()
        || registry.all().any(|served| {
            served.custom.is_none()
                && served.resource.group == target.group
                && served.resource.version == target.version
        })
}

fn builtin_has(served: &Served, target: &Target) -> bool {
    match target.subresource.as_slice() {
        [] => true,
        [name] => builtin::subresources(&served.resource)
            .iter()
            .any(|known| known.name == name),
        _ => false,
    }
}

fn resolve(hub: &Arc<Hub>, served: Arc<Served>, incoming: &Incoming) -> Result<Call, ApiError> {
    let target = &incoming.target;
    let menu = match (served.custom.is_some(), target.name.is_some()) {
        (true, _) => Menu::Custom,
        (false, true) => Menu::BuiltinObject,
        (false, false) => Menu::BuiltinList,
    };
    let accepted = if incoming.method == "DELETE" {
        negotiate(incoming.accept.as_deref(), menu).map(|accepted| Accepted {
            form: Form::Objects,
            ..accepted
        })?
    } else {
        negotiate(incoming.accept.as_deref(), menu)?
    };
    let content_type = incoming.content_type.as_deref().unwrap_or_default();
    let converts = served
        .custom
        .as_ref()
        .is_some_and(|custom| custom.versions.webhook.is_some());
    let version_views = if converts {
        VersionViews::of_webhook()
    } else {
        VersionViews::default()
    };
    Ok(Call {
        hub: Arc::clone(hub),
        served,
        namespace: target.namespace.clone().unwrap_or_default(),
        name: target.name.clone().unwrap_or_default(),
        query: incoming.query.clone(),
        content_type: content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
        accepted,
        user_agent: incoming.user_agent.clone(),
        body: incoming.body.clone(),
        user: incoming.user.clone(),
        version_views: Arc::new(version_views),
    })
}

fn is_watch(call: &Call, incoming: &Incoming) -> bool {
    incoming.target.watch || (call.name.is_empty() && call.query.flag("watch"))
}

async fn custom(call: &Call, incoming: &Incoming, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let resource = &call.served.resource;
    let absent = || not_found(resource, &call.name);
    match incoming.target.subresource.as_slice() {
        [] => {}
        [name] if name == "status" && resource.status => {
            return custom_status(call, incoming, warnings).await;
        }
        _ => return Err(absent()),
    }
    let named = !call.name.is_empty();
    let unnamed = || ApiError::bad_request("name must be provided");
    match incoming.method.as_str() {
        "GET" if is_watch(call, incoming) => watch::watch(call).await,
        "GET" if named => represent::read(call).await,
        "GET" => list::list(call).await,
        "POST" if resource.scope == Scope::Namespaced && call.namespace.is_empty() => {
            Ok(Reply::unknown_path())
        }
        "POST" => create::create(call, warnings).await,
        "PUT" if named => replace(call, Part::Object, warnings).await,
        "PATCH" if named => patch::patch(call, Part::Object, warnings).await,
        "PUT" | "PATCH" => Err(unnamed()),
        "DELETE" if named => delete::delete(call, warnings).await,
        "DELETE" => collection::delete_collection(call, warnings).await,
        _ => Err(unsupported(call, "")),
    }
}

/// Returns the refusal of a verb on a custom resource.
fn unsupported(call: &Call, verb: &str) -> ApiError {
    let resource = &call.served.resource;
    let text = format!(
        "{verb} is not supported on resources of kind \"{}\"",
        resource.group_resource()
    );
    ApiError::new(405, "MethodNotAllowed", text)
        .with_details(json!({ "group": resource.group, "kind": resource.plural }))
}

fn verb(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "DELETE" => "delete",
        "PUT" => "update",
        "PATCH" => "patch",
        _ => "",
    }
}

async fn custom_status(call: &Call, incoming: &Incoming, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    match incoming.method.as_str() {
        "GET" => represent::read(call).await,
        "PUT" => replace(call, Part::Status, warnings).await,
        "PATCH" => patch::patch(call, Part::Status, warnings).await,
        method => Err(unsupported(call, verb(method))),
    }
}

async fn built_in(call: &Call, incoming: &Incoming, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let offers = |verb: &str| call.served.resource.verbs.iter().any(|known| known == verb);
    let named = !call.name.is_empty();
    let inside = !call.is_namespaced() || !call.namespace.is_empty();
    if let [part] = incoming.target.subresource.as_slice() {
        return built_in_part(call, part, incoming, warnings).await;
    }
    match incoming.method.as_str() {
        "POST" if call.traits().review && !named => review::review(call, warnings),
        "GET" if is_watch(call, incoming) && offers("watch") => watch::watch(call).await,
        "GET" if named && offers("get") => represent::read(call).await,
        "GET" if !named && offers("list") => list::list(call).await,
        "POST" if !named && inside && offers("create") => create::create(call, warnings).await,
        "PUT" if named && offers("update") => replace(call, Part::Object, warnings).await,
        "PATCH" if named && offers("patch") => patch::patch(call, Part::Object, warnings).await,
        "DELETE" if named && offers("delete") => delete::delete(call, warnings).await,
        "DELETE" if !named && inside && offers("deletecollection") => {
            collection::delete_collection(call, warnings).await
        }
        _ => Err(method_not_allowed()),
    }
}

async fn built_in_part(
    call: &Call,
    part: &str,
    incoming: &Incoming,
    warnings: &mut Warnings,
) -> Result<Reply, ApiError> {
    match (part, incoming.method.as_str()) {
        ("status" | "approval", "GET") => represent::read(call).await,
        ("status", "PUT") => replace(call, Part::Status, warnings).await,
        ("status", "PATCH") => patch::patch(call, Part::Status, warnings).await,
        ("token", "POST") => token::issue(call, warnings),
        ("finalize", "PUT") => replace(call, Part::Finalize, warnings).await,
        ("approval", "PUT") => replace(call, Part::Approval, warnings).await,
        ("approval", "PATCH") => patch::patch(call, Part::Approval, warnings).await,
        _ => Err(method_not_allowed()),
    }
}
