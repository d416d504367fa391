//! How large a share of an add-on's clusters one edit may reach before the gate says so.
//!
//! Decides nothing (`rules/blast_radius`).

use model::Percent;

/// A share of an add-on's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlastRadius(u8);

impl Default for BlastRadius {
    fn default() -> Self {
        Self(50)
    }
}

impl BlastRadius {
    /// Returns the share, unless it is more than everything.
    pub fn percent(percent: u8) -> Option<Self> {
        Percent::new(percent).map(|_| Self(percent))
    }

    /// Tells whether `some` of `all` clusters are more than the share.
    pub(super) fn is_exceeded_by(self, some: usize, all: usize) -> bool {
        some.saturating_mul(100) > all.saturating_mul(usize::from(self.0))
    }

    /// Returns the share in words.
    pub(super) fn words(self) -> String {
        format!("{}%", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_share_is_not_more_than_it() {
        let half = BlastRadius::default();
        assert!(!half.is_exceeded_by(5, 10) && half.is_exceeded_by(6, 10));
        assert_eq!(BlastRadius::percent(101), None);
        let none = BlastRadius::percent(0).expect("a share");
        assert!(none.is_exceeded_by(1, 1000) && !none.is_exceeded_by(0, 0));
    }
}
