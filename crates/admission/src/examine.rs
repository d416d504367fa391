//! Runs the rules of a kind on one object.
//!
//! A panic or an exhausted step budget is a finding of that rule only. If a rule that refuses could not check everything, the object is
//! refused: an object that is too large or too slow to check is never admitted unchecked.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::enforcement::Scope;
use super::ratchet;
use super::request::Request;
use super::rulebook::Rulebook;
use super::rules::Ruled;
use super::step_budget::StepBudget;
use super::subject::{Addon, ClusterAddon, Kind, Rule, Subject};
use super::unconfirmed::Unconfirmed;
use kubernetes::field::{Class, Fault, Findings, Path, Violation};
use store::{Facts, ObjectKey, UserRight};

/// The maximum number of findings of one rule, because an object can contain one mistake ten thousand times.
pub(super) const MOST_OF_A_RULE: usize = 100;
/// The maximum number of findings of a stored object: each one excuses one finding of the new object.
const MOST_BEFORE: usize = 20_000;

/// The data that the rules of one request share.
pub(super) struct Case<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) name: &'a str,
    pub(super) facts: &'a Facts,
    pub(super) rulebook: &'a Rulebook,
}

impl Case<'_> {
    /// Returns the scope of findings about the object, for the enforcement settings.
    pub(super) fn scope(&self) -> Scope<'_> {
        let addon = match self.request.resource {
            Addon::RESOURCE | ClusterAddon::RESOURCE => Some(self.name),
            _ => None,
        };
        Scope {
            addon,
            namespace: self.request.namespace,
        }
    }
}

/// The findings of the rules, and the objects to read from the hub before the findings are final.
#[derive(Debug, Default)]
pub(super) struct Examined {
    pub(super) findings: Findings,
    pub(super) asked: BTreeSet<ObjectKey>,
    /// The permissions that the user needs.
    pub(super) rights: BTreeSet<UserRight>,
    /// The findings that depend on the user of a request.
    pub(super) undecided: Vec<Violation>,
}

/// Checks an object with the rules of its kind. Old faults that the update does not change only warn.
pub(super) fn examine<K: Ruled>(case: &Case<'_>, object: &Value, old: Option<&Value>) -> Examined {
    let found = check::<K>(case, object, old, MOST_OF_A_RULE);
    let findings = found.findings;
    let findings = match old {
        Some(old) if !findings.allows() => {
            let before = check::<K>(case, old, Some(old), MOST_BEFORE).findings;
            let findings = unjudged(findings, object, &before, old);
            ratchet::soften(findings, object, &before, old)
        }
        Some(_) | None => findings,
    };
    Examined { findings, ..found }
}

/// All findings about an unchanged spec are old, even if the rule did not finish on the old object.
fn unjudged(findings: Findings, object: &Value, before: &Findings, old: &Value) -> Findings {
    let gave_up: BTreeSet<&str> = before
        .violations()
        .iter()
        .filter(|was| was.class() == Class::Internal)
        .map(Violation::rule)
        .collect();
    if gave_up.is_empty() || object.get("spec") != old.get("spec") {
        return findings;
    }
    findings.softened(|violation| gave_up.contains(violation.rule()))
}

fn check<K: Ruled>(case: &Case<'_>, object: &Value, old: Option<&Value>, most: usize) -> Examined {
    let doubts = Unconfirmed::default();
    let mut findings = Findings::new();
    let rules = K::RULES.iter().copied().flatten();
    let effort = StepBudget::until(case.request.circumstances.stop);
    let subject = Subject::<K> {
        name: case.name,
        namespace: case.request.namespace,
        body: K::read(object),
        old: old.map(K::read),
        facts: case.facts,
        blast_radius: case.rulebook.blast_radius,
        hub_namespaces: &case.rulebook.hub_namespaces,
        reserved_signers: &case.rulebook.reserved_signers,
        doubts: &doubts,
        effort: &effort,
    };
    for rule in rules.filter(|rule| rule.on.includes(case.request.operation)) {
        effort.refill();
        findings.extend(run(rule, &subject, most));
    }
    drop(subject);
    let findings = case.rulebook.enforcement.apply(findings, &case.scope());
    let settled = doubts.settle(findings, case.request.circumstances.unknown);
    Examined {
        findings: settled.findings,
        asked: settled.objects,
        rights: settled.rights,
        undecided: settled.undecided,
    }
}

/// Runs one rule. Facts and object are only read, so a panic leaves no inconsistent state.
fn run<K: Ruled>(rule: &Rule<K>, subject: &Subject<'_, K>, most: usize) -> Findings {
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut found = Findings::new();
        (rule.check)(subject, &mut found);
        found
    }));
    match found {
        Ok(found) if subject.effort.is_exceeded() => {
            let mut found = bounded(rule.id, found, most);
            found.extend(unfinished(rule.id, rule.refuses));
            found
        }
        Ok(found) => bounded(rule.id, found, most),
        Err(_) => failed(
            rule.id,
            "this rule failed because of a bug in Tidegate; all other rules were checked",
        ),
    }
}

