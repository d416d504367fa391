//! How a client wants the reduced forms of objects.
//!
//! Decides which wishes are legal.

use crate::ApiError;

/// Version of `meta.k8s.io` that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// `meta.k8s.io/v1`.
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// Returns the version that the `v` parameter of a media type names.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    /// Returns the `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What a row carries besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The metadata of the object.
    Metadata,
    /// The whole object.
    Object,
}

impl Include {
    /// Reads the `includeObject` parameter; absent and empty mean metadata.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => Err(ApiError::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty",
                kubernetes::print::quote(other)
            ))),
        }
    }
}

/// How a client wants its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Version of the document.
    pub version: MetaVersion,
    /// What rows carry.
    pub include: Include,
}
