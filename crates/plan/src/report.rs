//! What the status of one instance should be.
//!
//! Decides nothing (`progress`, `registration`); `diff` turns it into writes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::census::InstanceTally;
use super::change_event::Note;
use super::registration::Registering;
use super::types::WaitOn;
use super::version::Memory;
use store::{Condition, ConfigType, Instance, Reference};

/// What the status of one instance should be.
#[derive(Debug)]
pub(super) struct Report<'v> {
    /// The instance.
    pub instance: &'v Instance,
    /// `configReferences`
    pub references: Cow<'v, [Reference]>,
    /// `supportedConfigs`; absent when another program writes them.
    pub supported: Option<&'v BTreeSet<ConfigType>>,
    /// `currentVersion` and `lastVersion`
    pub memory: Memory,
    /// Whether the controllers report the health of the agent, so that no controller checks a lease.
    pub probes: bool,
    /// `conditions`
    pub conditions: Cow<'v, [Condition]>,
    /// How it counts for the add-on.
    pub standing: InstanceTally,
    /// Whether it has just arrived, so that the next plan hands its slot on.
    pub arrives: bool,
    /// The events.
    pub note: Option<Note>,
    /// What holds it.
    pub waits: Vec<WaitOn>,
    /// When to look at it again although nothing happened.
    pub recheck_at: Option<Timestamp>,
    /// What registration adds.
    pub registering: Registering<'v>,
}
