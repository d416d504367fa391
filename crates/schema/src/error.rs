//! One fault of one field, in the form that Kubernetes prints it.
//!
//! Decides how a fault reads; never decides whether there is one.

use std::fmt;

/// Class of a fault, as Kubernetes names it in `details.causes[].reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// A value that must be there is absent (`FieldValueRequired`).
    Required,
    /// A value is not allowed (`FieldValueInvalid`).
    Invalid,
    /// A value has the wrong JSON type (`FieldValueTypeInvalid`).
    TypeInvalid,
    /// A value is not one of the legal ones (`FieldValueNotSupported`).
    NotSupported,
    /// A list item stands twice (`FieldValueDuplicate`).
    Duplicate,
    /// A field must not be set (`FieldValueForbidden`).
    Forbidden,
    /// A referenced thing does not exist (`FieldValueNotFound`).
    NotFound,
    /// A string is too long (`FieldValueTooLong`).
    TooLong,
    /// A list or map has too many items (`FieldValueTooMany`).
    TooMany,
    /// The server failed while it checked (`InternalError`).
    Internal,
}

impl ErrorClass {
    /// Returns the reason that stands in `Status.details.causes[].reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotFound => "FieldValueNotFound",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
        }
    }
}

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
