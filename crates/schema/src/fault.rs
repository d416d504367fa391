//! Builds field errors with the texts of Kubernetes' `field.Error`.
//!
//! Decides the words around a value; never decides whether a value is wrong.

use crate::error::{ErrorClass, FieldError};
use crate::path::Path;
use serde_json::Value;

/// Text of the cause that stands for all rules that were skipped.
const RULES_SKIPPED: &str = "Invalid value: null: some validation rules were not checked because the object \
                             was invalid; correct the existing errors to complete validation";

fn fault(path: &Path<'_>, class: ErrorClass, message: String) -> FieldError {
    FieldError {
        field: path.field(),
        class,
        message,
    }
}

fn with_detail(mut head: String, detail: &str) -> String {
    if !detail.is_empty() {
        head.push_str(": ");
        head.push_str(detail);
    }
    head
}

/// Prints a value as the `BadValue` of a field error: strings quoted, composites as JSON.
fn bad_value(value: &Value) -> String {
    match value {
        Value::String(text) => kubernetes::print::quote(text),
        Value::Number(digits) => kubernetes::print::number(digits),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => kubernetes::print::json(value),
    }
}

/// `Required value[: detail]`.
pub(crate) fn required(path: &Path<'_>, detail: &str) -> FieldError {
    fault(
        path,
        ErrorClass::Required,
        with_detail("Required value".to_owned(), detail),
    )
}

/// `Invalid value: <value>: detail`.
pub(crate) fn invalid(path: &Path<'_>, value: &Value, detail: &str) -> FieldError {
    invalid_printed(path, &bad_value(value), detail)
}

/// `Invalid value: <printed>: detail`, for a value that is printed already.
pub(crate) fn invalid_printed(path: &Path<'_>, printed: &str, detail: &str) -> FieldError {
    fault(
        path,
        ErrorClass::Invalid,
        with_detail(format!("Invalid value: {printed}"), detail),
    )
}

/// `Invalid value: detail`: Kubernetes leaves objects and lists out of the texts of rules.
pub(crate) fn invalid_omitting(path: &Path<'_>, detail: &str) -> FieldError {
    fault(
        path,
        ErrorClass::Invalid,
        with_detail("Invalid value".to_owned(), detail),
    )
}

/// `Invalid value: "got": <name> in body must be of type <wanted>: "got"`.
pub(crate) fn wrong_type(path: &Path<'_>, wanted: &str, got: &str) -> FieldError {
    let got = kubernetes::print::quote(got);
    let message = format!(
        "Invalid value: {got}: {} in body must be of type {wanted}: {got}",
        path.name()
    );
    fault(path, ErrorClass::TypeInvalid, message)
}

/// `Unsupported value: <value>: supported values: "a", "b"`.
pub(crate) fn not_supported<'a>(
    path: &Path<'_>,
    value: &Value,
    legal: impl IntoIterator<Item = &'a str>,
) -> FieldError {
    let legal: Vec<String> = legal.into_iter().map(kubernetes::print::quote).collect();
    let message = format!(
        "Unsupported value: {}: supported values: {}",
        bad_value(value),
        legal.join(", ")
    );
    fault(path, ErrorClass::NotSupported, message)
}

/// `Forbidden: detail`.
pub(crate) fn forbidden(path: &Path<'_>, detail: &str) -> FieldError {
    fault(
        path,
        ErrorClass::Forbidden,
        with_detail("Forbidden".to_owned(), detail),
    )
}

/// `Duplicate value: <value>`.
pub(crate) fn duplicate(path: &Path<'_>, value: &Value) -> FieldError {
    fault(
        path,
        ErrorClass::Duplicate,
        format!("Duplicate value: {}", bad_value(value)),
    )
}

/// `Duplicate value`: Kubernetes leaves objects and lists out of the texts of rules.
pub(crate) fn duplicate_omitting(path: &Path<'_>) -> FieldError {
    fault(path, ErrorClass::Duplicate, "Duplicate value".to_owned())
}

/// `Too long: may not be more than N bytes`.
pub(crate) fn too_long(path: &Path<'_>, most: u64) -> FieldError {
    let unit = if most == 1 { "byte" } else { "bytes" };
    fault(
        path,
        ErrorClass::TooLong,
        format!("Too long: may not be more than {most} {unit}"),
    )
}

/// `Too many: N: must have at most M items`.
pub(crate) fn too_many(path: &Path<'_>, count: usize, most: u64) -> FieldError {
    let unit = if most == 1 { "item" } else { "items" };
    fault(
        path,
        ErrorClass::TooMany,
        format!("Too many: {count}: must have at most {most} {unit}"),
    )
}

/// A fault of this server, not of the object: something that it cannot do.
pub(crate) fn internal(path: &Path<'_>, detail: &str) -> FieldError {
    fault(
        path,
        ErrorClass::Internal,
        with_detail("Internal error".to_owned(), detail),
    )
}

/// The cause without a field that says that rules were left unchecked.
pub(crate) fn rules_skipped() -> FieldError {
    fault(&Path::root(""), ErrorClass::Invalid, RULES_SKIPPED.to_owned())
}

/// Tells whether a fault keeps Kubernetes from evaluating any rule.
pub(crate) fn blocks_rules(fault: &FieldError) -> bool {
    match fault.class {
        ErrorClass::Required
        | ErrorClass::TypeInvalid
        | ErrorClass::NotSupported
        | ErrorClass::TooLong
        | ErrorClass::TooMany => true,
        ErrorClass::Invalid
        | ErrorClass::Duplicate
        | ErrorClass::Forbidden
        | ErrorClass::NotFound
        | ErrorClass::Internal => false,
    }
}
