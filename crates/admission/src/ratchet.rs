//! The ratchet: an old fault that an update does not change only warns.
//!
//! Without it, a new rule would block every update of a stored object that violates it, even of a label, until a user fixes the object.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::request::MetadataPart;
use crate::policy::PolicySet;
use kubernetes::field::{Class, Findings, Path, Segment, Violation};

/// Turns those violations of `object` into warnings that `before` has for `old` as well, with the same value.
///
/// Each old fault excuses one new fault: first the one at the same path, then one that differs in list positions only,
/// because removing the item before a faulty one moves the fault without changing it. If a rule did not finish on
/// the old object, this excuses only that it does not finish on the new one.
pub(super) fn soften(findings: Findings, object: &Value, before: &Findings, old: &Value) -> Findings {
    let (mut new, mut was) = (Values::of(object), Values::of(old));
    soften_by(
        findings,
        before,
        |violation| new.at(violation.path()),
        |violation| was.at(violation.path()),
    )
}

/// The same with functions that return what a fault is about, instead of the value at its path. A fault is unchanged if both functions
/// return the same text.
pub(super) fn soften_by(
    findings: Findings,
    before: &Findings,
    mut about: impl FnMut(&Violation) -> Option<Rc<str>>,
    was_about: impl FnMut(&Violation) -> Option<Rc<str>>,
) -> Findings {
    let mut excuses = Excuses::of(before.violations(), findings.violations(), was_about);
    // Faults at the same path first; faults that have moved use the remaining ones.
    let in_place =
        findings.softened(|violation| excuses.excuse(violation, violation.path(), about(violation)));
    in_place.softened(|violation| excuses.excuse(violation, &shape(violation.path()), about(violation)))
}

/// Returns whether two versions of an object differ only in finalizers or owners. These belong to programs that clean up, which cannot fix
/// the rest of the object.
pub(super) fn only_keepers_differ(object: &Value, old: &Value) -> bool {
    let differs = |pointer: &str| object.pointer(pointer) != old.pointer(pointer);
    let (keepers, others): (Vec<_>, Vec<_>) = MetadataPart::EVERY
        .into_iter()
        .partition(|part| part.is_of_keepers());
    !differs("/spec")
        && !others.iter().any(|part| differs(&part.pointer()))
        && keepers.iter().any(|part| differs(&part.pointer()))
}

/// Turns the violations of policies that read neither finalizers nor owners into warnings.
pub(super) fn soften_unnamed(findings: Findings, policies: &PolicySet) -> Findings {
    let names = [MetadataPart::Finalizers, MetadataPart::OwnerReferences].map(MetadataPart::name);
    findings.softened(|violation| !policies.names_any(violation.rule(), &names))
}

/// The old faults that excuse new ones.
struct Excuses {
    /// The number of old faults by rule, whether the rule finished, path, and value. Each one is counted by its path and by its shape.
    by_place: BTreeMap<Place, Vec<usize>>,
    is_used: Vec<bool>,
}

/// Rule, whether it finished, path or shape, and the value as text.
type Place = (String, bool, Path, Option<Rc<str>>);

impl Excuses {
    /// Collects the old faults of rules that have found new ones.
    fn of(
        before: &[Violation],
        violations: &[Violation],
        mut about: impl FnMut(&Violation) -> Option<Rc<str>>,
    ) -> Self {
        let mut rules: Vec<&str> = violations.iter().map(Violation::rule).collect();
        rules.sort_unstable();
        rules.dedup();
        let mut by_place: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        let of_rules = |was: &&Violation| rules.binary_search(&was.rule()).is_ok();
        let mut count = 0;
        for was in before.iter().filter(of_rules) {
            let value = about(was);
            let exact = place(was, was.path().clone(), value.clone());
            let moved = place(was, shape(was.path()), value);
            if moved != exact {
                by_place.entry(moved).or_default().push(count);
            }
            by_place.entry(exact).or_default().push(count);
            count += 1;
        }
        Self {
            by_place,
            is_used: vec![false; count],
        }
    }

