//! Of which kinds everything that exists is known.
//!
//! Decides nothing. While a kind is not complete, the absence of one of its objects means nothing.

use crate::kind::Kind;

/// A set of kinds of which everything that exists is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completeness(u32);

impl Completeness {
    /// Nothing is known to be complete.
    pub const NONE: Self = Self(0);

    /// Returns the set of every kind.
    pub fn all() -> Self {
        Self::of(Kind::ALL)
    }

    /// Returns the set of these kinds.
    pub fn of(kinds: impl IntoIterator<Item = Kind>) -> Self {
        kinds.into_iter().fold(Self::NONE, Self::with)
    }

    /// Returns this set and one kind more.
    #[must_use]
    pub fn with(self, kind: Kind) -> Self {
        Self(self.0 | bit(kind))
    }

    /// Returns everything that either of two sets covers.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Tells whether everything that exists of a kind is known.
    pub fn covers(self, kind: Kind) -> bool {
        self.0 & bit(kind) != 0
    }

    /// Tells whether everything that exists is known.
    pub fn is_whole(self) -> bool {
        self == Self::all()
    }
}

fn bit(kind: Kind) -> u32 {
    // A kind has a bit; the test below fails before there are too many.
    1_u32.checked_shl(kind as u32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_place_of_its_own() {
        for kind in Kind::ALL {
            let only = Completeness::of([kind]);
            let covered: Vec<Kind> = Kind::ALL.into_iter().filter(|one| only.covers(*one)).collect();
            assert_eq!(covered, [kind]);
        }
        assert!(Completeness::all().is_whole());
        assert!(!Completeness::of(Kind::ALL.into_iter().skip(1)).is_whole());
        assert!(!Completeness::NONE.covers(Kind::AddOn));
    }
}
