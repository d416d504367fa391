//! What registration may write: grants of the add-on, and answers to its own requests.
//!
//! Decides nothing and repairs nothing.

use serde_json::Value;

use crate::plan::registration::Answer;
use crate::plan::types::Action;
use crate::snapshot::{Kind, ObjectKey, Stage, View, terms};

/// The token infrastructure is for every add-on: its objects, and one condition.
pub(super) fn serves_everybody(action: &Action) -> bool {
    match action {
        Action::Create { object, .. } | Action::Replace { object, .. } | Action::Delete { object, .. } => {
            object.kind.is_for_registration()
        }
        Action::Status { object, patch, .. } => {
            let status = patch.get("status").and_then(Value::as_object);
            object.kind == Kind::Instance
                && status.is_some_and(|fields| fields.keys().all(|field| field == "conditions"))
        }
        Action::Certify { .. } => false,
    }
}

/// A grant carries the add-on's label when it is made, and is one of the add-on's when it is changed or deleted.
pub(super) fn granted(view: &View<'_>, object: &ObjectKey, body: Option<&Value>) -> Option<&'static str> {
    if object.kind == Kind::SigningRequest {
        return Some("requests are only answered");
    }
    let Some(body) = body else {
        return view.grant(object).is_none().then_some("the grant is not ours");
    };
    let label = body
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(terms::TOKEN_ADDON_NAME));
    if label.and_then(Value::as_str) != Some(&*view.addon.name) {
        return Some("the label with the add-on is absent");
    }
    let owners = body
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str);
    let instance = view.instance(&object.namespace);
    let is_owners = |uid: &str| instance.is_some_and(|instance| *instance.meta.uid == *uid);
    (!owners.is_none_or(is_owners)).then_some("the instance does not own it")
}

/// Only a request of the add-on, and only one that somebody may still answer.
pub(super) fn certified(view: &View<'_>, object: &ObjectKey, answer: &Answer) -> Option<&'static str> {
    let Some(request) = view.requests().find(|request| request.name == object.name) else {
        return Some("the request is not one of the add-on");
    };
    let due = match answer {
        Answer::Approve(_) => Stage::Pending,
        Answer::Sign(_) => Stage::Approved,
    };
    if request.stage != due {
        Some("the request waits for another answer")
    } else if view.instance(&request.cluster).is_none() {
        Some("there is no instance")
    } else {
        None
    }
}
