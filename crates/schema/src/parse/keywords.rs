//! Reads the keywords of one schema that are plain: `true`, a list of strings.
//!
//! Decides what counts as given; never what a keyword means, and reports nothing.

use serde_json::{Map, Value};

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
