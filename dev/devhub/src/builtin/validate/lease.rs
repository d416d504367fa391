//! Leases.

use ::schema::FieldError;
use serde_json::Value;

use crate::builtin::faults::invalid_value;

pub(super) fn validate(lease: &Value) -> Vec<FieldError> {
    let number = |member: &str| lease.pointer(&format!("/spec/{member}")).and_then(Value::as_i64);
    let mut errors = Vec::new();
    if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.push(invalid_value(
            "spec.leaseDurationSeconds",
            &seconds.into(),
            "must be greater than 0",
        ));
    }
    if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
        errors.push(invalid_value(
            "spec.leaseTransitions",
            &count.into(),
            "must be greater than or equal to 0",
        ));
    }
    errors
}
