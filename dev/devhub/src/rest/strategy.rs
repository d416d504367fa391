//! What an object of a kind must look like.
//!
//! Decides nothing itself: asks the schema for custom resources and the built-in rules for all others.

use schema::{Check, FieldError, Part as SchemaPart};
use serde_json::{Value, json};

use super::call::Call;
use super::metadata;
use super::part::Part;
use crate::admission::{Warnings, match_condition_faults, policy_faults};
use crate::builtin::Dialect;
use crate::hub::timestamp;
use crate::managed;
use crate::{builtin, crd};

fn is_definition(call: &Call) -> bool {
    call.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Brings a decoded object into its canonical form. Returns the paths of unknown fields; the error is Go's text for a wrong type.
pub(super) fn decode(call: &Call, object: &mut Value, dialect: Dialect) -> Result<Vec<String>, String> {
    let Some(custom) = &call.served.custom else {
        let unknown = builtin::decode::object(&call.served.resource, object, dialect)?;
        builtin::prepare::defaults(&call.served.resource, object);
        if is_definition(call) {
            crd::fill(object);
        }
        return Ok(unknown);
    };
    if let Some(fault) = custom.schema.metadata_fault(object) {
        return Err(fault);
    }
    let unknown = custom.schema.prune(object);
    custom.schema.apply_defaults(object);
    metadata::tidy(object);
    Ok(unknown)
}

/// Brings an object into its canonical form after admission changed it. Nothing is refused: what does not fit is dropped.
pub(super) fn settle(call: &Call, object: &mut Value) {
    match decode(call, object, Dialect::Json) {
        Ok(unknown) if !unknown.is_empty() => tracing::debug!(?unknown, "a webhook added unknown fields"),
        Ok(_) => {}
        Err(fault) => tracing::debug!(%fault, "a webhook set a value of a wrong type"),
    }
}

/// Fills defaults of a new object and what clients may not set.
pub(super) fn prepare_create(call: &Call, object: &mut Value) {
    if let Some(custom) = &call.served.custom {
        if call.served.resource.status
            && let Some(members) = object.as_object_mut()
        {
            members.remove("status");
            // As it comes back from storage: a status that has a default is there from the beginning.
            custom.schema.apply_defaults(object);
        }
    } else if is_definition(call) {
        crd::prepare_new(object);
    } else {
        builtin::prepare::create(&call.served.resource, object);
        if is_signing_request(call) {
            builtin::requests::sign_in(object, &user(call));
        }
    }
}

fn is_signing_request(call: &Call) -> bool {
    call.is(builtin::requests::GROUP, builtin::requests::PLURAL)
}

/// Returns who asks, as objects name it.
fn user(call: &Call) -> Value {
    let who = &call.user;
    json!({"username": who.name, "uid": who.uid, "groups": who.groups, "extra": who.extra})
}

/// Keeps what a change may not touch and fills defaults.
pub(super) fn prepare_update(call: &Call, part: Part, object: &mut Value, old: &Value) {
    if call.served.custom.is_some() {
        prepare_custom(call, part, object, old);
    } else if is_definition(call) {
        prepare_definition(part, object, old);
    } else {
        let resource = &call.served.resource;
        match part {
            Part::Object => builtin::prepare::update(resource, object, old),
            Part::Status => {
                builtin::prepare::update_status(resource, object, old);
                if is_signing_request(call) {
                    builtin::requests::keep_verdict(object, old, &timestamp());
                }
            }
            Part::Finalize => builtin::prepare::finalize_namespace(resource, object, old),
            Part::Approval => builtin::requests::approve(object, old, &timestamp()),
        }
    }
}

fn keep_member(object: &mut Value, from: &Value, name: &str) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    match from.get(name) {
        Some(value) => {
            members.insert(name.to_owned(), value.clone());
        }
        None => {
            members.remove(name);
        }
    }
}

fn prepare_custom(call: &Call, part: Part, object: &mut Value, old: &Value) {
    match part {
        Part::Status => keep_but_status(object, old),
        Part::Object | Part::Finalize | Part::Approval if call.served.resource.status => {
            keep_member(object, old, "status");
        }
        Part::Object | Part::Finalize | Part::Approval => {}
    }
}

/// A write of the status changes the status and its owners.
fn keep_but_status(object: &mut Value, old: &Value) {
    let mut base = old.clone();
    keep_member(&mut base, object, "status");
    match managed::raw(object) {
        Value::Null => metadata::remove(&mut base, "managedFields"),
        owners => metadata::set(&mut base, "managedFields", owners.clone()),
    }
    *object = base;
}

