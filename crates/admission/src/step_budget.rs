//! The step budget of one rule for one object.
//!
//! The budget counts steps and not time, so that the same request has the same result on every machine; a caller with a clock can stop it
//! from outside. Rules get the lists and maps of an object as [`Items`], and iterating them costs steps.

use std::cell::Cell;

use schema::Stop;
use serde_json::Value;

/// The steps of one rule. Each step reads one item of the object, one fact, or one short text.
const STEPS: usize = 400_000;
/// The bytes of text that one step reads.
const BYTES: usize = 64;
/// The maximum number of findings of one object with a suggestion.
const HINTS: usize = 20;

/// The remaining steps of one rule.
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
    /// Returns the full budget, which ends when `stop` is set.
    pub(super) fn until(stop: &'a Stop) -> Self {
        Self {
            left: Cell::new(Some(STEPS)),
            hints: Cell::new(HINTS),
            stop,
        }
    }

    /// Resets the budget for the next rule.
    pub(super) fn refill(&self) {
        self.left.set(Some(STEPS));
    }

    /// Takes steps, and returns whether there were enough. If not, the rule returns, and its caller reports that it did not finish.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.left.get().filter(|_| !self.stop.is_stopped());
        let left = left.and_then(|left| left.checked_sub(steps));
        self.left.set(left);
        left.is_some()
    }

    /// Takes the steps for reading a text once.
    pub(super) fn read(&self, text: &str) -> bool {
        self.spend((text.len() / BYTES).saturating_add(1))
    }

    /// Returns whether two values are equal, and takes steps for the comparison. Without enough steps they count as different.
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

    /// Returns a suggestion; `None` if enough findings have one.
    pub(super) fn hint<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        let left = self.hints.get().checked_sub(1)?;
        self.hints.set(left);
        look()
    }

    /// Returns whether the rule needed more steps than it had.
    pub(super) fn is_exceeded(&self) -> bool {
        self.left.get().is_none()
    }
}

/// The items of a list or map of the object, of any length.
#[derive(Clone, Debug)]
pub(super) struct Items<T>(Vec<T>);

impl<T> Items<T> {
    /// Returns the items; each one costs a step. Ends early if no steps are left.
    pub(super) fn each<'s>(&'s self, effort: &'s StepBudget<'_>) -> impl Iterator<Item = &'s T> {
        self.0.iter().take_while(|_| effort.spend(1))
    }

    /// Returns one item.
    pub(super) fn at(&self, index: usize) -> Option<&T> {
        self.0.get(index)
    }

    /// Returns whether there are no items.
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
    fn who_stops_it_ends_it_in_the_middle_of_a_list() {
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
