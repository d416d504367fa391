//! What is between a plan and the hub: own writes that were not seen yet, what the hub refuses, what could not be read, and
//! how many removals the last minute had.
//!
//! Decides nothing. The shell records, plans show.

use std::collections::BTreeMap;

use super::expectations::Expectations;
use super::removals::Removals;
use crate::kind::{ObjectKey, Owner, Touched};
use model::Name;

/// The open ends of the writing side, by owner.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Own writes that the store has yet to see.
    pub(crate) expectations: Expectations,
    /// Those that have waited for the event at hand: it woke them up, and need not have changed anything.
    pub(crate) woken: Touched,
    /// What the hub refuses, by object: what it said.
    pub(crate) troubles: BTreeMap<Owner, BTreeMap<ObjectKey, Name>>,
    /// The reasons for removals that cannot be read again, and what the hub answers.
    pub(crate) unread: BTreeMap<Owner, BTreeMap<ObjectKey, Name>>,
    /// Objects that no list shows and that cannot be read, and what the hub answers.
    pub(crate) unreadable: BTreeMap<ObjectKey, Name>,
    /// The removals of the last minute.
    pub(crate) removals: Removals,
    /// Objects that could not be decoded, and why.
    pub(crate) faults: BTreeMap<ObjectKey, String>,
    /// Those that are not reported yet.
    pub(crate) new_faults: Vec<(ObjectKey, String)>,
}
