//! How much one rule may look at for one object.
//!
//! Decides when a rule has to give up. Counts steps and never time, so that the same question has the same answer
//! on every machine; a caller with a clock may stop it from outside. What an object holds reaches a rule as [`Items`], which
//! it cannot go through without paying.

use std::cell::Cell;

use schema::Stop;
use serde_json::Value;

/// Steps that one rule may take; each looks at one item of the object, one fact, or one short piece of text.
const STEPS: usize = 400_000;
/// Bytes of text that one step may look at.
const BYTES: usize = 64;
/// The most findings of one object that say what was probably meant; more are not shown.
const HINTS: usize = 20;

/// What is left of the steps of one rule.
#[derive(Debug)]
pub(super) struct StepBudget<'a> {
    left: Cell<Option<usize>>,
    hints: Cell<usize>,
    stop: &'a Stop,
}

impl Default for StepBudget<'_> {
    fn default() -> Self {
        Self::until(Default::default())
    }
}

impl<'a> StepBudget<'a> {
    /// Returns all steps, which end when `stop` is flipped.
    pub(super) fn until(stop: &'a Stop) -> Self {
        Self {
            left: Cell::new(Some(STEPS)),
            hints: Cell::new(HINTS),
            stop,
        }
    }

    /// Gives the next rule all steps.
    pub(super) fn refill(&self) {
        self.left.set(Some(STEPS));
    }

    /// Takes steps; tells whether there were enough. A rule that hears no stops; that it gave up is said for it.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.left.get().filter(|_| !self.stop.is_stopped());
        let left = left.and_then(|left| left.checked_sub(steps));
        self.left.set(left);
        left.is_some()
    }

    /// Takes the steps for a text that is read once.
    pub(super) fn read(&self, text: &str) -> bool {
        self.spend((text.len() / BYTES).saturating_add(1))
    }

    /// Tells whether two values are the same, and pays for what it compares. What it could not afford is different.
    pub(super) fn same(&self, one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Array(these), Value::Array(those)) => {
                let mut pairs = these.iter().zip(those);
                self.spend(1) && these.len() == those.len() && pairs.all(|(this, that)| self.same(this, that))
            }
            (Value::Object(these), Value::Object(those)) => {
                let mut members = these.iter();
                self.spend(1)
                    && these.len() == those.len()
                    && members.all(|(name, this)| those.get(name).is_some_and(|that| self.same(this, that)))
            }
            (Value::String(this), Value::String(that)) => self.read(this) && this == that,
            (one, other) => self.spend(1) && one == other,
        }
    }

    /// Returns what was probably meant; nothing when enough findings have said so.
    pub(super) fn hint<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        let left = self.hints.get().checked_sub(1)?;
        self.hints.set(left);
        look()
    }

    /// Tells whether the rule wanted more than there was.
    pub(super) fn is_exceeded(&self) -> bool {
        self.left.get().is_none()
    }
}

/// What is in a list or map of the object, however long its author made it.
#[derive(Clone, Debug)]
pub(super) struct Items<T>(Vec<T>);

impl<T> Items<T> {
    /// Returns the items one after another, each for a step; ends early when there are no steps left.
    pub(super) fn each<'s>(&'s self, effort: &'s StepBudget<'_>) -> impl Iterator<Item = &'s T> {
        self.0.iter().take_while(|_| effort.spend(1))
    }

    /// Returns one of them.
    pub(super) fn at(&self, index: usize) -> Option<&T> {
        self.0.get(index)
    }

    /// Tells whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<T> for Items<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn steps_run_out_and_stay_so() {
        let effort = StepBudget::default();
        assert!(effort.spend(STEPS - 1) && effort.spend(1) && !effort.is_exceeded());
        assert!(!effort.spend(1) && effort.is_exceeded());
        assert!(!effort.spend(0), "what is exceeded stays exceeded");
        effort.refill();
        assert!(effort.spend(STEPS));
    }

    #[test]
    fn whoever_stops_it_ends_it_in_the_middle_of_a_list() {
        let (stop, items) = (Stop::new(), (0..10).collect::<Items<i32>>());
        let effort = StepBudget::until(&stop);
        let seen = items.each(&effort).inspect(|item| {
            if **item == 3 {
                stop.stop();
            }
        });
        assert_eq!(seen.count(), 4);
        assert!(effort.is_exceeded());
        effort.refill();
        assert!(!effort.spend(1), "the next rule has no more time either");
    }

    #[test]
    fn an_item_costs_a_step_and_a_long_text_several() {
        let effort = StepBudget::default();
        let items: Items<usize> = (0..=STEPS).collect();
        assert_eq!(items.each(&effort).count(), STEPS);
        assert!(effort.is_exceeded());
        effort.refill();
        let long = "x".repeat(BYTES * (STEPS - 1));
        assert!(effort.read(&long) && !effort.read(""));
    }

    #[test]
    fn comparing_is_paid_for() {
        let effort = StepBudget::default();
        let big = json!({"a": vec![json!({"b": "c"}); 1000]});
        assert!(effort.same(&big, &big.clone()));
        assert!(!effort.same(&big, &json!({"a": 1})));
        assert!(!effort.spend(STEPS - 1000), "a thousand items were looked at");
    }

    #[test]
    fn only_the_first_findings_look_for_what_was_meant() {
        let effort = StepBudget::default();
        let found = (0..HINTS * 2).filter_map(|number| effort.hint(|| Some(number)));
        assert_eq!(found.count(), HINTS);
    }
}
