//! Rules about deletions. Page: `tests/admission/deletion.md`.
//!
//! Decides which deletions are told to reach further than their object. Never refuses by itself: a deletion that is
//! refused holds whatever waits for it.

use crate::admission::subject::{Addon, Operations, Rule, Subject};
use crate::field::{Class, Fault, Findings, Path};

const ADDON_IN_USE: &str = "deletion/addon-in-use";

/// Rules of add-ons.
pub(in crate::admission) const ON_ADDONS: &[Rule<Addon>] = &[Rule {
    id: ADDON_IN_USE,
    on: Operations::Delete,
    doc: "An add-on is deleted when no cluster has it any more.\n\n\
          The ManagedClusterAddOns belong to their ClusterManagementAddOn: deleting it uninstalls the add-on everywhere. Warns, \
          with the number of clusters. Set the rule to Deny to make people take the add-on from its clusters first.",
    check: addon_in_use,
}];

fn addon_in_use(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let clusters = subject
        .facts
        .peers(subject.name)
        .map_or(0, |peers| peers.clusters);
    if clusters == 0 {
        return;
    }
    let whose = if clusters == 1 {
        "1 cluster has"
    } else {
        &format!("{clusters} clusters have")
    };
    let detail = format!("{whose} this add-on, and lose it now");
    let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
    findings.warn(fault.at(Path::root().key("metadata").key("name"), ADDON_IN_USE));
}
