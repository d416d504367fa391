//! Changes of existing objects.
//!
//! Decides the order in which a change is proposed, admitted, checked and stored, and that no client's write is lost on the way.

use serde_json::Value;

use super::call::Call;
use super::commit::{commit, outcome};
use super::decode::{self, Place};
use super::errors::{conflict, conflict_because, invalid_resource, not_found};
use super::flow::Flow;
use super::metadata::{self, text};
use super::options::{How, WriteOptions};
use super::part::Part;
use super::{create, lifecycle, represent, strategy};
use crate::admission::{Operation, Warnings};
use crate::builtin::traits::Unconditional;
use crate::error::ApiError;
use crate::http::Reply;
use crate::managed;
use crate::store::{Record, Unwritten, Write};
use schema::{ErrorClass, FieldError};

/// How often a change is retried after a conflicting write.
const ATTEMPTS: usize = 64;

/// From the object as it is to the object as it should be.
pub(super) type Propose<'a> = &'a (dyn Fn(&Value, &mut Warnings) -> Result<Value, ApiError> + Send + Sync);

/// Answers a PUT.
pub(super) async fn replace(call: &Call, part: Part, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let mut wanted = decode::object(call, options.validation, warnings)?;
    decode::check_location(call, &mut wanted, Place::Object)?;
    let propose = |old: &Value, _: &mut Warnings| {
        check_uid(call, old, &wanted)?;
        Ok(wanted.clone())
    };
    match change(call, part, &propose, &options, warnings).await {
        Err(error) if error.code == 404 && part == Part::Object && call.traits().create_on_update => {
            let created = create::create_object(call, wanted, &options, warnings).await?;
            represent::object(call, 201, &created)
        }
        outcome => represent::object(call, 200, &outcome?),
    }
}

/// A PUT that names a uid means that very object.
fn check_uid(call: &Call, old: &Value, wanted: &Value) -> Result<(), ApiError> {
    let (uid, actual) = (text(wanted, "uid"), text(old, "uid"));
    if uid.is_empty() || uid == actual {
        return Ok(());
    }
    // The text is the storage's, which knows the object by its key.
    let resource = &call.served.resource;
    let group = call.is_custom().then_some(&resource.group);
    let place = group
        .into_iter()
        .chain([&resource.plural, &call.namespace, &call.name]);
    let place: Vec<&str> = place
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    let cause = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {uid}, UID in object meta: {actual}",
        place.join("/")
    );
    Err(conflict_because(&call.served.resource, &call.name, &cause))
}

/// Changes an object as proposed; proposes again against the newest object if another write came first.
pub(super) async fn change(
    call: &Call,
    part: Part,
    propose: Propose<'_>,
    options: &WriteOptions,
    warnings: &mut Warnings,
) -> Result<Value, ApiError> {
    let key = call.key();
    let flow = Flow {
        call,
        operation: Operation::Update,
        subresource: part.subresource(),
        options: options.to_json("UpdateOptions"),
        dry_run: options.dry_run,
    };
    for _ in 0..ATTEMPTS {
        let missing = || not_found(&call.served.resource, &call.name);
        let record = call.served.table.read(&key).ok_or_else(missing)?;
        let old = call.read(&record, record.version).await?;
        let mut wanted = proposed(call, propose, &old, warnings).await?;
        if options.how == How::Update {
            let writer = call.writer(&options.manager, false, part.subresource());
            let scope = call.scope(part.subresource());
            wanted = call.track(&scope, (Some(&old), wanted), &writer).await;
        }
        let wanted = flow.mutate(&call.name, wanted, Some(&old), warnings).await?;
        check_version(call, &record, &wanted)?;
        let object = complete(call, part, wanted, &old, warnings)?;
        flow.validate(&call.name, &object, Some(&old), warnings).await?;
        match store(call, &key, &record, &object, options).await? {
            Ok(stored) => return Ok(stored),
            Err(Unwritten::Missing) => return Err(missing()),
            Err(Unwritten::Changed(_) | Unwritten::Exists(_)) => {}
        }
    }
    Err(conflict(&call.served.resource, &call.name))
}

