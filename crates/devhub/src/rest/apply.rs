//! Server-side apply.
//!
//! Decides what an intent must look like and whether it creates or changes; who owns what is the ownership room's work.

use serde_json::Value;

use super::call::Call;
use super::decode::{self, Place};
use super::errors::{conflict_because, not_found};
use super::metadata::text;
use super::options::{FieldValidation, WriteOptions};
use super::update::{Part, change};
use super::{create, represent, shape};
use crate::admission::Warnings;
use crate::builtin;
use crate::error::ApiError;
use crate::http::{Decoded, Reply, decode_yaml};
use crate::hub::timestamp;
use crate::managed::{self, Intent, Writer};
use crate::patch::invalid_patch;

/// Returns whether a PATCH is an apply.
pub(super) fn is_apply(call: &Call) -> bool {
    call.content_type == "application/apply-patch+yaml"
}

/// Answers an apply to an object or its status.
pub(super) async fn apply(call: &Call, part: Part, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = WriteOptions::parse_apply(&call.query)?;
    let Decoded {
        value: mut intent,
        faults,
    } = read_intent(call, options.validation)?;
    check_head(call, &intent)?;
    if !managed::raw(&intent).is_null() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    decode::check_location(call, &mut intent, Place::Object)?;
    if options.validation == FieldValidation::Warn {
        warnings.extend(faults);
    }
    let writer = call.writer(&options.manager, true, part.subresource());
    let job = Job {
        call,
        part,
        intent: &intent,
        writer: &writer,
        options: &options,
    };
    if call.served.table.read(&call.key()).is_none() {
        if part != Part::Object {
            return Err(not_found(&call.served.resource, &call.name));
        }
        let object = job.new_object(warnings)?;
        match create::create_object(call, object, &options, warnings).await {
            Err(error) if error.reason == "AlreadyExists" => {}
            outcome => return represent::object(call, 201, &outcome?),
        }
    }
    let propose = |old: &Value, warnings: &mut Warnings| job.changed_object(old, warnings);
    let stored = change(call, part, &propose, &options, warnings).await?;
    represent::object(call, 200, &stored)
}

/// Reads the body of an apply.
pub(super) fn read_intent(call: &Call, mode: FieldValidation) -> Result<Decoded, ApiError> {
    let decoded = decode_yaml(&call.body)
        .map_err(|fault| ApiError::bad_request(format!("error decoding YAML: {fault}")))?;
    if mode == FieldValidation::Strict && !decoded.faults.is_empty() {
        let text = format!("error decoding YAML: {}", decoded.faults.join(", "));
        return Err(ApiError::bad_request(text));
    }
    Ok(decoded)
}

/// An intent says which version it is written for.
fn check_head(call: &Call, intent: &Value) -> Result<(), ApiError> {
    let resource = &call.served.resource;
    let part = |name: &str| intent.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (part("apiVersion"), part("kind"));
    for (given, shown) in [(kind, "Kind"), (version, "apiVersion")] {
        if given.is_empty() {
            return Err(ApiError::bad_request(format!(
                "Object '{shown}' is missing in '{intent}'"
            )));
        }
    }
    let expected = resource.api_version();
    if version != expected {
        let text = format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {expected}"
        );
        return Err(ApiError::bad_request(text));
    }
    Ok(())
}

/// One apply.
struct Job<'a> {
    call: &'a Call,
    part: Part,
    intent: &'a Value,
    writer: &'a Writer,
    options: &'a WriteOptions,
}

impl Job<'_> {
    fn laid_over(&self, old: Option<&Value>) -> Result<Value, ApiError> {
        let scope = self.call.scope(self.part.subresource());
        let intent = Intent {
            object: self.intent,
            writer: self.writer,
            force: self.options.force,
            kind: &self.call.served.resource.kind,
        };
        managed::applied(&scope, old, &intent, &timestamp())
    }

    fn new_object(&self, warnings: &mut Warnings) -> Result<Value, ApiError> {
        let uid = text(self.intent, "uid");
        if !uid.is_empty() {
            let cause = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(conflict_because(
                &self.call.served.resource,
                &self.call.name,
                &cause,
            ));
        }
        let mut object = self.laid_over(None)?;
        // Nothing is there whose version could be meant.
        super::metadata::remove(&mut object, "resourceVersion");
        self.complete(object, warnings)
    }

    fn changed_object(&self, old: &Value, warnings: &mut Warnings) -> Result<Value, ApiError> {
        let mut object = self.laid_over(Some(old))?;
        let given = text(self.intent, "resourceVersion");
        if !given.is_empty() {
            super::metadata::set(&mut object, "resourceVersion", Value::String(given.to_owned()));
        }
        let object = self.complete(object, warnings)?;
        Ok(object)
    }

    fn complete(&self, mut object: Value, warnings: &mut Warnings) -> Result<Value, ApiError> {
        let quoted = object.to_string();
        let unknown = shape::decode(self.call, &mut object, builtin::Dialect::Json)
            .map_err(|fault| invalid_patch(&quoted, &fault))?;
        warnings.extend(
            unknown
                .iter()
                .map(|path| format!("unknown field \"{path}\""))
                .collect::<Vec<_>>(),
        );
        Ok(object)
    }
}
