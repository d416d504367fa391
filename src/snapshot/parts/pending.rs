//! What is between a plan and the hub: own writes that were not seen yet, what the hub refuses, what could not be read, and
//! how many removals the last minute had.
//!
//! Decides nothing. The shell records, plans show.

use std::collections::BTreeMap;

use super::expectations::Expectations;
use super::removals::Removals;
use crate::snapshot::kind::{ObjectKey, Owner, Touched};
use crate::snapshot::name::Name;

/// The open ends of the writing side, by owner.
#[derive(Debug, Default)]
pub(in crate::snapshot) struct Pending {
    /// Own writes that the store has yet to see.
    pub(in crate::snapshot) expectations: Expectations,
    /// Those that have waited for the event at hand: it woke them up, and need not have changed anything.
    pub(in crate::snapshot) woken: Touched,
    /// What the hub refuses, by object: what it said.
    pub(in crate::snapshot) troubles: BTreeMap<Owner, BTreeMap<ObjectKey, Name>>,
    /// What of the last plan broke an invariant, and was not even tried: the first broken sentence.
    pub(in crate::snapshot) refusals: BTreeMap<Owner, Name>,
    /// The first reason for removals that the hub does not show again, and what it answers.
    pub(in crate::snapshot) unread: BTreeMap<Owner, (ObjectKey, Name)>,
    /// The removals of the last minute.
    pub(in crate::snapshot) removals: Removals,
    /// Objects that could not be decoded, and why.
    pub(in crate::snapshot) faults: BTreeMap<ObjectKey, String>,
    /// Those that nobody was told of yet.
    pub(in crate::snapshot) new_faults: Vec<(ObjectKey, String)>,
}