    /// Returns whether an unused old fault excuses this one, and uses it.
    fn excuse(&mut self, violation: &Violation, at: &Path, about: Option<Rc<str>>) -> bool {
        let place = place(violation, at.clone(), about);
        let Some(excuses) = self.by_place.get_mut(&place) else {
            return false;
        };
        while let Some(number) = excuses.pop() {
            let is_used = self.is_used.get_mut(number);
            if is_used.is_some_and(|is_used| !std::mem::replace(is_used, true)) {
                return true;
            }
        }
        false
    }
}

fn place(violation: &Violation, path: Path, value: Option<Rc<str>>) -> Place {
    let could_judge = violation.class() != Class::Internal;
    (violation.rule().to_owned(), could_judge, path, value)
}

/// Returns a path without its list indices.
fn shape(path: &Path) -> Path {
    let steps = path.segments().iter();
    steps.fold(Path::root(), |shape, step| match step {
        Segment::Index(_) => shape.index(0),
        Segment::Key(_) | Segment::Entry(_) => shape.step(step.clone()),
    })
}

/// The values of one object as text, each written once.
pub(super) struct Values<'v> {
    object: &'v Value,
    known: BTreeMap<Path, Option<Rc<str>>>,
}

impl<'v> Values<'v> {
    pub(super) fn of(object: &'v Value) -> Self {
        Self {
            object,
            known: BTreeMap::new(),
        }
    }

    /// Returns the value at a path as text.
    pub(super) fn at(&mut self, path: &Path) -> Option<Rc<str>> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let text = path.lookup(self.object).map(|value| Rc::from(value.to_string()));
        self.known.insert(path.clone(), text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubernetes::field::{Class, Fault, Path};
    use serde_json::json;

    fn faults(paths: &[&str]) -> Findings {
        let mut findings = Findings::new();
        for path in paths {
            findings.deny(Fault::bare(Class::Invalid, "must be good").at(Path::parse(path), "a/b"));
        }
        findings
    }

    fn refused(old: &Value, before: &[&str], new: &Value, now: &[&str]) -> Vec<String> {
        let softened = soften(faults(now), new, &faults(before), old);
        assert_eq!(
            softened.violations().len() + softened.warnings().len(),
            now.len(),
            "nothing is lost"
        );
        softened
            .violations()
            .iter()
            .map(|violation| violation.path().to_string())
            .collect()
    }

    #[test]
    fn an_untouched_fault_only_warns() {
        let object = json!({"list": ["bad"]});
        assert!(refused(&object, &["list[0]"], &object, &["list[0]"]).is_empty());
    }

    #[test]
    fn a_fault_with_another_value_is_a_new_fault() {
        let (old, new) = (json!({"list": ["bad"]}), json!({"list": ["worse"]}));
        assert_eq!(refused(&old, &["list[0]"], &new, &["list[0]"]), ["list[0]"]);
    }

    #[test]
    fn a_value_that_was_no_fault_before_is_a_new_fault() {
        let object = json!({"list": ["bad"]});
        assert_eq!(refused(&object, &[], &object, &["list[0]"]), ["list[0]"]);
    }

    #[test]
    fn a_fault_that_only_moved_up_the_list_still_warns() {
        let (old, new) = (json!({"list": ["good", "bad"]}), json!({"list": ["bad"]}));
        assert!(refused(&old, &["list[1]"], &new, &["list[0]"]).is_empty());
    }

    #[test]
    fn one_old_fault_does_not_excuse_two() {
        let (old, new) = (json!({"list": ["bad"]}), json!({"list": ["bad", "bad"]}));
        assert_eq!(
            refused(&old, &["list[0]"], &new, &["list[0]", "list[1]"]),
            ["list[1]"]
        );
    }
}
