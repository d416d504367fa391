//! Deletions.
//!
//! Decides whether an object goes at once or is marked and waits for its finalizers.

use serde_json::{Value, json};

use super::binary;
use super::call::Call;
use super::commit::{commit, outcome};
use super::errors::{conflict, not_found, precondition};
use super::flow::Flow;
use super::lifecycle;
use super::metadata::{self, text};
use super::options::{DeleteOptions, Propagation};
use super::unreadable::unsupported;
use crate::admission::{Operation, Warnings};
use crate::builtin::DeleteAnswer;
use crate::crd;
use crate::error::ApiError;
use crate::http::Reply;
use crate::hub::timestamp;
use crate::protobuf::MEDIA_TYPE;
use crate::store::{Record, Unwritten, Write};

const ATTEMPTS: usize = 64;

/// What a deletion did.
#[derive(Debug)]
pub(super) enum Deleted {
    /// The object is deleted; its last state.
    Gone(Value),
    /// The object is marked and waits.
    Marked(Value),
}

/// Reads the options of a deletion from body and query.
pub(super) fn options(call: &Call) -> Result<DeleteOptions, ApiError> {
    if call.body.is_empty() {
        return DeleteOptions::parse(&call.query, None);
    }
    let text = String::from_utf8_lossy(&call.body);
    let unreadable = |fault: String| ApiError::bad_request(format!("{fault} in {text}"));
    let options = match call.content_type.as_str() {
        "" | "application/json" => crate::http::decode_json(&call.body).map_err(unreadable)?.value,
        "application/yaml" => crate::http::decode_yaml(&call.body).map_err(unreadable)?.value,
        MEDIA_TYPE => binary::delete_options(&call.body)?,
        _ => {
            return Err(unsupported(
                "application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ));
        }
    };
    DeleteOptions::parse(&call.query, Some(&options))
}

/// Answers a DELETE of an object.
pub(super) async fn delete(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = options(call)?;
    let deleted = delete_object(call, options, warnings).await?;
    Ok(match deleted {
        Deleted::Marked(object) => Reply::json(200, &object),
        Deleted::Gone(object) if call.traits().deletion == DeleteAnswer::Object => Reply::json(200, &object),
        Deleted::Gone(object) => Reply::json(200, &success(call, &object)),
    })
}

fn success(call: &Call, object: &Value) -> Value {
    let resource = &call.served.resource;
    let mut details = json!({ "name": call.name, "kind": resource.plural, "uid": text(object, "uid") });
    if let Some(map) = details.as_object_mut().filter(|_| !resource.group.is_empty()) {
        map.insert("group".to_owned(), json!(resource.group));
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// Deletes or marks the object that a request names.
pub(super) async fn delete_object(
    call: &Call,
    mut options: DeleteOptions,
    warnings: &mut Warnings,
) -> Result<Deleted, ApiError> {
    let resource = &call.served.resource;
    lifecycle::check_deletion(call, &call.name)?;
    let key = call.key();
    let missing = || not_found(resource, &call.name);
    let record = call.served.table.read(&key).ok_or_else(missing)?;
    let old = call.read(&record, record.version).await?;
    if call.is("", "namespaces") {
        options.demand_uid(text(&old, "uid"));
    }
    let flow = Flow {
        call,
        operation: Operation::Delete,
        subresource: "",
        options: options.to_json(),
        dry_run: options.dry_run,
    };
    flow.mutate_deletion(&call.name, &old, warnings).await?;
    for _ in 0..ATTEMPTS {
        let record = call.served.table.read(&key).ok_or_else(missing)?;
        let old = call.read(&record, record.version).await?;
        check_preconditions(call, &record, &old, &options)?;
        flow.validate_deletion(&call.name, &old, warnings).await?;
        match step(call, &key, &record, &old, &options).await? {
            Ok(deleted) => return Ok(deleted),
            Err(Unwritten::Missing) => return Err(missing()),
            Err(Unwritten::Changed(_) | Unwritten::Exists(_)) => {}
        }
    }
    Err(conflict(resource, &call.name))
}

fn check_preconditions(
    call: &Call,
    record: &Record,
    old: &Value,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let resource = &call.served.resource;
    let actual = text(old, "uid");
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != actual) {
        let cause = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({actual}). The object might have been deleted and then recreated"
        );
        return Err(precondition(resource, &call.name, &cause));
    }
    let actual = record.version.to_string();
    if let Some(version) = options.version.as_deref().filter(|version| *version != actual) {
        let cause = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({actual}). The object might have been modified"
        );
        return Err(precondition(resource, &call.name, &cause));
    }
    Ok(())
}

/// Removes the object, or marks it if something still holds it.
async fn step(
    call: &Call,
    key: &str,
    record: &Record,
    old: &Value,
    options: &DeleteOptions,
) -> Result<Result<Deleted, Unwritten>, ApiError> {
    let mut object = old.clone();
    set_finalizers(&mut object, &finalizers_after(call, old, options.propagation));
    if !lifecycle::is_held(call, &object) {
        if options.dry_run {
            return Ok(Ok(Deleted::Gone(object)));
        }
        return match commit(call, key, &Write::Remove(record.version)) {
            Ok(change) => Ok(Ok(Deleted::Gone(outcome(call, &change).await?))),
            Err(unwritten) => Ok(Err(unwritten)),
        };
    }
    if !metadata::is_deleting(&object) {
        mark(call, &mut object);
    }
    if options.dry_run {
        return Ok(Ok(Deleted::Marked(object)));
    }
    let stored = call.to_storage(&object).await?;
    match commit(call, key, &Write::Replace(record.version, &stored)) {
        Ok(change) => Ok(Ok(Deleted::Marked(outcome(call, &change).await?))),
        Err(unwritten) => Ok(Err(unwritten)),
    }
}

fn mark(call: &Call, object: &mut Value) {
    metadata::set(object, "deletionTimestamp", Value::String(timestamp()));
    if call.is("", "namespaces") {
        if let Some(object) = object.as_object_mut() {
            object.insert("status".to_owned(), json!({ "phase": "Terminating" }));
        }
        return;
    }
    if call.is("apiextensions.k8s.io", "customresourcedefinitions") {
        crd::mark_terminating(object);
        return;
    }
    metadata::set(object, "deletionGracePeriodSeconds", json!(0));
    let generation = metadata::generation(object);
    if generation > 0 {
        metadata::set_generation(object, generation + 1);
    }
}

/// Returns the finalizers that a deletion leaves. What the policy asks for replaces what another deletion asked for.
fn finalizers_after(call: &Call, old: &Value, propagation: Propagation) -> Vec<String> {
    let mut finalizers = metadata::texts(old, "finalizers");
    if call.is("apiextensions.k8s.io", "customresourcedefinitions")
        && !finalizers.iter().any(|finalizer| finalizer == crd::FINALIZER)
    {
        finalizers.push(crd::FINALIZER.to_owned());
    }
    let wanted = match propagation {
        Propagation::Unsaid => return finalizers,
        Propagation::Background => None,
        Propagation::Foreground => Some("foregroundDeletion"),
        Propagation::Orphan => Some("orphan"),
    };
    finalizers.retain(|finalizer| {
        !matches!(finalizer.as_str(), "orphan" | "foregroundDeletion") || Some(finalizer.as_str()) == wanted
    });
    if let Some(wanted) = wanted.filter(|wanted| !finalizers.iter().any(|finalizer| finalizer == wanted)) {
        finalizers.push(wanted.to_owned());
    }
    finalizers
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    if finalizers.is_empty() {
        metadata::remove(object, "finalizers");
    } else {
        metadata::set(object, "finalizers", json!(finalizers));
    }
}
