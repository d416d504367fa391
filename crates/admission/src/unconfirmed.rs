//! Unconfirmed findings: those that depend on an object that is missing in the watch cache, or on the permissions of a user.
//!
//! A finding about an absent object refuses only if the hub has confirmed the absence. Otherwise it warns, whatever the enforcement setting
//! is, because one `kubectl apply` may create everything together and a watch has a delay. A finding about a permission refuses unless the
//! hub has confirmed the permission, because it would not be checked again. Without a user, as in an audit, it is undecided.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::request::UnknownFacts;
use kubernetes::field::{Findings, Path, Violation};
use store::{ObjectKey, UserRight};

/// The unconfirmed data of the findings of one request.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    objects: RefCell<Vec<Doubt>>,
    rights: RefCell<Vec<Right>>,
}

/// A finding that depends on a permission of the user.
#[derive(Debug)]
struct Right {
    rule: &'static str,
    path: Path,
    question: UserRight,
}

/// The findings after their unconfirmed data have been applied.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) findings: Findings,
    /// The objects to read from the hub.
    pub(super) objects: BTreeSet<ObjectKey>,
    /// The permissions to check on the hub.
    pub(super) rights: BTreeSet<UserRight>,
    /// The findings that depend on permissions, if there is no user.
    pub(super) undecided: Vec<Violation>,
}

#[derive(Debug)]
struct Doubt {
    rule: &'static str,
    path: Path,
    /// The object to read from the hub; `None` for types without a key.
    object: Option<ObjectKey>,
}

impl Unconfirmed {
    /// Records that a finding of a rule at a path depends on the absence of an object.
    pub(super) fn note(&self, rule: &'static str, path: &Path, object: Option<ObjectKey>) {
        self.objects.borrow_mut().push(Doubt {
            rule,
            path: path.clone(),
            object,
        });
    }

    /// Records that a finding of a rule at a path depends on a permission of the user.
    pub(super) fn ask(&self, rule: &'static str, path: &Path, question: UserRight) {
        self.rights.borrow_mut().push(Right {
            rule,
            path: path.clone(),
            question,
        });
    }

    /// Returns the resulting findings, and what to read from the hub.
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

    /// Returns the findings, in which unconfirmed violations are warnings, and the objects to read from the hub.
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
        assert_eq!(
            refused,
            ["sure"],
            "the unconfirmed object of another rule does not matter"
        );
        assert_eq!(softened.warnings().len(), 2);
        assert_eq!(
            asked.into_iter().collect::<Vec<_>>(),
            [key("one"), key("two")],
            "a finding that is only recorded needs no confirmation"
        );
    }
}
