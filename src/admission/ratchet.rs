//! The ratchet: an old fault that nobody touched warns, and never refuses.
//!
//! Decides which faults of an update were there before. Without it a new rule would hold every stored object that breaks
//! it: no label, no other field could be changed until somebody repairs what the gate only now calls wrong.

use serde_json::Value;

use crate::field::{Findings, Violation};

/// Turns those violations of `object` into warnings that `before` tells of `old` as well, with the same value.
///
/// Each old fault excuses one new fault: first the one at the same path, then one that differs in list positions only,
/// because removing the item before a faulty one moves the fault without touching it.
pub(super) fn soften(findings: Findings, object: &Value, before: &Findings, old: &Value) -> Findings {
    let (violations, warnings, audited) = findings.into_parts();
    let mut excuses: Vec<&Violation> = before.violations().iter().collect();
    let exact = |new: &Violation, was: &Violation| was.path() == new.path();
    let moved = |new: &Violation, was: &Violation| was.path().same_shape(new.path());
    let mut softened = Findings::new();
    let mut open = Vec::new();
    for violation in violations {
        if excuse(&mut excuses, |was| {
            exact(&violation, was) && untouched(&violation, object, was, old)
        }) {
            softened.warn(violation);
        } else {
            open.push(violation);
        }
    }
    for violation in open {
        if excuse(&mut excuses, |was| {
            moved(&violation, was) && untouched(&violation, object, was, old)
        }) {
            softened.warn(violation);
        } else {
            softened.deny(violation);
        }
    }
    for warning in warnings {
        softened.warn(warning.violation().clone());
    }
    for violation in audited {
        softened.audit(violation);
    }
    softened
}

fn excuse(excuses: &mut Vec<&Violation>, fits: impl Fn(&Violation) -> bool) -> bool {
    match excuses.iter().position(|was| fits(was)) {
        Some(position) => {
            excuses.swap_remove(position);
            true
        }
        None => false,
    }
}

fn untouched(new: &Violation, object: &Value, was: &Violation, old: &Value) -> bool {
    new.rule() == was.rule() && new.path().lookup(object) == was.path().lookup(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Class, Fault, Path};
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
