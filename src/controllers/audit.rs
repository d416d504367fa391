//! The audit: a sample of the plans is checked against the invariants before it is applied.
//!
//! Decides which plans are checked: small ones always, large ones rarely, because a check costs about as much as the writes that
//! it looks at. Never repairs a plan: one that breaks an invariant is a bug, and is not applied at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tracing::error;

use crate::plan::{self, Plan};
use crate::snapshot::{Name, View};

/// Writes up to which every plan is checked.
const CHEAP: usize = 64;
/// How many plans of the largest sort pass for one that is checked.
const RAREST: u64 = 32;

/// Checks a sample of the plans.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Larger plans since the last one that was checked; the first one always is.
    passed: Option<u64>,
    /// Add-ons whose last checked plan was refused: all of theirs are checked until one is sound.
    suspects: BTreeSet<Name>,
    refused: Arc<AtomicU64>,
}

impl Audit {
    /// Returns how many plans were refused, for those who watch from outside.
    pub(super) fn refused(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.refused)
    }

    /// Returns whether a plan may be applied.
    pub(super) fn passes(&mut self, view: &View<'_>, plan: &Plan, now: Timestamp) -> bool {
        let addon = &view.addon.name;
        if !self.is_due(plan.actions.len()) && !self.suspects.contains(addon) {
            return true;
        }
        let broken = plan::check(view, plan, now);
        if broken.is_empty() {
            self.suspects.remove(addon);
            return true;
        }
        self.suspects.insert(addon.clone());
        let refused = self.refused.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        for sentence in broken {
            error!(%addon, broken = %sentence, refused, "a plan breaks an invariant and is not applied");
        }
        false
    }

    /// A plan of 64 writes is always checked, one of 640 every tenth time, the largest every 32nd time.
    fn is_due(&mut self, writes: usize) -> bool {
        if writes <= CHEAP {
            return true;
        }
        let every = u64::try_from(writes / CHEAP).unwrap_or(RAREST).min(RAREST);
        let passed = self.passed.map_or(every, |passed| passed.saturating_add(1));
        let due = passed >= every;
        self.passed = Some(if due { 0 } else { passed });
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_plans_are_always_checked_and_large_ones_rarely() {
        let mut audit = Audit::default();
        assert!((0..100).all(|_| audit.is_due(CHEAP)));
        let mut checked = |writes: usize, plans: usize| (0..plans).filter(|_| audit.is_due(writes)).count();
        assert_eq!(checked(10 * CHEAP, 100), 10);
        assert_eq!(checked(10_000 * CHEAP, 3_200), 100);
    }

    #[test]
    fn the_first_large_plan_is_checked() {
        assert!(Audit::default().is_due(10_000));
    }
}
