//! The strategies of a placement, a module for each: what the parser, the engine, the gate and the tools ask of one.
//!
//! Decides names, settings and which clusters go together. Knows no cluster.

use std::ops::Deref;

use super::limit::{Limit, Tolerance};
use super::rollout::RawBlock;
use super::scalar::Scalar;
use api::v1alpha1 as wire;
use kubernetes::field::{Class, Fault, listed, nearest, quoted};

mod all;
mod progressive;
mod progressive_per_group;

/// How a change is rolled out to the clusters of a placement.
pub trait Strategy: Sync {
    /// Returns the name that `type` takes.
    fn name(&self) -> &'static str;

    /// Returns the key of the block with its settings.
    fn block(&self) -> &'static str;

    /// Returns the leaves of its block.
    fn settings<'a>(&self, of: &'a wire::RolloutStrategy) -> Option<RawBlock<'a>>;

    /// Returns how those go that are in no mandatory group; `limit` is `maxConcurrency`, `per_group` the placement's own size
    /// of groups.
    fn rest(&self, limit: Option<Limit>, per_group: Option<Limit>) -> Rest;

    /// Tells whether `mandatoryDecisionGroups` has a meaning.
    fn has_mandatory_groups(&self) -> bool {
        true
    }

    /// Tells whether `maxConcurrency` has a meaning.
    fn has_limit(&self) -> bool {
        false
    }

    /// Returns how many clusters may fail before no further cluster starts; nothing where failures never stop it.
    fn stops_after(&self, max_failures: Tolerance) -> Option<Tolerance> {
        Some(max_failures)
    }
}

/// How those go that are in no mandatory group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// In the order of the list, so many at once.
    Within(Limit),
    /// Group after group, the whole of a group at once.
    GroupByGroup,
}

/// One of the strategies.
#[derive(Clone, Copy)]
pub struct RolloutKind(&'static dyn Strategy);

impl RolloutKind {
    /// Every strategy, in the order in which messages list them.
    pub const EVERY: [Self; 3] = [
        Self(&all::All),
        Self(&progressive::Progressive),
        Self(&progressive_per_group::ProgressivePerGroup),
    ];

    /// Reads the `type` of a strategy; nothing and an empty text mean the default, as the CRD has it.
    pub fn parse(value: Option<Scalar<'_>>) -> Result<Self, Fault> {
        let Some(value) = value else {
            return Ok(Self::default());
        };
        let text = value.text("Progressive")?;
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut every = Self::EVERY.into_iter();
        every.find(|kind| kind.name() == text).ok_or_else(|| {
            let names = || Self::EVERY.into_iter().map(|kind| kind.name());
            let hint = nearest(text, names()).map(|name| format!("did you mean {}?", quoted(name)));
            let detail = format!("supported values: {}", listed(names()));
            Fault::of_text(Class::NotSupported, text, detail).hint_if(hint)
        })
    }

    /// Tells whether all clusters of a decision group go at once, group after group.
    pub fn uses_groups(self) -> bool {
        self.rest(None, None) == Rest::GroupByGroup
    }
}

impl Default for RolloutKind {
    fn default() -> Self {
        Self(&all::All)
    }
}

impl Deref for RolloutKind {
    type Target = dyn Strategy;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl PartialEq for RolloutKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for RolloutKind {}

impl std::fmt::Debug for RolloutKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
