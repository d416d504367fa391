//! How an object looks in another version.
//!
//! Decides nothing: the caller, which can convert objects, says it, or that it does not know yet.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// It is not known how an object looks in a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The version.
    pub version: String,
}

/// What the caller knows of how objects look in other versions.
pub trait Views: fmt::Debug {
    /// Returns an object of version `from` as it looks in version `to`.
    fn view<'v>(&self, object: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, Unseen>;
}

/// Objects look the same in all versions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alike;

impl Views for Alike {
    fn view<'v>(&self, object: &'v Value, _: &str, _: &str) -> Result<Cow<'v, Value>, Unseen> {
        Ok(Cow::Borrowed(object))
    }
}
