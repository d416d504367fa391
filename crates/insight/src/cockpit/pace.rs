//! How long a cluster takes.
//!
//! Holds what was seen; `stopwatch` decides what counts as that.

use std::time::Duration;

/// How long a cluster takes, and how many were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// How many were seen from the beginning of their way to its end.
    pub observed: usize,
    /// The mean of those.
    pub each: Duration,
}
