//! The classes of field errors.
//!
//! Decides how each is named, in a message and in a status; never which fault is of which class.

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
    /// Returns the words that open a field error of this class.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    /// Returns the same in plain words, for a message that is no error.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Required => "is required",
            Self::Invalid | Self::TypeInvalid => "is not valid",
            Self::NotSupported => "is not supported",
            Self::Duplicate => "is listed twice",
            Self::Forbidden => "must not be set",
            Self::NotFound => "does not exist",
            Self::TooLong => "is too long",
            Self::TooMany => "has too many items",
            Self::Internal => "could not be checked",
        }
    }

    /// Returns the reason that is in `Status.details.causes[].reason`.
    pub const fn reason(self) -> &'static str {
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