fn prepare_definition(part: Part, object: &mut Value, old: &Value) {
    if part == Part::Status {
        keep_but_status(object, old);
    } else {
        crd::prepare_changed(object, old);
    }
}

/// Returns the faults of a new object. Most warnings are for objects that are accepted.
pub(super) fn check_create(call: &Call, object: &Value, warnings: &mut Warnings) -> Vec<FieldError> {
    let (errors, texts) = judge_create(call, object, warnings);
    if errors.is_empty() {
        warnings.extend(texts);
    }
    errors
}

fn judge_create(call: &Call, object: &Value, always: &mut Warnings) -> (Vec<FieldError>, Vec<String>) {
    let mut warnings = Vec::new();
    let resource = &call.served.resource;
    let about = part(object, "metadata");
    if call.is_custom() {
        warnings.extend(builtin::metadata::finalizer_warnings(&about, None));
    }
    let metadata_faults = || builtin::metadata::validate(&about, resource.scope, call.traits().names);
    if call.is_custom() {
        let errors = check_custom(
            call,
            Written {
                about: Part::Object,
                object,
                old: None,
            },
            metadata_faults(),
            always,
        );
        return (errors, warnings);
    }
    if is_definition(call) {
        let mut errors = metadata_faults();
        crd::check_new(object, &mut errors, &mut warnings);
        return (errors, warnings);
    }
    let mut outcome = builtin::validate_create(resource, object);
    outcome.errors.extend(condition_faults(call, object));
    (outcome.errors, outcome.warnings)
}

fn condition_faults(call: &Call, object: &Value) -> Vec<FieldError> {
    let is_configuration = call.served.resource.group == "admissionregistration.k8s.io" && !call.is_custom();
    match call.served.resource.kind.as_str() {
        "ValidatingAdmissionPolicy" if is_configuration => policy_faults(object),
        _ if is_configuration => match_condition_faults(object),
        _ => Vec::new(),
    }
}

/// Returns the faults of a changed object. Most warnings are for objects that are accepted.
pub(super) fn check_update(
    call: &Call,
    about: Part,
    object: &Value,
    old: &Value,
    warnings: &mut Warnings,
) -> Vec<FieldError> {
    let (errors, texts) = judge_update(call, about, object, old, warnings);
    if errors.is_empty() {
        warnings.extend(texts);
    }
    errors
}

fn judge_update(
    call: &Call,
    about: Part,
    object: &Value,
    old: &Value,
    always: &mut Warnings,
) -> (Vec<FieldError>, Vec<String>) {
    let mut warnings = Vec::new();
    let (new, before) = (part(object, "metadata"), part(old, "metadata"));
    if call.is_custom() {
        warnings.extend(builtin::metadata::finalizer_warnings(&new, Some(&before)));
    }
    let metadata_faults = || builtin::metadata::validate_update(&new, &before);
    if call.is_custom() {
        let errors = check_custom(
            call,
            Written {
                about,
                object,
                old: Some(old),
            },
            metadata_faults(),
            always,
        );
        return (errors, warnings);
    }
    if is_definition(call) {
        let mut errors = metadata_faults();
        if about == Part::Status {
            crd::check_status(object, &mut errors);
        } else if !metadata::is_deleting(object) {
            crd::check_changed(object, old, &mut errors, &mut warnings);
        }
        return (errors, warnings);
    }
    let mut outcome = builtin::validate_update(&call.served.resource, object, old);
    outcome.errors.extend(condition_faults(call, object));
    (outcome.errors, outcome.warnings)
}

fn part(object: &Value, name: &str) -> Value {
    object.get(name).cloned().unwrap_or_default()
}

/// What a write makes of a custom resource.
#[derive(Clone, Copy)]
struct Written<'a> {
    about: Part,
    object: &'a Value,
    old: Option<&'a Value>,
}

fn check_custom(
    call: &Call,
    written: Written<'_>,
    mut errors: Vec<FieldError>,
    warnings: &mut Warnings,
) -> Vec<FieldError> {
    let Some(custom) = &call.served.custom else {
        return errors;
    };
    let Written { about, object, old } = written;
    let part = if about == Part::Status {
        SchemaPart::Status
    } else {
        SchemaPart::Whole
    };
    let outcome = custom.schema.check(&Check {
        stop: Default::default(),
        new: object,
        old,
        part,
        before: &errors,
    });
    errors.extend(outcome.errors);
    warnings.extend(outcome.warnings);
    errors
}
