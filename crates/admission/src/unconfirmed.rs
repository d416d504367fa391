//! What only seems to be: findings that rest on an object which the watch has not seen, or on what a user may do.
//!
//! Decides which of them may refuse. Of an absent object, only if the hub itself has called it absent: all others warn,
//! whatever the operator has set, because one `apply` may bring everything together and a watch is a moment late. Of a right,
//! unless the hub has said that the user has it: nothing would ask again. Where there is no user, as in an audit, it is told as
//! open.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::request::UnknownFacts;
use kubernetes::field::{Findings, Path, Violation};
use store::{ObjectKey, UserRight};

/// The doubts that the rules of one question have.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    objects: RefCell<Vec<Doubt>>,
    rights: RefCell<Vec<Right>>,
}

/// A finding that rests on what the one who asks may do.
#[derive(Debug)]
struct Right {
    rule: &'static str,
    path: Path,
    question: UserRight,
}

/// What is left of findings when their doubts are known.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) findings: Findings,
    /// The objects that the hub should be asked for.
    pub(super) objects: BTreeSet<ObjectKey>,
    /// The rights that the hub should be asked for.
    pub(super) rights: BTreeSet<UserRight>,
    /// What hangs on rights, where there is no user to ask about.
    pub(super) undecided: Vec<Violation>,
}

#[derive(Debug)]
struct Doubt {
    rule: &'static str,
    path: Path,
    /// The object to ask the hub for; absent for types that have no key to ask by.
    object: Option<ObjectKey>,
}

impl Unconfirmed {
    /// Notes that what a rule says about a path rests on the absence of an object.
    pub(super) fn note(&self, rule: &'static str, path: &Path, object: Option<ObjectKey>) {
        self.objects.borrow_mut().push(Doubt {
            rule,
            path: path.clone(),
            object,
        });
    }

    /// Notes that what a rule says about a path rests on what the one who asks may do.
    pub(super) fn ask(&self, rule: &'static str, path: &Path, question: UserRight) {
        self.rights.borrow_mut().push(Right {
            rule,
            path: path.clone(),
            question,
        });
    }

    /// Returns the findings as far as they stand, and what is to be asked.
    pub(super) fn settle(self, findings: Findings, unknown: UnknownFacts) -> Settled {
        let rights = self.rights.take();
        let (findings, objects) = self.soften(findings);
        let mut settled = Settled {
            objects,
            ..Settled::default()
        };
        let mut is_open = |violation: &Violation| {
            let about = rights
                .iter()
                .filter(|right| right.rule == violation.rule() && right.path == *violation.path());
            let questions: Vec<UserRight> = about.map(|right| right.question.clone()).collect();
            let open = !questions.is_empty() && unknown == UnknownFacts::SetAside;
            if open {
                settled.undecided.push(violation.clone());
            } else {
                settled.rights.extend(questions);
            }
            open
        };
        let findings = findings.without(&mut is_open);
        Settled { findings, ..settled }
    }

    /// Returns the findings with everything in doubt told and not refused, and the objects that the hub should be
    /// asked for.
    fn soften(self, findings: Findings) -> (Findings, BTreeSet<ObjectKey>) {
        let doubts = self.objects.into_inner();
        if doubts.is_empty() {
            return (findings, BTreeSet::new());
        }
        let mut about: BTreeMap<(&str, &Path), Vec<Option<&ObjectKey>>> = BTreeMap::new();
        for doubt in &doubts {
            let key = (doubt.rule, &doubt.path);
            about.entry(key).or_default().push(doubt.object.as_ref());
        }
        let mut asked = BTreeSet::new();
        let mut is_doubted = |violation: &Violation| {
            let found = about.get(&(violation.rule(), violation.path()));
            asked.extend(found.into_iter().flatten().flatten().map(|key| (*key).clone()));
            found.is_some()
        };
        for warning in findings.warnings() {
            is_doubted(warning.violation());
        }
        let softened = findings.softened(is_doubted);
        (softened, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubernetes::field::{Class, Fault};
    use store::Kind;

    #[test]
    fn what_is_in_doubt_warns_and_is_asked_for() {
        let violation = |path: &str| Fault::bare(Class::NotFound, "x").at(Path::parse(path), "a/b");
        let doubts = Unconfirmed::default();
        let key = |name: &str| ObjectKey::new(Kind::Placement, "n", name);
        for name in ["one", "two", "three"] {
            doubts.note("a/b", &Path::parse(name), Some(key(name)));
        }
        doubts.note("a/c", &Path::parse("sure"), Some(key("sure")));
        let mut findings = Findings::new();
        findings.deny(violation("one"));
        findings.deny(violation("sure"));
        findings.warn(violation("two"));
        findings.audit(violation("three"));
        let (softened, asked) = doubts.soften(findings);
        let refused: Vec<String> = softened
            .violations()
            .iter()
            .map(|one| one.path().to_string())
            .collect();
        assert_eq!(refused, ["sure"], "another rule's doubt excuses nobody");
        assert_eq!(softened.warnings().len(), 2);
        assert_eq!(
            asked.into_iter().collect::<Vec<_>>(),
            [key("one"), key("two")],
            "nobody waits for what is only recorded"
        );
    }
}
