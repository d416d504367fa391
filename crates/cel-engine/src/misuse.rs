//! What an expression is written for, and what it then may not use.
//!
//! Holds facts only; the checks that find a misuse stand above.

/// What an expression is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A rule, a condition, a message.
    Judgement,
    /// A mutation: it may make `Object{}` and `JSONPatch{}` values.
    Mutation,
}

/// A use of something that does not exist, and where.
pub(super) struct Misuse {
    pub(super) id: u64,
    pub(super) words: String,
    pub(super) unsupported: bool,
}
