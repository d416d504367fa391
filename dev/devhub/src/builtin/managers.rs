//! `metadata.managedFields` of every object.
//!
//! Decides which managers may stand there; whether the fields can be read is decided elsewhere.

use ::schema::FieldError;
use serde_json::Value;

use super::faults::{invalid, list, text, too_long};

/// Bytes that the name of a manager may have.
const MAX_NAME: usize = 128;
/// Bytes that the name of a subresource may have.
const MAX_SUBRESOURCE: usize = 256;

/// Returns the faults of the list.
pub(super) fn validate(metadata: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (position, entry) in list(metadata, "/managedFields").iter().enumerate() {
        let at = |name: &str| format!("metadata.managedFields[{position}].{name}");
        let (operation, kind) = (text(entry, "/operation"), text(entry, "/fieldsType"));
        if !matches!(operation, "Apply" | "Update") {
            errors.push(invalid(
                &at("operation"),
                operation,
                "must be `Apply` or `Update`",
            ));
        }
        if !matches!(kind, "" | "FieldsV1") {
            errors.push(invalid(&at("fieldsType"), kind, "must be `FieldsV1`"));
        }
        let manager = text(entry, "/manager");
        if manager.len() > MAX_NAME {
            errors.push(too_long(&at("manager"), MAX_NAME));
        }
        if let Some((place, bad)) = manager.char_indices().find(|(_, letter)| letter.is_control()) {
            let what = format!("invalid character U+{:04X} (at position {place})", u32::from(bad));
            errors.push(invalid(&at("manager"), manager, &what));
        }
        if text(entry, "/subresource").len() > MAX_SUBRESOURCE {
            errors.push(too_long(&at("subresource"), MAX_SUBRESOURCE));
        }
    }
    errors
}