fn failed(id: &'static str, detail: &str) -> Findings {
    let mut findings = Findings::new();
    findings.warn(Fault::bare(Class::Internal, detail).at(Path::root(), id));
    findings
}

/// Returns the finding of a rule that did not finish; a rule that refuses then refuses. The path is the spec, so that labels of a stored
/// object can still be changed and it can be deleted.
fn unfinished(id: &'static str, refuses: bool) -> Findings {
    let fault = Fault::bare(
        Class::Internal,
        "this rule did not finish, because the object has too much to check",
    );
    let violation = fault.at(Path::root().key("spec"), id);
    let mut findings = Findings::new();
    if refuses {
        findings.deny(violation);
    } else {
        findings.warn(violation);
    }
    findings
}

/// Limits the findings of one rule, and reports how many more there are.
pub(super) fn bounded(id: &'static str, found: Findings, most: usize) -> Findings {
    let count = found.violations().len() + found.warnings().len();
    if count <= most {
        return found;
    }
    let path = outermost(&found);
    let (violations, warnings, audited) = found.into_parts();
    let refused = violations.len().min(most);
    let mut kept = Findings::new();
    for violation in violations.into_iter().take(most) {
        kept.deny(violation);
    }
    for warning in warnings.into_iter().take(most.saturating_sub(refused)) {
        kept.warn(warning.violation().clone());
    }
    for violation in audited {
        kept.audit(violation);
    }
    let more = count.saturating_sub(most);
    let detail = format!("this rule has {more} more findings");
    kept.warn(Fault::bare(Class::TooMany, detail).at(path, id));
    kept
}

/// Returns the top-level field of the first finding, because the message is about all findings and not about one field.
fn outermost(found: &Findings) -> Path {
    let first = found.violations().first().map(Violation::path);
    let first = first.or_else(|| found.warnings().first().map(|warning| warning.violation().path()));
    let segment = first.and_then(|path| path.segments().first());
    segment.map_or_else(Path::root, |segment| Path::root().step(segment.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{HubConfig, Operations};
    use serde_json::json;

    fn rule(check: fn(&Subject<'_, HubConfig>, &mut Findings)) -> Rule<HubConfig> {
        Rule::refuses("test/rule", Operations::CreateAndUpdate, "", check)
    }

    fn found(check: fn(&Subject<'_, HubConfig>, &mut Findings)) -> Findings {
        let (object, facts, rulebook) = (json!({}), Facts::default(), Rulebook::default());
        let subject = Subject::<HubConfig> {
            name: "x",
            namespace: "",
            body: HubConfig::read(&object),
            old: None,
            facts: &facts,
            blast_radius: rulebook.blast_radius,
            hub_namespaces: &rulebook.hub_namespaces,
            reserved_signers: &rulebook.reserved_signers,
            doubts: &Unconfirmed::default(),
            effort: &StepBudget::default(),
        };
        run(&rule(check), &subject, MOST_OF_A_RULE)
    }

    fn warnings(findings: &Findings) -> Vec<String> {
        findings.warnings().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_that_panics_only_warns() {
        let findings = found(|_, findings| {
            findings.deny(Fault::bare(Class::Invalid, "half-done").at(Path::root(), "test/rule"));
            panic!("a rule with a bug");
        });
        assert!(findings.allows(), "a bug in a rule refuses no object");
        let expected =
            "this rule failed because of a bug in Tidegate; all other rules were checked [test/rule]";
        assert_eq!(warnings(&findings), [expected]);
    }

    #[test]
    fn a_rule_that_exceeds_its_budget_refuses() {
        let findings = found(|subject, findings| {
            findings.deny(Fault::bare(Class::Invalid, "seen").at(Path::root(), "test/rule"));
            while subject.effort.spend(1000) {}
        });
        let found: Vec<String> = findings.violations().iter().map(ToString::to_string).collect();
        let expected = [
            "seen [test/rule]",
            "spec: Internal error: this rule did not finish, because the object has too much to check [test/rule]",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_unfinished_rule_that_only_warns_refuses_nothing() {
        assert!(unfinished("test/rule", false).allows());
        assert!(!unfinished("test/rule", true).allows());
    }

    #[test]
    fn a_rule_that_finds_too_much_is_cut_and_still_refuses() {
        let findings = found(|_, findings| {
            for index in 0..1000 {
                let path = Path::root().key("list").index(index);
                findings.deny(Fault::bare(Class::Invalid, "wrong").at(path, "test/rule"));
            }
        });
        assert_eq!(findings.violations().len(), MOST_OF_A_RULE);
        assert_eq!(
            warnings(&findings),
            ["list: this rule has 900 more findings [test/rule]"]
        );
    }
}
