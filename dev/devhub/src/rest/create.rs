//! New objects.
//!
//! Decides the order in which a new object is read, completed, admitted, checked and stored.

use serde_json::Value;

use super::call::Call;
use super::commit::{commit, outcome};
use super::decode::{self, Place};
use super::errors::{already_exists, not_unique};
use super::flow::Flow;
use super::metadata::{self, text};
use super::options::{How, WriteOptions};
use super::{lifecycle, represent, strategy};
use crate::admission::{Operation, Warnings};
use crate::error::ApiError;
use crate::http::Reply;
use crate::store::{Unwritten, Write, key_of};

/// How often another name is tried when a generated one is taken.
const ATTEMPTS: usize = 8;

/// Answers a POST.
pub(super) async fn create(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut object = decode::object(call, options.validation, warnings)?;
    decode::check_location(call, &mut object, Place::Collection)?;
    let stored = create_object(call, object, &options, warnings).await?;
    represent::object(call, 201, &stored)
}

/// Creates a decoded object.
pub(super) async fn create_object(
    call: &Call,
    object: Value,
    options: &WriteOptions,
    warnings: &mut Warnings,
) -> Result<Value, ApiError> {
    lifecycle::check_creation(call, text(&object, "name"))?;
    let flow = Flow {
        call,
        operation: Operation::Create,
        subresource: "",
        options: options.to_json("CreateOptions"),
        dry_run: options.dry_run,
    };
    let name = text(&object, "name").to_owned();
    let mut object = object;
    metadata::wipe(&mut object);
    if options.how == How::Update {
        let writer = call.writer(&options.manager, false, "");
        object = call.track(&call.scope(""), (None, object), &writer).await;
    }
    let mut object = flow.mutate(&name, object, None, warnings).await?;
    let generated = text(&object, "name").is_empty() && !text(&object, "generateName").is_empty();
    if !text(&object, "resourceVersion").is_empty() {
        return Err(ApiError::new(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let mut tries = 0;
    loop {
        tries += 1;
        if generated {
            let name = metadata::generated_name(text(&object, "generateName"));
            metadata::set(&mut object, "name", Value::String(name));
        }
        let candidate = complete(call, object.clone(), warnings)?;
        let name = text(&candidate, "name").to_owned();
        flow.validate(&name, &candidate, None, warnings).await?;
        match store(call, &candidate, options).await {
            Err(error) if generated && error.reason == "AlreadyExists" && tries < ATTEMPTS => {}
            Err(error) if !text(&object, "generateName").is_empty() => return Err(not_unique(error)),
            outcome => return outcome,
        }
    }
}

/// Fills what the server owns and checks the whole object.
fn complete(call: &Call, mut object: Value, warnings: &mut Warnings) -> Result<Value, ApiError> {
    call.may_write(&object, None)?;
    let traits = call.traits();
    metadata::fill_new(&mut object);
    if traits.generation {
        metadata::set_generation(&mut object, 1);
    }
    strategy::prepare_create(call, &mut object);
    metadata::settle_owners(&mut object, warnings);
    metadata::tidy(&mut object);
    decode::check_kind(call, &object)?;
    let errors = strategy::check_create(call, &object, warnings);
    call.verdict(&object, &errors)?;
    Ok(object)
}

async fn store(call: &Call, object: &Value, options: &WriteOptions) -> Result<Value, ApiError> {
    let name = text(object, "name");
    let key = key_of(&call.namespace, name);
    let taken = |deleting: bool| already_exists(&call.served.resource, name, deleting);
    if options.dry_run {
        return match call.served.table.read(&key) {
            Some(record) => Err(taken(metadata::is_deleting(
                &call.served.decode(&record, record.version),
            ))),
            None => call.through_storage(object.clone()).await,
        };
    }
    let stored = call.to_storage(object).await?;
    let change = commit(call, &key, &Write::Create(&stored)).map_err(|unwritten| match unwritten {
        Unwritten::Exists(record) | Unwritten::Changed(record) => taken(metadata::is_deleting(
            &call.served.decode(&record, record.version),
        )),
        Unwritten::Missing => taken(false),
    })?;
    outcome(call, &change).await
}
