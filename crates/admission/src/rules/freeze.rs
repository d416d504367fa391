//! Rules about the values of a RolloutFreeze. Page: `tests/rules/freeze.md`.
//!
//! The parser (`model`), which the planners use as well, determines which values are valid.

use std::collections::BTreeSet;

use crate::subject::{Freeze, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, nearest, quoted};
use model::{AddonName, rule};
use store::Kind;

const NAME: &str = "freeze/add-on-name";
const UNKNOWN: &str = "freeze/unknown-addon";

rules! { pub(crate) ON_FREEZES of Freeze {
    refuses rule::FREEZE_TIMES, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::FREEZE_TIMES) =>
        "The begin and the end of a freeze are times, and the end is after the begin.\n\n\
         `spec.from` and `spec.until` have the form `2026-12-20T00:00:00Z`, or have an offset such as `+01:00` in place of `Z`. The \
         controllers cannot know when a freeze with other values applies, and stop all changes until it is corrected. Refused. To begin \
         at once, omit `from`. To freeze until you delete the object, omit `until`.";
    refuses rule::FREEZE_SELECTOR, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::FREEZE_SELECTOR) =>
        "The cluster selector of a freeze is valid.\n\n\
         `In` and `NotIn` have `values`; `Exists` and `DoesNotExist` have none. Keys and values are valid label keys and values. The \
         controllers cannot know to which clusters a freeze with an invalid selector applies, and stop all changes until it is corrected. \
         Refused. To freeze all clusters, omit `clusterSelector`.";
    refuses NAME, CreateAndUpdate, name =>
        "The add-ons of a freeze have valid names.\n\n\
         `spec.addOns` lists names of ClusterManagementAddOns. No add-on can have an invalid name, so the freeze would not stop the \
         add-on that was meant. Refused. Correct the name.";
    warns UNKNOWN, CreateAndUpdate, unknown =>
        "The add-ons of a freeze exist.\n\n\
         A freeze does not stop any other add-on than those that `spec.addOns` lists. If no ClusterManagementAddOn has a name in the \
         list, the name may be misspelt, and the add-on that was meant is not frozen. Warns, because the add-on may be created later, and \
         suggests the closest name. Correct the name, or create the add-on.";
} }

fn deny(subject: &Subject<'_, Freeze>, findings: &mut Findings, rule: &'static str) {
    for fault in subject.body.faults.each(subject.effort) {
        if fault.rule() == rule {
            findings.deny(fault.clone());
        }
    }
}

fn path_of(index: usize) -> Path {
    Path::root().key("spec").key("addOns").index(index)
}

fn name(subject: &Subject<'_, Freeze>, findings: &mut Findings) {
    for (index, name) in subject.body.addons.each(subject.effort).enumerate() {
        if let Err(fault) = AddonName::parse(name) {
            findings.deny(fault.at(path_of(index), NAME));
        }
    }
}

fn unknown(subject: &Subject<'_, Freeze>, findings: &mut Findings) {
    let facts = subject.facts;
    if !facts.knows(Kind::AddOn) {
        return;
    }
    let mut reported = BTreeSet::new();
    for (index, name) in subject.body.addons.each(subject.effort).enumerate() {
        let is_known = facts.addon(name).is_some() || AddonName::parse(name).is_err();
        if is_known || !reported.insert(name) {
            continue;
        }
        let others = facts.addons.keys().map(|name| &**name);
        let near = subject.effort.hint(|| nearest(name, others));
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        let detail = "no ClusterManagementAddOn has this name, so nothing is frozen by it";
        let fault = Fault::of_text(Class::NotFound, name, detail).hint_if(hint);
        findings.warn(fault.at(path_of(index), UNKNOWN));
    }
}
