//! Random numbers from a seed, the same on every machine. Steady dice always return the first choice: the canonical order.

/// A source of chance.
#[derive(Debug, Clone)]
pub(crate) enum Dice {
    /// Always the first side.
    Steady,
    /// A sequence that the seed determines.
    Seeded(u64),
}

impl Dice {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self::Seeded(seed)
    }

    /// Returns the next number (splitmix64); steady dice know only 0.
    fn next(&mut self) -> u64 {
        let Self::Seeded(state) = self else { return 0 };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % sides).unwrap_or_default()
    }

    /// Returns whether something happens that happens in `percent` of a hundred cases; never with steady dice.
    pub(crate) fn happens(&mut self, percent: u8) -> bool {
        matches!(self, Self::Seeded(_)) && self.below(100) < usize::from(percent)
    }

    /// Returns one of the given.
    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}
