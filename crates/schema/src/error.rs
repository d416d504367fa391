//! One fault of one field, in the form that Kubernetes prints it.
//!
//! Decides how a fault reads; never decides whether there is one.

use std::fmt;

pub use kubernetes::error_class::ErrorClass;

/// One fault of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, such as `spec.items[0].name`; `<nil>` where Kubernetes has none.
    pub field: String,
    /// Class of the fault.
    pub class: ErrorClass,
    /// Everything after `field: `, for instance `Invalid value: 500: spec.size in body should be …`.
    pub message: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
