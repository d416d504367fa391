//! How many instances of an add-on may go in a minute, and how many went.
//!
//! Decides the size of a budget. Never decides whose removal counts (`plan::install`); remembers nothing beyond a minute.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use model::Name;
use model::Percent;

/// The time in which removals are counted.
pub(crate) const WINDOW: SignedDuration = SignedDuration::from_mins(1);
/// How far ahead the time may lie until which an add-on's removals go without a budget.
pub(crate) const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// How many instances of an add-on may be removed in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalBudget {
    /// All of them.
    Unlimited,
    /// The larger of a number and a share of the add-on's instances.
    AtMost {
        /// The number; an add-on with no more instances has no budget at all.
        instances: usize,
        /// The share.
        share: Percent,
    },
}

impl Default for RemovalBudget {
    fn default() -> Self {
        Self::AtMost {
            instances: 20,
            share: const { Percent::new(10).expect("ten is at most a hundred") },
        }
    }
}

impl RemovalBudget {
    /// Reads `20,10%`, `50`, `5%` and `unlimited`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "unlimited" {
            return Some(Self::Unlimited);
        }
        let (mut instances, mut share) = (None, None);
        for part in text.split(',').map(str::trim) {
            let known = match part.strip_suffix('%') {
                Some(percent) => share
                    .replace(percent.trim().parse().ok().and_then(Percent::new)?)
                    .is_some(),
                None => instances.replace(part.parse().ok()?).is_some(),
            };
            if known {
                return None;
            }
        }
        Some(Self::AtMost {
            instances: instances.unwrap_or_default(),
            share: share.or(Percent::new(0))?,
        })
    }
}

/// Returns how many of so many instances may go in a minute; `None` when that is not limited.
pub(crate) fn limit_of(budget: RemovalBudget, total: usize) -> Option<usize> {
    match budget {
        RemovalBudget::Unlimited => None,
        RemovalBudget::AtMost { instances, share } => {
            (total > instances).then(|| instances.max(share.of(total)).max(1))
        }
    }
}

/// The removals of the last minute, by add-on.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    pub(crate) lately: BTreeMap<Name, VecDeque<(Timestamp, usize)>>,
    /// Since when this program writes, if it can be that another one wrote just before.
    pub(crate) since: Option<Timestamp>,
}

/// Returns whether what happened at a moment counts no more.
pub(crate) fn is_over(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) >= WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_the_larger_of_a_number_and_a_share() {
        for (text, total, expected) in [
            ("20,10%", 20, None),
            ("20,10%", 21, Some(20)),
            ("20,10%", 3_000, Some(300)),
            ("10%", 5, Some(1)),
            ("10%", 0, None),
            ("50", 51, Some(50)),
            ("0", 7, Some(1)),
            ("unlimited", 3_000, None),
        ] {
            let budget = RemovalBudget::parse(text).expect(text);
            assert_eq!(limit_of(budget, total), expected, "{text} of {total}");
        }
        for text in ["", "x", "101%", "-1", "10%,20%", "5,6", "20;10%"] {
            assert_eq!(RemovalBudget::parse(text), None, "{text}");
        }
        assert_eq!(RemovalBudget::parse("20, 10%"), Some(RemovalBudget::default()));
    }
}
