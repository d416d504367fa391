//! Constructors of field errors in the words of Kubernetes.

use ::schema::{ErrorClass, FieldError};
use serde_json::Value;

use kubernetes::print::quote;

fn fault(class: ErrorClass, field: &str, message: String) -> FieldError {
    FieldError {
        field: field.to_owned(),
        class,
        message,
    }
}

pub(super) fn required(field: &str, detail: &str) -> FieldError {
    let message = if detail.is_empty() {
        "Required value".to_owned()
    } else {
        format!("Required value: {detail}")
    };
    fault(ErrorClass::Required, field, message)
}

pub(super) fn invalid(field: &str, value: &str, detail: &str) -> FieldError {
    fault(
        ErrorClass::Invalid,
        field,
        format!("Invalid value: {}: {detail}", quote(value)),
    )
}

pub(super) fn invalid_value(field: &str, value: &Value, detail: &str) -> FieldError {
    fault(
        ErrorClass::Invalid,
        field,
        format!("Invalid value: {value}: {detail}"),
    )
}

pub(super) fn forbidden(field: &str, detail: &str) -> FieldError {
    fault(ErrorClass::Forbidden, field, format!("Forbidden: {detail}"))
}

pub(super) fn duplicate(field: &str, value: &str) -> FieldError {
    fault(
        ErrorClass::Duplicate,
        field,
        format!("Duplicate value: {}", quote(value)),
    )
}

pub(super) fn too_long(field: &str, limit: usize) -> FieldError {
    fault(
        ErrorClass::TooLong,
        field,
        format!("Too long: may not be more than {limit} bytes"),
    )
}

/// `supported` must be sorted, as Kubernetes prints it.
pub(super) fn unsupported(field: &str, value: &str, supported: &[&str]) -> FieldError {
    let supported: Vec<String> = supported.iter().map(|value| quote(value)).collect();
    fault(
        ErrorClass::NotSupported,
        field,
        format!(
            "Unsupported value: {}: supported values: {}",
            quote(value),
            supported.join(", ")
        ),
    )
}

/// Returns the text at `pointer`, or an empty one.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the list at `pointer`, or an empty one.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