/// Proposes a change, as often as something has to be found out on the way.
async fn proposed(
    call: &Call,
    propose: Propose<'_>,
    old: &Value,
    warnings: &mut Warnings,
) -> Result<Value, ApiError> {
    loop {
        let outcome = propose(old, warnings);
        if !call.fulfil().await? {
            return outcome;
        }
    }
}

/// Checks the resource version that a change was made for.
pub(super) fn check_version(call: &Call, record: &Record, wanted: &Value) -> Result<(), ApiError> {
    let resource = &call.served.resource;
    let given = text(wanted, "resourceVersion");
    if given.is_empty() || given == "0" {
        if call.traits().unconditional == Unconditional::Allowed {
            return Ok(());
        }
        let error = FieldError {
            field: "metadata.resourceVersion".to_owned(),
            class: ErrorClass::Invalid,
            message: "Invalid value: 0: must be specified for an update".to_owned(),
        };
        return Err(invalid_resource(resource, &call.name, &[error]));
    }
    match given.parse::<u64>() {
        Ok(version) if version == record.version => Ok(()),
        Ok(_) => Err(conflict(resource, &call.name)),
        Err(_) => Err(super::page::bad_version(given)),
    }
}

/// Fills what the server owns and checks the whole object.
pub(super) fn complete(
    call: &Call,
    part: Part,
    mut object: Value,
    old: &Value,
    warnings: &mut Warnings,
) -> Result<Value, ApiError> {
    call.may_write(&object, Some(old))?;
    decode::check_kind(call, &object)?;
    metadata::keep_owned(&mut object, old);
    strategy::prepare_update(call, part, &mut object, old);
    metadata::settle_owners(&mut object, warnings);
    metadata::tidy(&mut object);
    keep_times(&mut object, old);
    if part == Part::Object && counts(call, old, &object) {
        metadata::set_generation(&mut object, metadata::generation(old) + 1);
    }
    let errors = strategy::check_update(call, part, &object, old, warnings);
    call.verdict(&object, &errors)?;
    Ok(object)
}

/// A write that changes nothing but the time of an owner changes nothing.
fn keep_times(object: &mut Value, old: &Value) {
    if !managed::same_but_times(managed::raw(object), managed::raw(old)) {
        return;
    }
    let list = managed::raw(old).clone();
    let with_list = |object: &Value| {
        let mut object = object.clone();
        if list.is_null() {
            metadata::remove(&mut object, "managedFields");
        } else {
            metadata::set(&mut object, "managedFields", list.clone());
        }
        metadata::remove(&mut object, "resourceVersion");
        object
    };
    let kept = with_list(object);
    if kept == with_list(old) && !list.is_null() {
        metadata::set(object, "managedFields", list);
    }
}

/// Tells whether a change counts up the generation.
fn counts(call: &Call, old: &Value, new: &Value) -> bool {
    if !call.traits().generation {
        return false;
    }
    let ignored = |name: &str| name == "metadata" || (name == "status" && call.served.resource.status);
    let content = |object: &Value| -> Vec<(String, Value)> {
        let members = object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !ignored(name));
        members
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    content(old) != content(new)
}

/// Stores a change. An object that is being deleted goes with its last finalizer.
pub(super) async fn store(
    call: &Call,
    key: &str,
    record: &Record,
    object: &Value,
    options: &WriteOptions,
) -> Result<Result<Value, Unwritten>, ApiError> {
    let goes = metadata::is_deleting(object) && !lifecycle::is_held(call, object);
    let mut answer = object.clone();
    metadata::set(
        &mut answer,
        "resourceVersion",
        Value::String(record.version.to_string()),
    );
    if options.dry_run {
        return call.through_storage(answer).await.map(Ok);
    }
    if goes {
        // The change itself is never stored: what watchers see last is the object as it was.
        return Ok(commit(call, key, &Write::Remove(record.version)).map(|_| answer));
    }
    let stored = call.to_storage(object).await?;
    match commit(call, key, &Write::Replace(record.version, &stored)) {
        Ok(change) => outcome(call, &change).await.map(Ok),
        Err(unwritten) => Ok(Err(unwritten)),
    }
}
