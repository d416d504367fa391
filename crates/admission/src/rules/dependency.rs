//! Rules about the add-ons that an add-on depends on. Page: `tests/rules/dependency.md`.
//!
//! Refuses lists that no cluster can satisfy. The planner checks which dependencies are ready on a cluster.

use std::collections::BTreeSet;

use crate::subject::{Addon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, nearest, quoted};
use model::{AddonName, dependency_circle, listed_addons};
use store::{Kind, terms};

const NAME: &str = "dependency/name";
const CYCLE: &str = "dependency/cycle";
const UNKNOWN: &str = "dependency/unknown-addon";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses CYCLE, CreateAndUpdate, cycle =>
        "Dependencies between add-ons do not form a cycle.\n\n\
         With `tidegate.io/depends-on`, an add-on is installed on a cluster when the listed add-ons are ready there. In a \
         cycle, or if an add-on depends on itself, none of the add-ons could be installed first. Refused; the message lists the add-ons in the cycle. \
         Remove one of its add-ons from the annotation. Two concurrent requests can still create a cycle; the waiting \
         ManagedClusterAddOns then have the reason `DependencyCycle`.";
    refuses NAME, CreateAndUpdate, name =>
        "A dependency is a valid add-on name.\n\n\
         The annotation `tidegate.io/depends-on` lists names of add-ons, separated by commas. No add-on can have an invalid \
         name, so every cluster would wait for it indefinitely. Refused. Correct the name.";
    warns UNKNOWN, CreateAndUpdate, unknown =>
        "The add-ons that an add-on depends on exist.\n\n\
         An add-on with a missing dependency is not installed on any cluster, and has the reason `DependencyNotFound`. Warns, \
         because the dependency may be created later, and suggests the closest name. Correct the name in \
         `tidegate.io/depends-on`, or create the add-on.";
} }

/// Returns the entries of the list, up to the step budget.
fn listed<'a>(subject: &Subject<'a, Addon>) -> Vec<&'a str> {
    let text = subject.body.depends_on().filter(|text| subject.effort.read(text));
    let each = listed_addons(text.unwrap_or_default());
    each.take_while(|_| subject.effort.spend(1)).collect()
}

fn deny(subject: &Subject<'_, Addon>, fault: Fault, id: &'static str, findings: &mut Findings) {
    if let Some(annotations) = &subject.body.annotations {
        findings.deny(fault.at(annotations.path.entry(terms::DEPENDS_ON), id));
    }
}

fn name(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for name in listed(subject) {
        if let Err(fault) = AddonName::parse(name) {
            deny(subject, fault, NAME, findings);
        }
    }
}

fn cycle(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let facts = subject.facts;
    let of = |name: &str| -> Vec<&str> {
        let known = facts.addon(name).into_iter();
        let named = known.flat_map(|says| &says.depends_on);
        named
            .take_while(|_| subject.effort.spend(1))
            .map(|name| &**name)
            .collect()
    };
    let Some(cycle) = dependency_circle(subject.name, listed(subject), of) else {
        return;
    };
    // The first edge of the cycle is in this object.
    let next = cycle.get(1).map_or("", |name| &**name);
    let detail = if cycle.len() == 2 {
        "an add-on cannot depend on itself".to_owned()
    } else {
        format!("creates a dependency cycle: {}", cycle.join(" -> "))
    };
    let fault = Fault::of_text(Class::Forbidden, next, detail).hint("remove it from the list");
    deny(subject, fault, CYCLE, findings);
}

fn unknown(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let facts = subject.facts;
    let Some(annotations) = subject
        .body
        .annotations
        .as_ref()
        .filter(|_| facts.knows(Kind::AddOn))
    else {
        return;
    };
    let mut reported = BTreeSet::new();
    for name in listed(subject) {
        let is_known = name == subject.name || facts.addon(name).is_some() || AddonName::parse(name).is_err();
        if is_known || !reported.insert(name) {
            continue;
        }
        let others = facts
            .addons
            .keys()
            .map(|name| &**name)
            .filter(|other| *other != subject.name);
        let near = subject.effort.hint(|| nearest(name, others));
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        let detail = format!(
            "no ClusterManagementAddOn has this name, and add-on {} is not installed until one has it",
            quoted(subject.name)
        );
        let fault = Fault::of_text(Class::NotFound, name, detail).hint_if(hint);
        findings.warn(fault.at(annotations.path.entry(terms::DEPENDS_ON), UNKNOWN));
    }
}
