//! Where a schema is in the one around it, and how its keywords are read.
//!
//! Decides nothing: callers decide what differs from place to place.

use serde_json::{Map, Value};

/// Where a schema stands: some rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The schema of the resource itself.
    Root,
    /// The schema of a member.
    Field,
    /// The schema of list items.
    Item,
    /// Inside `allOf`, `anyOf`, `oneOf` or `not`: only checks, no structure.
    Nested,
}

/// Tells whether a keyword says anything.
pub(super) fn is_given(words: &Map<String, Value>, name: &str) -> bool {
    words
        .get(name)
        .is_some_and(|given| !given.is_null() && given != "")
}

/// Tells whether a keyword is given as `true`.
pub(super) fn is_true(words: &Map<String, Value>, name: &str) -> bool {
    words.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Reads a list of strings; anything else in it is left out.
pub(super) fn texts(words: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = words.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
