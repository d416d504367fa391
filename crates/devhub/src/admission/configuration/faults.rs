//! A list of field errors in Kubernetes' wording.
//!
//! Decides how a fault of a webhook configuration reads; never whether there is one.

use schema::{ErrorClass, FieldError};
use serde_json::Value;

/// Collects faults.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) list: Vec<FieldError>,
}

impl Faults {
    fn push(&mut self, field: &str, class: ErrorClass, message: String) {
        self.list.push(FieldError {
            field: field.to_owned(),
            class,
            message,
        });
    }

    /// A value must be there.
    pub(super) fn required(&mut self, field: &str, detail: &str) {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        self.push(field, ErrorClass::Required, message);
    }

    /// A value is not allowed.
    pub(super) fn invalid(&mut self, field: &str, value: &Value, detail: &str) {
        self.push(
            field,
            ErrorClass::Invalid,
            format!("Invalid value: {value}: {detail}"),
        );
    }

    /// A value is not one of `supported`.
    pub(super) fn unsupported(&mut self, field: &str, value: &Value, supported: &[&str]) {
        let quoted: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            quoted.join(", ")
        );
        self.push(field, ErrorClass::NotSupported, message);
    }

    /// A value stands twice.
    pub(super) fn duplicate(&mut self, field: &str, value: &Value) {
        self.push(field, ErrorClass::Duplicate, format!("Duplicate value: {value}"));
    }

    /// A field must not be set.
    pub(super) fn forbidden(&mut self, field: &str, detail: &str) {
        self.push(field, ErrorClass::Forbidden, format!("Forbidden: {detail}"));
    }
}
