//! What the store remembers of rollouts: how far those over placements are.
//!
//! Never decides who moves.

use crate::record::{Applied, Condition, ConfigRef};
use model::Name;

/// One entry of `status.installProgressions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progression {
    /// Namespace of the placement.
    pub namespace: Name,
    /// Name of the placement.
    pub name: Name,
    /// What its clusters are configured with.
    pub references: Vec<ProgressionReference>,
    /// How far they are.
    pub conditions: Vec<Condition>,
}

/// One configuration of a progression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressionReference {
    /// The object.
    pub config: ConfigRef,
    /// Its hash, "" when unknown.
    pub desired: Name,
    /// What all clusters of the placement confirmed last.
    pub applied: Option<Applied>,
    /// What was last known to be good.
    pub known_good: Option<Applied>,
}
