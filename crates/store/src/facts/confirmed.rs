//! What the hub itself was asked, beside what was watched: whether single objects exist.
//!
//! Decides nothing. A watch may be a moment late, so that nothing is refused for what only it has not seen.

use super::objects::NamespaceFacts;
use crate::kind::{Kind, ObjectKey};
use crate::registration::RoleFacts;
use model::InstallNamespace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the hub says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveFact {
    /// It does not exist.
    Absent,
    /// It exists.
    Exists,
    /// It is a namespace, and this is known about it.
    Namespace(NamespaceFacts),
    /// It is a role, and this is known about it.
    Role(RoleFacts),
    /// It is an add-on of a cluster, or would be one, and its placements give it this install namespace, or none.
    Given(Option<InstallNamespace>),
}

/// How far the absence of objects is confirmed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confirmed {
    /// The hub was not asked.
    #[default]
    Nothing,
    /// The hub has said of these objects whether they exist.
    Answers(Arc<BTreeMap<ObjectKey, bool>>),
    /// The facts are all there is: nothing exists beside them. So it is for a folder or a dump.
    Everything,
}

/// Whether the hub has said that an object is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It exists.
    Exists,
    /// It does not.
    Absent,
    /// The hub was not asked, or did not answer in time.
    Silent,
}

impl Confirmed {
    /// Returns what is confirmed about an object that the facts do not have.
    pub fn word_about(&self, object: &ObjectKey) -> Word {
        match self {
            Self::Nothing => Word::Silent,
            Self::Answers(answers) => match answers.get(object) {
                Some(true) => Word::Exists,
                Some(false) => Word::Absent,
                None => Word::Silent,
            },
            Self::Everything => Word::Absent,
        }
    }
}

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
    use crate::kind::Kind;

    #[test]
    fn only_an_answer_confirms_an_absence() {
        let key = |name: &str| ObjectKey::new(Kind::Placement, "default", name);
        let answers = [(key("there"), true), (key("gone"), false)];
        let some = Confirmed::Answers(Arc::new(answers.into_iter().collect()));
        let rows = [
            (&Confirmed::Nothing, "gone", Word::Silent),
            (&some, "gone", Word::Absent),
            (&some, "there", Word::Exists),
            (&some, "other", Word::Silent),
            (&Confirmed::Everything, "other", Word::Absent),
        ];
        for (confirmed, name, expected) in rows {
            assert_eq!(confirmed.word_about(&key(name)), expected, "{name}");
        }
    }
}

#[cfg(test)]
mod completeness_tests {
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
