//! Why a value does not fit its type.
//!
//! Decides how several faults are written as one text.

use std::fmt;

use crate::set::Path;

/// One place where a value does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, as messages of server-side apply write it: `.spec.ports[port=80]`.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

/// All places where a value does not fit its type; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl Fault {
    pub(crate) fn new(path: &Path, what: impl Into<String>) -> Self {
        Self {
            path: path.to_string(),
            what: what.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.path, self.what)
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(f),
            many => {
                f.write_str("errors:")?;
                many.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
            }
        }
    }
}
