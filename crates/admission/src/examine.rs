//! Running the rules of a kind on one object.
//!
//! Decides what becomes of a rule that fails: a panic or an overrun is a finding of that rule alone. A rule that
//! refuses and could not look at everything refuses: what is too big or too slow is never waved through. Never decides what a
//! rule finds.

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

/// The most findings of one rule; a document can hold a mistake ten thousand times.
pub(super) const MOST_OF_A_RULE: usize = 100;
/// The most that is remembered of a stored object: every fault of it excuses one of the new object.
const MOST_BEFORE: usize = 20_000;

/// Everything that the rules of one request share.
pub(super) struct Case<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) name: &'a str,
    pub(super) facts: &'a Facts,
    pub(super) rulebook: &'a Rulebook,
}

impl Case<'_> {
    /// Returns where findings about the object are, for the operator's settings.
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

/// What the rules found, and the objects that the hub should be asked for before they are relied on.
#[derive(Debug, Default)]
pub(super) struct Examined {
    pub(super) findings: Findings,
    pub(super) asked: BTreeSet<ObjectKey>,
    /// What the one who asks must be allowed.
    pub(super) rights: BTreeSet<UserRight>,
    /// What cannot be decided without the user of a request.
    pub(super) undecided: Vec<Violation>,
}

/// Examines an object with the rules of its kind; what was wrong before and is untouched only warns.
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

/// What a rule finds of an untouched spec was there before, even if the rule gave up before it said so.
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

/// Runs one rule. Facts and object are only read, so that a panic leaves nothing half-done behind.
fn run<K: Ruled>(rule: &Rule<K>, subject: &Subject<'_, K>, most: usize) -> Findings {
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut found = Findings::new();
        (rule.check)(subject, &mut found);
        found
    }));
    match found {
        Ok(found) if subject.effort.is_exceeded() => {
            let mut found = bounded(rule.id, found, most);
            found.extend(gave_up(rule.id, rule.refuses));
            found
        }
        Ok(found) => bounded(rule.id, found, most),
        Err(_) => failed(
            rule.id,
            "this rule failed, which is a bug; all others were checked",
        ),
    }
}

fn failed(id: &'static str, detail: &str) -> Findings {
    let mut findings = Findings::new();
    findings.warn(Fault::bare(Class::Internal, detail).at(Path::root(), id));
    findings
}

/// What a rule could not look at is refused by a rule that refuses. The place is the spec: an object that was stored so can
/// still be labelled and deleted.
fn gave_up(id: &'static str, refuses: bool) -> Findings {
    let fault = Fault::bare(Class::Internal, "this rule gave up: there is too much to look at");
    let violation = fault.at(Path::root().key("spec"), id);
    let mut findings = Findings::new();
    if refuses {
        findings.deny(violation);
    } else {
        findings.warn(violation);
    }
    findings
}

/// Cuts what one rule found; tells how much more there was.
pub(super) fn bounded(id: &'static str, found: Findings, most: usize) -> Findings {
    let count = found.violations().len() + found.warnings().len();
    if count <= most {
        return found;
    }
    let place = outermost(&found);
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
    let detail = format!("this rule found {more} more");
    kept.warn(Fault::bare(Class::TooMany, detail).at(place, id));
    kept
}

/// The field of the object that the first finding is in: what is said of all of them must not be taken for that one.
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

    fn said(findings: &Findings) -> Vec<String> {
        findings.warnings().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_that_panics_warns_and_harms_nobody() {
        let findings = found(|_, findings| {
            findings.deny(Fault::bare(Class::Invalid, "half-done").at(Path::root(), "test/rule"));
            panic!("a rule with a bug");
        });
        assert!(findings.allows(), "nobody is locked out by a bug");
        let expected = "this rule failed, which is a bug; all others were checked [test/rule]";
        assert_eq!(said(&findings), [expected]);
    }

    #[test]
    fn a_rule_that_looks_at_too_much_refuses_what_it_has_not_seen() {
        let findings = found(|subject, findings| {
            findings.deny(Fault::bare(Class::Invalid, "seen").at(Path::root(), "test/rule"));
            while subject.effort.spend(1000) {}
        });
        let told: Vec<String> = findings.violations().iter().map(ToString::to_string).collect();
        let expected = [
            "seen [test/rule]",
            "spec: Internal error: this rule gave up: there is too much to look at [test/rule]",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn advice_that_gives_up_refuses_nothing() {
        assert!(gave_up("test/rule", false).allows());
        assert!(!gave_up("test/rule", true).allows());
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
        assert_eq!(said(&findings), ["list: this rule found 900 more [test/rule]"]);
    }
}
