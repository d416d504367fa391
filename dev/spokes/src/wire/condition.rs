//! Conditions: how one is merged into a list. A time moves only when the status flips, as everywhere in Kubernetes.

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The three values that a condition's status takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known whether it holds.
    #[default]
    Unknown,
}

/// A condition in the standard form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What the condition is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: Truth,
    /// Why, in one word for machines.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// When the status last flipped.
    pub last_transition_time: String,
    /// The generation that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// Returns a condition without a time; `merge_into` gives it one.
    pub fn new(kind: &str, status: Truth, reason: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Returns the same condition, said of this generation.
    #[must_use]
    pub fn observing(mut self, generation: i64) -> Self {
        self.observed_generation = Some(generation);
        self
    }

    /// Puts this condition into the list, in the place of the one with the same type.
    pub fn merge_into(mut self, list: &mut Vec<Self>, now: Timestamp) {
        if let Some(known) = list.iter_mut().find(|known| known.kind == self.kind) {
            let flipped = known.status != self.status || known.last_transition_time.is_empty();
            self.last_transition_time = if flipped {
                render_time(now)
            } else {
                known.last_transition_time.clone()
            };
            *known = self;
        } else {
            self.last_transition_time = render_time(now);
            list.push(self);
        }
    }
}

/// Returns a time as Kubernetes writes it: UTC, whole seconds.
pub fn render_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number of seconds is a time")
    }

    #[test]
    fn the_time_moves_only_when_the_status_flips() {
        let mut list = Vec::new();
        Condition::new("Applied", Truth::True, "Done", "").merge_into(&mut list, at(0));
        Condition::new("Applied", Truth::True, "Again", "said otherwise").merge_into(&mut list, at(60));
        assert_eq!(
            (list[0].last_transition_time.as_str(), list[0].reason.as_str()),
            ("1970-01-01T00:00:00Z", "Again")
        );
        Condition::new("Applied", Truth::False, "Broken", "").merge_into(&mut list, at(120));
        assert_eq!(list[0].last_transition_time, "1970-01-01T00:02:00Z");
        assert_eq!(list.len(), 1);
    }
}
