//! What only seems to be absent: findings that rest on an object which the watch has not seen.
//!
//! Decides which of them may refuse: only those whose object the hub itself has called absent. All others warn, whatever
//! the operator has set, because one `apply` may bring everything together and a watch is a moment late.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::field::{Findings, Path, Violation};
use crate::snapshot::ObjectKey;

/// The doubts that the rules of one question have.
#[derive(Debug, Default)]
pub(super) struct Doubts(RefCell<Vec<Doubt>>);

#[derive(Debug)]
struct Doubt {
    rule: &'static str,
    path: Path,
    /// The object to ask the hub for; absent for kinds that nobody here knows how to ask for.
    object: Option<ObjectKey>,
}

impl Doubts {
    /// Notes that what a rule says about a path rests on the absence of an object.
    pub(super) fn note(&self, rule: &'static str, path: &Path, object: Option<ObjectKey>) {
        self.0.borrow_mut().push(Doubt {
            rule,
            path: path.clone(),
            object,
        });
    }

    /// Returns the findings with everything in doubt told and not refused, and the objects that the hub should be
    /// asked for.
    pub(super) fn soften(self, findings: Findings) -> (Findings, BTreeSet<ObjectKey>) {
        let doubts = self.0.into_inner();
        if doubts.is_empty() {
            return (findings, BTreeSet::new());
        }
        let mut asked = BTreeSet::new();
        let mut is_doubted = |violation: &Violation| {
            let mut about = doubts
                .iter()
                .filter(|doubt| doubt.rule == violation.rule() && doubt.path == *violation.path())
                .peekable();
            let found = about.peek().is_some();
            asked.extend(about.filter_map(|doubt| doubt.object.clone()));
            found
        };
        let (violations, warnings, audited) = findings.into_parts();
        let mut softened = Findings::new();
        for violation in violations {
            if is_doubted(&violation) {
                softened.warn(violation);
            } else {
                softened.deny(violation);
            }
        }
        for warning in warnings {
            is_doubted(warning.violation());
            softened.warn(warning.violation().clone());
        }
        for violation in audited {
            softened.audit(violation);
        }
        (softened, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Class, Fault};
    use crate::snapshot::Kind;

    #[test]
    fn what_is_in_doubt_warns_and_is_asked_for() {
        let violation = |path: &str| Fault::bare(Class::NotFound, "x").at(Path::parse(path), "a/b");
        let doubts = Doubts::default();
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
