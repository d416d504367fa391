//! Server-side apply.
//!
//! Parses the applied configuration and decides whether it creates or updates; `managed` tracks ownership.

use serde_json::Value;

use super::call::Call;
use super::decode::{self, Place};
use super::errors::{conflict_because, not_found};
use super::metadata::{remove, text};
use super::options::{FieldValidation, How, WriteOptions};
use super::part::Part;
use super::update::change;
use super::{create, represent, strategy};
use crate::admission::Warnings;
use crate::builtin;
use crate::error::ApiError;
use crate::http::{Decoded, Reply, decode_yaml};
use crate::hub::timestamp;
use crate::managed::{self, Scope, Writer};
use crate::patch::{go_json, invalid_patch};

/// Returns whether a PATCH is an apply.
pub(super) fn is_apply(call: &Call) -> bool {
    call.content_type == "application/apply-patch+yaml"
}

/// Answers an apply to an object or its status.
pub(super) async fn apply(call: &Call, part: Part, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = WriteOptions::parse_apply(&call.query)?;
    let intent = Intent::read(call, part.subresource(), &options)?;
    if call.served.table.read(&call.key()).is_none() {
        if part != Part::Object {
            return Err(not_found(&call.served.resource, &call.name));
        }
        let object = new_object(call, &intent, warnings)?;
        match create::create_object(call, object, &options, warnings).await {
            Err(error) if error.reason == "AlreadyExists" => {}
            outcome => return represent::object(call, 201, &outcome?),
        }
    }
    let scope = call.scope(part.subresource());
    let propose = |old: &Value, warnings: &mut Warnings| {
        let mut object = intent.over(&scope, Some(old), warnings)?;
        let given = text(&intent.object, "resourceVersion");
        if !given.is_empty() {
            super::metadata::set(&mut object, "resourceVersion", given.into());
        }
        complete(call, object, warnings)
    };
    let stored = change(call, part, &propose, &options, warnings).await?;
    represent::object(call, 200, &stored)
}

fn new_object(call: &Call, intent: &Intent<'_>, warnings: &mut Warnings) -> Result<Value, ApiError> {
    let mut object = intent.over(&call.scope(""), None, warnings)?;
    let uid = text(&intent.object, "uid");
    if !uid.is_empty() {
        let cause = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(conflict_because(&call.served.resource, &call.name, &cause));
    }
    // Nothing is there whose version could be meant.
    remove(&mut object, "resourceVersion");
    complete(call, object, warnings)
}

/// Brings what an apply made into the form that is stored.
fn complete(call: &Call, mut object: Value, warnings: &mut Warnings) -> Result<Value, ApiError> {
    decode::check_location(call, &mut object, Place::Object)?;
    let quoted = object.to_string();
    let unknown = strategy::decode(call, &mut object, builtin::Dialect::Json)
        .map_err(|fault| invalid_patch(&quoted, &fault))?;
    warnings.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
    Ok(object)
}

/// What a request applies.
pub(super) struct Intent<'a> {
    object: Value,
    /// Keys that are there twice.
    faults: Vec<String>,
    writer: Writer,
    options: &'a WriteOptions,
}

impl<'a> Intent<'a> {
    /// Reads the intent of a request.
    pub(super) fn read(call: &Call, subresource: &str, options: &'a WriteOptions) -> Result<Self, ApiError> {
        let refused = |fault: &str| ApiError::bad_request(format!("error decoding YAML: {fault}"));
        let Decoded { value, faults } = decode_yaml(&call.body).map_err(|fault| refused(&fault))?;
        let object = match value {
            Value::Object(_) => value,
            Value::Null => serde_json::json!({}),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let found = go_json::type_name(&value);
                let fault = format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
                );
                return Err(refused(&fault));
            }
        };
        Ok(Self {
            object,
            faults,
            writer: call.writer(&options.manager, true, subresource),
            options,
        })
    }

    /// Lays the intent over an object, if there is one. Only an intent that is accepted is judged for its spelling.
    pub(super) fn over(
        &self,
        scope: &Scope,
        old: Option<&Value>,
        warnings: &mut Warnings,
    ) -> Result<Value, ApiError> {
        let intent = managed::Intent {
            object: &self.object,
            writer: &self.writer,
            force: self.options.how == How::ApplyByForce,
        };
        let object = managed::applied(scope, old, &intent, &timestamp())?;
        match self.options.validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => {
                let lines = self.faults.iter().flat_map(|fault| fault.lines().skip(1));
                warnings.extend(lines.map(|line| line.trim().to_owned()));
            }
            FieldValidation::Strict => {
                if let Some(fault) = self.faults.first() {
                    let text = format!("error strict decoding YAML: error converting YAML to JSON: {fault}");
                    return Err(ApiError::bad_request(text));
                }
            }
        }
        Ok(object)
    }
}
