//! Rules about who manages an add-on. Page: `tests/rules/lifecycle.md`.
//!
//! Warns if two managers would act on one add-on although its annotation names one of them. Never refuses, because the webhook
//! does not have the information whether the other manager is running.

use crate::subject::{Addon, Subject, rules};
use api::names::annotations::{LIFECYCLE, LIFECYCLE_TIDEGATE};
use kubernetes::field::{Class, Fault, Findings};
use store::{ADDON_GROUP, Kind};

const LISTED_TEMPLATE: &str = "lifecycle/listed-template";

rules! { pub(crate) ON_ADDONS of Addon {
    warns LISTED_TEMPLATE, CreateAndUpdate, listed_template, reading &[("annotations", LIFECYCLE)] =>
        "An add-on that only Tidegate manages does not list `addontemplates`.\n\n\
         OCM's add-on manager starts a manager for every add-on whose `spec.supportedConfigs` (`defaultConfigs` in \
         v1beta1) lists `addontemplates`, even if the annotation `addon.open-cluster-management.io/lifecycle` is \
         `tidegate`. Both managers then overwrite each other's changes indefinitely. Warns. Remove the type from the \
         list, and name the template in the placements or in the ManagedClusterAddOns. Then restart OCM's add-on \
         manager, because a manager that it has started for an add-on does not stop by itself. If OCM's add-on manager \
         is not running, ignore this warning (`docs/ocm/beside.md`).";
} }

fn listed_template(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let body = &subject.body;
    let lifecycle = body.annotations.as_ref().and_then(|all| all.text(LIFECYCLE));
    if lifecycle != Some(LIFECYCLE_TIDEGATE) {
        return;
    }
    let resource = Kind::Template.address().resource;
    let mut listed = body.supported.each(subject.effort);
    let found = listed.find(|one| one.group == Some(ADDON_GROUP) && one.resource == Some(resource));
    let Some(found) = found else { return };
    let fault = Fault::of_text(
        Class::Invalid,
        resource,
        "must not be listed while OCM's add-on manager is running: that manager manages every add-on that lists addontemplates",
    );
    let hint = "name the template in the placements instead, and restart OCM's add-on manager";
    findings.warn(fault.hint(hint).at(found.path.key("resource"), LISTED_TEMPLATE));
}
