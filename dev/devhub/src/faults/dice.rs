//! Chance that can be repeated.
//!
//! Decides numbers from a seed, a place and how often that place was asked before: requests to other places change nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A source of numbers between 0 and 1.
#[derive(Debug, Default)]
pub(super) struct Dice {
    seed: u64,
    rolls: Mutex<BTreeMap<String, u64>>,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            rolls: Mutex::default(),
        }
    }

    /// Returns the next number of a place, at least 0 and less than 1.
    pub(super) fn roll(&self, place: &str) -> f64 {
        let mut rolls = self.rolls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = rolls.entry(place.to_owned()).or_default();
        *count += 1;
        number(self.seed, place, *count)
    }
}

fn number(seed: u64, place: &str, count: u64) -> f64 {
    let bytes = place.bytes().chain(seed.to_le_bytes()).chain(count.to_le_bytes());
    let hash = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    // The plain hash differs too little between neighbours; this stirs all bits.
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let top = u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap_or_default();
    f64::from(top) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_seed_place_and_count_alone() {
        let rolls = |seed: u64, between: &str| -> Vec<f64> {
            let dice = Dice::new(seed);
            (0..50)
                .map(|_| {
                    dice.roll(between);
                    dice.roll("GET /x")
                })
                .collect()
        };
        assert_eq!(rolls(7, "a"), rolls(7, "b"));
        assert_ne!(rolls(7, "a"), rolls(8, "a"));
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let dice = Dice::new(1);
        let low = (0..10_000).filter(|_| dice.roll("x") < 0.1).count();
        assert!((900..1100).contains(&low), "{low}");
    }
}
