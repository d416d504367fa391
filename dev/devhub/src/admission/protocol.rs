//! The versions of the `AdmissionReview` protocol that the hub speaks.
//!
//! Decides how they are written.

/// A version of the `AdmissionReview` protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    V1,
    V1Beta1,
}

impl Protocol {
    /// Returns the version as written in `apiVersion`, without the group.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}
