//! What the hub itself was asked, beside what was watched: whether single objects exist.
//!
//! Decides nothing. A watch may be a moment late, so that nothing is refused for what only it has not seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::namespace::NamespaceFacts;
use crate::kind::ObjectKey;
use crate::registration::RoleFacts;
use model::InstallNamespace;

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
