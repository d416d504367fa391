//! The sample of plans: a part of the plans is checked against the invariants before it is applied, and a sample of those that were
//! made with a memo is made again without one.
//!
//! Decides which plans are checked: small ones always, large ones rarely, because a check costs about as much as the writes that
//! it looks at, and a second plan as much as the memo has saved. What breaks an invariant is a bug: it is taken out of the plan, and
//! nothing else is. Never repairs a write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tracing::error;

use plan::{self, Memo, Plan};
use snapshot::{Name, View};

/// Writes up to which every plan is checked.
const CHEAP: usize = 64;
/// How many plans of the largest sort pass for one that is checked.
const RAREST: u64 = 32;

/// How many plans of the largest add-ons pass for one that is made again without its memo.
const RAREST_AGAIN: u64 = 128;

/// Takes one of many; the first one always.
#[derive(Debug, Default)]
struct Sample {
    /// How many have passed since the last one that was taken.
    passed: Option<u64>,
}

/// Checks a sample of the plans.
#[derive(Debug, Default)]
pub(super) struct PlanSample {
    checked: Sample,
    made_again: Sample,
    /// Add-ons whose last checked plan was refused: all of theirs are checked until one is sound.
    suspects: BTreeSet<Name>,
    refused: Arc<AtomicU64>,
}

impl PlanSample {
    /// Returns how many plans were refused, for those who watch from outside.
    pub(super) fn refused(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.refused)
    }

    /// Returns what of a plan may be applied, and what is wrong with the whole, as sentences.
    pub(super) fn inspect(
        &mut self,
        view: &View<'_>,
        mut plan: Plan,
        memo: &Memo,
        now: Timestamp,
    ) -> (Plan, Vec<String>) {
        let addon = &view.addon.name;
        let is_suspect = self.suspects.contains(addon);
        let is_checked = self.checked.takes(plan.actions.len(), RAREST) || is_suspect;
        let unseen = memo.unseen();
        let is_made_again = unseen > 0 && (self.made_again.takes(unseen, RAREST_AGAIN) || is_suspect);
        let mut broken = Vec::new();
        if is_made_again {
            let whole = plan::addon(view, now);
            if plan != whole {
                broken.push(format!(
                    "it differs from the plan that looks at everything; this one has not looked at {unseen} instances"
                ));
                plan = whole;
            }
        }
        if is_checked || !broken.is_empty() {
            let (sound, told) = plan::sound(view, plan, now);
            plan = sound;
            broken.extend(told);
        }
        if broken.is_empty() {
            if is_checked {
                self.suspects.remove(addon);
            }
            return (plan, broken);
        }
        self.suspects.insert(addon.clone());
        let refused = self.refused.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        for sentence in &broken {
            error!(%addon, broken = %sentence, refused, "a plan breaks an invariant; that part of it is not applied");
        }
        (plan, broken)
    }
}

impl Sample {
    /// A plan of 64 writes is always checked, one of 640 every tenth time, the largest the rarest of all.
    fn takes(&mut self, writes: usize, rarest: u64) -> bool {
        if writes <= CHEAP {
            return true;
        }
        let every = u64::try_from(writes / CHEAP).unwrap_or(rarest).min(rarest);
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
        let mut sample = Sample::default();
        assert!((0..100).all(|_| sample.takes(CHEAP, RAREST)));
        let mut checked =
            |writes: usize, plans: usize| (0..plans).filter(|_| sample.takes(writes, RAREST)).count();
        assert_eq!(checked(10 * CHEAP, 100), 10);
        assert_eq!(checked(10_000 * CHEAP, 3_200), 100);
    }

    #[test]
    fn the_first_large_plan_is_checked() {
        assert!(Sample::default().takes(10_000, RAREST));
    }
}
