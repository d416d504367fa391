//! What is wrong with a plan, and what of it must not be written for that.
//!
//! Decides nothing about plans; `sound.rs` takes out what stands here.

use snapshot::Name;

/// An invariant that a plan breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    /// What is wrong, as a sentence.
    pub(super) sentence: String,
    /// What is spoilt by it.
    pub(super) spoilt: Spoilt,
}

/// What of a plan an invariant spoils: never more than it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spoilt {
    /// One write, by its place in the plan, and what its lane writes after it.
    Write(usize),
    /// What these clusters would be given.
    Moves(Vec<Name>),
    /// Every deletion of an instance.
    Removals,
    /// Only the time of the next plan.
    Recheck,
}

impl Broken {
    pub(super) fn new(spoilt: Spoilt, sentence: String) -> Self {
        Self { sentence, spoilt }
    }
}
