//! Who goes with whom by a rollout strategy: what the planner moves by, and what the gate tells of it before.
//!
//! Decides which groups go first, and how many of the others go together. Knows no cluster.

use super::limit::Limit;
use super::rollout::{MandatoryGroup, RolloutStrategy};

/// How those go that are in no mandatory group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// In the order of the list, so many at once.
    Within(Limit),
    /// Group after group, the whole of a group at once.
    GroupByGroup,
}

impl RolloutStrategy {
    /// Returns the groups that go first, one after the other.
    pub fn mandatory(&self) -> &[MandatoryGroup] {
        match self {
            Self::All(_) => &[],
            Self::Progressive { groups, .. } | Self::ProgressivePerGroup { groups, .. } => groups,
        }
    }

    /// Returns how the others go; `per_group` is the placement's own size of groups.
    pub fn rest(&self, per_group: Option<Limit>) -> Rest {
        match self {
            Self::All(_) => Rest::Within(Limit::All),
            Self::Progressive { limit, .. } => {
                Rest::Within(chosen(*limit).or_else(|| chosen(per_group)).unwrap_or(Limit::All))
            }
            Self::ProgressivePerGroup { .. } => Rest::GroupByGroup,
        }
    }
}

impl MandatoryGroup {
    /// Tells whether a group of this index and name is meant.
    pub fn means(&self, index: u32, name: &str) -> bool {
        match self {
            Self::Named(named) => named == name,
            Self::At(at) => *at == index,
        }
    }
}

/// Zero is read as "nothing given".
fn chosen(limit: Option<Limit>) -> Option<Limit> {
    limit.filter(|limit| *limit != Limit::All)
}
