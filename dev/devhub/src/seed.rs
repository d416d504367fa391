//! What is in a hub before the first client comes.
//!
//! Decides which objects exist from the start; they are made by ordinary requests, so they obey the ordinary rules.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::admission::Warnings;
use crate::builder::{StartError, namespace, refused};
use crate::error::ApiError;
use crate::http::{Query, Target};
use crate::hub::Hub;
use crate::resource::Scope;
use crate::rest::{self, Incoming};
use crate::rights;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Makes the namespaces that every cluster has.
pub(crate) async fn namespaces(hub: &Arc<Hub>) -> Result<(), StartError> {
    for name in NAMESPACES {
        object(hub, &namespace(name)).await?;
    }
    Ok(())
}

/// Makes the roles and bindings that every cluster has.
pub(crate) async fn roles(hub: &Arc<Hub>) -> Result<(), StartError> {
    for role in rights::bootstrap() {
        object(hub, &role).await?;
    }
    Ok(())
}

/// Makes a custom resource definition.
pub(crate) async fn definition(hub: &Arc<Hub>, definition: &Value) -> Result<(), StartError> {
    object(hub, definition).await
}

/// Makes an object of a served kind. One that exists is left alone.
pub(crate) async fn object(hub: &Arc<Hub>, object: &Value) -> Result<(), StartError> {
    match create(hub, object).await {
        Err(error) if error.reason != "AlreadyExists" => Err(refused(object, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

async fn create(hub: &Arc<Hub>, object: &Value) -> Result<(), ApiError> {
    let part = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (part("/apiVersion"), part("/kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let registry = hub.directory.load();
    let served = registry
        .all()
        .map(|served| &served.resource)
        .find(|resource| resource.group == group && resource.version == version && resource.kind == kind)
        .ok_or_else(|| {
            ApiError::bad_request(format!(
                "no kind \"{kind}\" is served in version \"{api_version}\""
            ))
        })?;
    let namespace = match (served.scope, part("/metadata/namespace")) {
        (Scope::Cluster, _) => None,
        (Scope::Namespaced, "") => Some("default".to_owned()),
        (Scope::Namespaced, namespace) => Some(namespace.to_owned()),
    };
    let incoming = Incoming {
        method: "POST".to_owned(),
        target: Target {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace,
            resource: served.plural.clone(),
            ..Target::default()
        },
        query: Query::default(),
        content_type: None,
        accept: None,
        user_agent: "devhub".to_owned(),
        body: Bytes::from(object.to_string()),
        user: hub.users.admin(),
    };
    rest::answer(hub, incoming, &mut Warnings::new())
        .await
        .map(|_| ())
}
