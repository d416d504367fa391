//! Rules about add-ons that depend on others: `spec.dependsOn` of an AddOnRollout and `spec.dependencies` of a ClusterManagementAddOn.
//! Page: `tests/rules/dependency.md`.

use std::collections::BTreeSet;

use crate::subject::{Addon, Kind, Rollout, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, nearest, quoted};
use model::{AddonName, dependency_circle, rule};

const CYCLE: &str = "dependency/cycle";
const UNKNOWN: &str = "dependency/unknown-addon";

rules! { pub(crate) ON_ROLLOUTS of Rollout {
    refuses rule::DEPENDENCY_NAME, CreateAndUpdate, name =>
        "A dependency is a valid add-on name.\n\n\
         `spec.dependsOn` of an AddOnRollout lists names of add-ons, and so do the entries of `spec.dependencies` of a \
         ClusterManagementAddOn. No add-on can have an invalid name, so every cluster would wait for it indefinitely. \
         Refused. Correct the name.";
    refuses CYCLE, CreateAndUpdate, cycle =>
        "Dependencies between add-ons do not form a cycle.\n\n\
         With `dependsOn` or `dependencies`, an add-on is installed on a cluster when the listed add-ons are ready there. In a cycle, or if an \
         add-on depends on itself, none of the add-ons could be installed first. Refused; the message lists the add-ons in the cycle. Remove \
         one of its add-ons from the list. Two concurrent requests can still create a cycle; the waiting ManagedClusterAddOns then have the \
         reason `DependencyCycle`.";
    warns UNKNOWN, CreateAndUpdate, unknown =>
        "The add-ons that an add-on depends on exist.\n\n\
         An add-on with a missing dependency is not installed on any cluster, and has the reason `DependencyNotFound`. Warns, \
         because the dependency may be created later, and suggests the closest name. Correct the name in the list, or create the \
         add-on.";
} }

rules! { pub(crate) ON_ADDONS of Addon {
    refuses rule::DEPENDENCY_NAME, CreateAndUpdate, name => "";
    refuses CYCLE, CreateAndUpdate, cycle => "";
    warns UNKNOWN, CreateAndUpdate, unknown => "";
} }

/// A kind that lists the add-ons on which the add-on of its name depends.
trait Depends: Kind {
    /// Returns the paths of the names, and the names, up to the step budget.
    fn listed<'s>(subject: &'s Subject<'_, Self>) -> impl Iterator<Item = (Path, &'s str)>;
}

impl Depends for Rollout {
    fn listed<'s>(subject: &'s Subject<'_, Self>) -> impl Iterator<Item = (Path, &'s str)> {
        let path = Path::root().key("spec").key("dependsOn");
        let names = subject.body.spec.depends_on.iter().flatten().enumerate();
        let names = names.take_while(|_| subject.effort.spend(1));
        names.map(move |(index, name)| (path.index(index), name.as_str()))
    }
}

impl Depends for Addon {
    fn listed<'s>(subject: &'s Subject<'_, Self>) -> impl Iterator<Item = (Path, &'s str)> {
        let names = subject.body.dependencies.each(subject.effort);
        names.map(|(path, name)| (path.clone(), *name))
    }
}

fn name<K: Depends>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for (path, name) in K::listed(subject) {
        if let Err(fault) = AddonName::parse(name) {
            findings.deny(fault.at(path, rule::DEPENDENCY_NAME));
        }
    }
}

fn cycle<K: Depends>(subject: &Subject<'_, K>, findings: &mut Findings) {
    let of = |name: &str| -> Vec<&str> {
        let named = subject.facts.depends_on(name);
        let named = named.take_while(|_| subject.effort.spend(1));
        named.map(|name| &**name).collect()
    };
    let direct = K::listed(subject).map(|(_, name)| name);
    let Some(cycle) = dependency_circle(subject.name, direct, of) else {
        return;
    };
    // The first edge of the cycle is in this object.
    let next = cycle.get(1).map_or("", |name| &**name);
    let detail = if cycle.len() == 2 {
        "an add-on cannot depend on itself".to_owned()
    } else {
        format!("creates a dependency cycle: {}", cycle.join(" -> "))
    };
    if let Some((path, _)) = K::listed(subject).find(|(_, name)| *name == next) {
        let fault = Fault::of_text(Class::Forbidden, next, detail).hint("remove it from the list");
        findings.deny(fault.at(path, CYCLE));
    }
}

fn unknown<K: Depends>(subject: &Subject<'_, K>, findings: &mut Findings) {
    let facts = subject.facts;
    if !facts.knows(store::Kind::AddOn) {
        return;
    }
    let mut reported = BTreeSet::new();
    for (path, name) in K::listed(subject) {
        let is_known = name == subject.name || facts.addon(name).is_some() || AddonName::parse(name).is_err();
        if is_known || !reported.insert(name) {
            continue;
        }
        let detail = format!(
            "no ClusterManagementAddOn has this name, and add-on {} is not installed until one has it",
            quoted(subject.name)
        );
        let fault = no_addon(subject, name, detail);
        findings.warn(fault.at(path, UNKNOWN));
    }
}

/// Returns the fault of the name of an add-on that does not exist, with the closest name.
pub(super) fn no_addon<K: Kind>(subject: &Subject<'_, K>, name: &str, detail: impl Into<String>) -> Fault {
    let others = subject.facts.addon_names().filter(|other| *other != subject.name);
    let near = subject.effort.hint(|| nearest(name, others));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    Fault::of_text(Class::NotFound, name, detail).hint_if(hint)
}
