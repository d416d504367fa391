//! Running the rules of a kind on one object.
//!
//! Decides what becomes of a rule that fails: a panic or an overrun is that rule's finding and nobody else's. Never
//! decides what a rule finds.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::doubt::Doubts;
use super::effort::Effort;
use super::enforcement::Scope;
use super::ratchet;
use super::request::Request;
use super::rulebook::Rulebook;
use super::subject::{Addon, ClusterAddon, Kind, Rule, Subject};
use crate::field::{Class, Fault, Findings, Path};
use crate::snapshot::{Facts, ObjectKey};

/// The most findings of one rule; a document can hold a mistake ten thousand times.
const MOST_OF_A_RULE: usize = 100;

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

/// What the rules found, and the objects that the hub should be asked for before anybody relies on it.
#[derive(Debug, Default)]
pub(super) struct Examined {
    pub(super) findings: Findings,
    pub(super) asked: BTreeSet<ObjectKey>,
}

/// Examines an object with the rules of its kind; what was wrong before and is untouched only warns.
pub(super) fn examine<K: Kind>(case: &Case<'_>, object: &Value, old: Option<&Value>) -> Examined {
    let Examined { findings, asked } = check::<K>(case, object, old);
    let findings = match old {
        Some(old) if !findings.allows() => {
            let before = check::<K>(case, old, Some(old)).findings;
            ratchet::soften(findings, object, &before, old)
        }
        Some(_) | None => findings,
    };
    Examined { findings, asked }
}

fn check<K: Kind>(case: &Case<'_>, object: &Value, old: Option<&Value>) -> Examined {
    let doubts = Doubts::default();
    let mut findings = Findings::new();
    let rules = K::families().iter().copied().flatten();
    let effort = Effort::default();
    let subject = Subject::<K> {
        name: case.name,
        namespace: case.request.namespace,
        body: K::read(object),
        old: old.map(K::read),
        facts: case.facts,
        rulebook: case.rulebook,
        doubts: &doubts,
        effort: &effort,
    };
    for rule in rules.filter(|rule| rule.on.includes(case.request.operation)) {
        effort.refill();
        findings.extend(run(rule, &subject));
    }
    drop(subject);
    let findings = case.rulebook.enforcement.apply(findings, &case.scope());
    let (findings, asked) = doubts.soften(findings);
    Examined { findings, asked }
}

/// Runs one rule. Facts and object are only read, so that a panic leaves nothing half-done behind.
fn run<K: Kind>(rule: &Rule<K>, subject: &Subject<'_, K>) -> Findings {
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut found = Findings::new();
        (rule.check)(subject, &mut found);
        found
    }));
    match found {
        Ok(_) if subject.effort.is_exceeded() => {
            failed(rule.id, "this rule gave up: there is too much to look at")
        }
        Ok(found) => bounded(rule.id, found),
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

fn bounded(id: &'static str, found: Findings) -> Findings {
    let count = found.violations().len() + found.warnings().len();
    if count <= MOST_OF_A_RULE {
        return found;
    }
    let (violations, warnings, audited) = found.into_parts();
    let refused = violations.len().min(MOST_OF_A_RULE);
    let mut kept = Findings::new();
    for violation in violations.into_iter().take(MOST_OF_A_RULE) {
        kept.deny(violation);
    }
    for warning in warnings.into_iter().take(MOST_OF_A_RULE.saturating_sub(refused)) {
        kept.warn(warning.violation().clone());
    }
    for violation in audited {
        kept.audit(violation);
    }
    let more = count.saturating_sub(MOST_OF_A_RULE);
    let detail = format!("this rule found {more} more");
    kept.warn(Fault::bare(Class::TooMany, detail).at(Path::root(), id));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::subject::{HubConfig, Operations};
    use serde_json::json;

    fn rule(check: fn(&Subject<'_, HubConfig>, &mut Findings)) -> Rule<HubConfig> {
        Rule {
            id: "test/rule",
            on: Operations::CreateAndUpdate,
            doc: "",
            check,
        }
    }

    fn found(check: fn(&Subject<'_, HubConfig>, &mut Findings)) -> Findings {
        let (object, facts, rulebook) = (json!({}), Facts::default(), Rulebook::default());
        let subject = Subject::<HubConfig> {
            name: "x",
            namespace: "",
            body: HubConfig::read(&object),
            old: None,
            facts: &facts,
            rulebook: &rulebook,
            doubts: &Doubts::default(),
            effort: &Effort::default(),
        };
        run(&rule(check), &subject)
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
        let expected =
            "<nil>: Internal error: this rule failed, which is a bug; all others were checked [test/rule]";
        assert_eq!(said(&findings), [expected]);
    }

    #[test]
    fn a_rule_that_looks_at_too_much_gives_up() {
        let findings = found(|subject, findings| {
            while subject.effort.spend(1000) {
                findings.deny(Fault::bare(Class::Invalid, "and").at(Path::root(), "test/rule"));
            }
        });
        assert!(findings.allows());
        let expected = "<nil>: Internal error: this rule gave up: there is too much to look at [test/rule]";
        assert_eq!(said(&findings), [expected]);
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
            said(&findings),
            ["<nil>: Too many: this rule found 900 more [test/rule]"]
        );
    }
}
