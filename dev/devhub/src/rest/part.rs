//! The parts of an object that have writes of their own.
//!
//! Decides which subresource writes which part.

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything that is not the status.
    Object,
    /// The status.
    Status,
    /// The finalizers of a namespace's spec.
    Finalize,
    /// The verdict on a certificate signing request.
    Approval,
}

impl Part {
    /// Returns the name of the subresource.
    pub(super) fn subresource(self) -> &'static str {
        match self {
            Self::Object => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
        }
    }
}
