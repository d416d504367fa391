//! Why a value does not fit its type.

/// A value does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct Fault {
    /// Where, as messages of server-side apply write it: `.spec.ports[port=80]`.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    pub(crate) fn new(path: &crate::Path, what: impl Into<String>) -> Self {
        Self {
            path: path.to_string(),
            what: what.into(),
        }
    }
}
