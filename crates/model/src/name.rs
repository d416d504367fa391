//! The name of something on the hub, as a text that is shared.
//!
//! Decides nothing.

use std::cmp::Ordering;
use std::sync::Arc;

/// A shared, immutable text: the name of something on the hub.
pub type Name = Arc<str>;

/// Returns the order of two names. Most are shared, so that most equal ones are told without being read.
pub fn order(one: &Name, other: &Name) -> Ordering {
    if Arc::ptr_eq(one, other) {
        return Ordering::Equal;
    }
    one.cmp(other)
}
