//! Rules about RolloutChecks. Page: `tests/rules/check.md`.
//!
//! The parser (`model`), which the planners use as well, determines which values are valid. What a status must be is in the schema: the API
//! server calls no webhook for it.

use crate::check_expression::CheckExpression;
use crate::fitting::FittingSpec;
use crate::subject::{RolloutCheck, Subject, rules};
use api::RolloutCheckSpec;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::rule;

const EXPRESSION: &str = "check/expression";
const IN_USE: &str = "deletion/rollout-check";

rules! { pub(crate) ON_CHECKS of RolloutCheck {
    refuses rule::CHECK_TYPE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::CHECK_TYPE) =>
        "A check has one type.\n\n\
         `external: {}` means that another program or a user reports the result, and `prometheus` that the controllers find it. With both \
         or none it would not be known whose result counts, and every change that waits for the check would be held. Refused. Keep one of \
         them.";
    refuses rule::CHECK_TIMES, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::CHECK_TIMES) =>
        "The times of a check are durations within their bounds.\n\n\
         `interval` is between 10s and 1h, and `timeout` is shorter than it: an evaluation ends before the next one begins. A check with \
         other values is not evaluated, and holds every change that waits for it. Refused. To use the defaults (60s and 10s), omit them.";
    refuses EXPRESSION, CreateAndUpdate, expression =>
        "The expression of a check compiles.\n\n\
         `expression` is CEL. Its variables are the names of the queries, all of type double, and its result is a bool: true if the check \
         passes. A query cannot have the name of a word that CEL reserves, such as `in`. A check with another expression has no result, and holds every change that waits for it. Refused, with the place of \
         the fault.";
    warns IN_USE, Delete, in_use =>
        "A check that settings of rollouts name exists.\n\n\
         Changes of add-ons whose AddOnRollout lists the check in `checks`, and the next stage of an upgrade that lists it, are held while \
         it does not exist. Warns, and names the add-ons and upgrades. Remove the check from their settings, or create it again.";
} }

fn deny(subject: &Subject<'_, RolloutCheck>, findings: &mut Findings, rule: &'static str) {
    let fitting = FittingSpec::read(subject.body);
    let parsed = model::RolloutCheck::parse(&fitting.spec, &Path::root().key("spec"));
    let faults = parsed.err().into_iter().flatten();
    faults
        .filter(|fault| fault.rule() == rule && fitting.has(fault, subject.body))
        .for_each(|fault| findings.deny(fault));
}

fn expression(subject: &Subject<'_, RolloutCheck>, findings: &mut Findings) {
    let spec = FittingSpec::<RolloutCheckSpec>::read(subject.body).spec;
    let Some(check) = spec.prometheus else { return };
    if check.expression.is_empty() || !subject.effort.read(&check.expression) {
        return;
    }
    let names = || check.queries.iter().map(|query| query.name.as_str());
    let path = Path::root().key("spec").key("prometheus");
    if let Err(why) = CheckExpression::compile(&check.expression, names()) {
        let fault = Fault::of_text(Class::Invalid, &check.expression, why);
        findings.deny(fault.at(path.key("expression"), EXPRESSION));
    }
    for (index, name) in names().enumerate().take_while(|_| subject.effort.spend(1)) {
        if !name.is_empty() && CheckExpression::compile(&format!("{name} < 1.0"), [name]).is_err() {
            let fault = Fault::of_text(Class::Invalid, name, "is reserved in CEL; choose another name");
            let at = path.key("queries").index(index).key("name");
            findings.deny(fault.at(at, EXPRESSION));
        }
    }
}

fn in_use(subject: &Subject<'_, RolloutCheck>, findings: &mut Findings) {
    let all = subject.facts.rollouts.iter();
    let users = all
        .take_while(|_| subject.effort.spend(1))
        .filter(|(_, settings)| {
            let mut names = settings.all_checks();
            names.any(|name| **name == *subject.name)
        });
    let profiles = subject.facts.profiles.iter().filter(|(_, facts)| {
        let profile = facts.profile.as_ref();
        profile.is_some_and(|profile| profile.checks().iter().any(|name| **name == *subject.name))
    });
    let profiles = profiles.map(|(name, _)| format!("those of the RolloutProfile {}", quoted(name)));
    let users = users.map(|(addon, _)| quoted(addon)).chain(profiles);
    let upgrades = subject
        .facts
        .upgrade_checks
        .get(subject.name)
        .into_iter()
        .flatten();
    let users = users.chain(upgrades.map(|upgrade| format!("the upgrade {}", quoted(upgrade))));
    let users: Vec<String> = users.collect();
    if !users.is_empty() {
        let detail = format!(
            "changes of these are held while it does not exist: {}",
            users.join(", ")
        );
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
        findings.warn(fault.at(Path::root().key("metadata").key("name"), IN_USE));
    }
}
