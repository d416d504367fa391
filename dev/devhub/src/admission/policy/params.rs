//! The parameters of a binding.
//!
//! Decides which objects are looked for, and what it means that there is none.

use serde_json::Value;

use super::context::{AdmissionContext, ParamQuery};
use super::spec::{NotFound, ParamKind, ParamRef};
use crate::admission::attributes::Attributes;
use crate::resource::Scope;

/// Returns the parameters with which a policy is asked, one after the other; `None` stands for a policy without.
pub(super) async fn collect(
    kind: Option<&ParamKind>,
    reference: Option<&ParamRef>,
    request: &Attributes,
) -> Result<Vec<Option<Value>>, String> {
    let (Some(kind), Some(reference)) = (kind, reference) else {
        return Ok(vec![None]);
    };
    let Some(context) = request.context.as_deref() else {
        return Err("paramKind cannot be looked up".to_owned());
    };
    let query = query(kind, reference, request, context)?;
    let found = context.params(&query).await?;
    if found.is_empty() && reference.parameter_not_found_action == Some(NotFound::Deny) {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found.into_iter().map(Some).collect())
}

/// Returns why the kind of the parameters is not there.
pub(super) fn unknown(kind: Option<&ParamKind>, request: &Attributes) -> Option<String> {
    let kind = kind?;
    let known = request
        .context
        .as_ref()
        .and_then(|context| context.scope(&kind.api_version, &kind.kind));
    let slash = if kind.api_version.contains('/') { "" } else { "/" };
    known.is_none().then(|| {
        let (version, kind) = (&kind.api_version, &kind.kind);
        format!("failed to find resource referenced by paramKind: '{slash}{version}, Kind={kind}'")
    })
}

fn query(
    kind: &ParamKind,
    reference: &ParamRef,
    request: &Attributes,
    context: &dyn AdmissionContext,
) -> Result<ParamQuery, String> {
    let namespace = match context.scope(&kind.api_version, &kind.kind) {
        Some(Scope::Namespaced) => match (reference.namespace.as_str(), request.request_namespace()) {
            ("", "") => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .to_owned(),
                );
            }
            ("", own) => own.to_owned(),
            (given, _) => given.to_owned(),
        },
        Some(Scope::Cluster) | None if !reference.namespace.is_empty() => {
            return Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
            );
        }
        Some(Scope::Cluster) | None => String::new(),
    };
    let selector = reference.selector.clone().unwrap_or_default();
    match (reference.name.is_empty(), selector.is_null()) {
        (false, false) => Err("paramRef.name and paramRef.selector are mutually exclusive".to_owned()),
        (true, true) => Err("one of name or selector must be provided".to_owned()),
        (false, true) | (true, false) => Ok(ParamQuery {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
            namespace,
            name: reference.name.clone(),
            selector,
        }),
    }
}
