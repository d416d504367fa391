//! What an approval is about.
//!
//! Decides nothing.

/// What an approval is about: a placement as `namespace/name`, a decision group of it, and the hash of the content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Approval {
    /// The placement.
    pub place: String,
    /// The decision group: its name, or its index where it has none.
    pub group: String,
    /// The hash of the content.
    pub hash: String,
}
