//! Faults of a definition, as its rules note them.
//!
//! Decides how a fault reads.

use schema::{ErrorClass, FieldError};
use serde_json::Value;

/// Collects faults of a definition.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Faults so far.
    pub(super) errors: Vec<FieldError>,
}

impl Findings {
    /// Notes a fault.
    pub(super) fn add(&mut self, field: &str, class: ErrorClass, message: impl Into<String>) {
        self.errors.push(FieldError {
            field: field.to_owned(),
            class,
            message: message.into(),
        });
    }

    /// Notes a value that is wrong.
    pub(super) fn invalid(&mut self, field: &str, value: &Value, cause: &str) {
        self.add(
            field,
            ErrorClass::Invalid,
            format!("Invalid value: {value}: {cause}"),
        );
    }

    /// Notes a value that is missing.
    pub(super) fn required(&mut self, field: &str, cause: &str) {
        let text = if cause.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {cause}")
        };
        self.add(field, ErrorClass::Required, text);
    }
}

/// Returns a text of a tree, empty if absent.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
