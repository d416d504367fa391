//! Where a schema stands in the one around it.
//!
//! Decides nothing: what differs from place to place is told by those who ask.

/// Where a schema stands: some rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The schema of the resource itself.
    Root,
    /// The schema of a member.
    Field,
    /// The schema of list items.
    Item,
    /// Inside `allOf`, `anyOf`, `oneOf` or `not`: only checks, no structure.
    Nested,
}
