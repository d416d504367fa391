//! How much one rule may look at for one object.
//!
//! Decides when a rule has to give up. Counts steps and never time, so that the same question has the same answer
//! on every machine.

use std::cell::Cell;

/// Steps that one rule may take; each looks at one fact or one piece of text.
const STEPS: usize = 400_000;

/// What is left of the steps of one rule.
#[derive(Debug)]
pub(super) struct Effort(Cell<Option<usize>>);

impl Default for Effort {
    fn default() -> Self {
        Self(Cell::new(Some(STEPS)))
    }
}

impl Effort {
    /// Gives the next rule all steps.
    pub(super) fn refill(&self) {
        self.0.set(Some(STEPS));
    }

    /// Takes steps; tells whether there were enough. A rule that hears no stops, and says so instead of what it found.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().and_then(|left| left.checked_sub(steps));
        self.0.set(left);
        left.is_some()
    }

    /// Tells whether the rule wanted more than there was.
    pub(super) fn is_exceeded(&self) -> bool {
        self.0.get().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_out_and_stay_so() {
        let effort = Effort::default();
        assert!(effort.spend(STEPS - 1) && effort.spend(1) && !effort.is_exceeded());
        assert!(!effort.spend(1) && effort.is_exceeded());
        assert!(!effort.spend(0), "what is exceeded stays exceeded");
        effort.refill();
        assert!(effort.spend(STEPS));
    }
}
