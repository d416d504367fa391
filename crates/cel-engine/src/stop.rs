//! A signal that ends work for which its caller has no more time.
//!
//! Decides nothing: it is flipped from outside, by a caller with a clock, and looked at wherever work is paid for. Once flipped,
//! it stays so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal to stop; clones share it.
#[derive(Clone, Debug)]
pub struct Stop(Option<Arc<AtomicBool>>);

static NEVER: Stop = Stop::never();

impl Stop {
    /// Returns a signal that can be flipped.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Arc::new(AtomicBool::new(false))))
    }

    /// Returns a signal that cannot be flipped: the same question has the same answer.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Flips the signal: work that looks at it ends.
    pub fn stop(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Tells whether it has been flipped.
    pub fn is_stopped(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::never()
    }
}

impl Default for &Stop {
    fn default() -> Self {
        &NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_signal_and_it_stays_flipped() {
        let stop = Stop::new();
        let elsewhere = stop.clone();
        assert!(!stop.is_stopped());
        std::thread::spawn(move || elsewhere.stop())
            .join()
            .expect("it flips");
        assert!(stop.is_stopped() && stop.is_stopped());
    }

    #[test]
    fn what_never_stops_cannot_be_flipped() {
        let stop = Stop::never();
        stop.stop();
        assert!(!stop.is_stopped() && !<&Stop>::default().is_stopped());
    }
}
