//! Rules about the names of add-ons. Page: `tests/admission/naming.md`.
//!
//! Decides which names are refused or doubted. A name that is not known yet only warns: one `apply` may bring the
//! add-on and its cluster add-ons together, and what we know may be a moment late.

use crate::admission::subject::{Addon, ClusterAddon, Operations, Rule, Subject};
use crate::field::{Class, Fault, Findings, Path, nearest, quoted};
use crate::model::{AddonName, rule};
use crate::snapshot::Kind;

const UNKNOWN_ADDON: &str = "naming/unknown-addon";

/// Rules of add-ons.
pub(in crate::admission) const ON_ADDONS: &[Rule<Addon>] = &[Rule {
    id: rule::ADDON_NAME,
    on: Operations::Create,
    doc: "The name of an add-on fits a label.\n\n\
          Every work of an add-on carries its name as a label value, which has at most 63 characters. A longer name \
          would be stored and never installed. Refused on creation.",
    check: addon_name,
}];

/// Rules of add-ons on a cluster.
pub(in crate::admission) const ON_CLUSTER_ADDONS: &[Rule<ClusterAddon>] = &[Rule {
    id: UNKNOWN_ADDON,
    on: Operations::CreateAndUpdate,
    doc: "A ManagedClusterAddOn has the name of an add-on.\n\n\
          Without a ClusterManagementAddOn of the same name nothing is installed. Warns, with the nearest name; never \
          refuses, because the add-on may come with the same apply.",
    check: unknown_addon,
}];

fn addon_name(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    // The API server has not generated the name yet: it will append to the prefix and check the result itself.
    if subject.name.is_empty() {
        return;
    }
    if let Err(fault) = AddonName::parse(subject.name) {
        findings.deny(fault.at(Path::root().key("metadata").key("name"), rule::ADDON_NAME));
    }
}

fn unknown_addon(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Subject { name, facts, .. } = subject;
    if name.is_empty() || !facts.knows(Kind::AddOn) || facts.addon(name).is_some() {
        return;
    }
    let hint = nearest(name, facts.addon_names()).map(|known| format!("did you mean {}?", quoted(known)));
    let fault =
        Fault::of_text(Class::NotFound, name, "no ClusterManagementAddOn has this name").hint_if(hint);
    findings.warn(fault.at(Path::root().key("metadata").key("name"), UNKNOWN_ADDON));
}
