//! What a write sends, as text.
//!
//! Decides only the form in which it waits. A plan for a fleet holds one for each write until it is its turn, and as a tree of
//! maps each would take about ten times as much memory. Never changes what it says.

use serde_json::Value;

/// What a write sends: a JSON value as its shortest text.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Box<str>);

impl Payload {
    /// Returns the value, made anew.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).expect("a payload is made from a value")
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self(value.to_string().into_boxed_str())
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_says_what_it_was_made_from() {
        for value in [
            json!({"status": {"a": [1, -2, 1.5, null, "\u{1F600}\"\\"], "b": {}}}),
            json!(null),
            json!({"spec": {"n": u64::MAX, "m": i64::MIN}}),
        ] {
            assert_eq!(Payload::from(value.clone()).value(), value);
        }
    }
}
