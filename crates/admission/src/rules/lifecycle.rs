//! Rules about who manages an add-on. Page: `tests/rules/lifecycle.md`.
//!
//! Decides where two managers would act on one add-on although its annotation names one of them. Never refuses: it is not
//! known here whether the other manager runs.

use crate::subject::{Addon, Subject, rules};
use api::names::annotations::{LIFECYCLE, LIFECYCLE_TIDEGATE};
use kubernetes::field::{Class, Fault, Findings};
use store::{ADDON_GROUP, Kind};

const LISTED_TEMPLATE: &str = "lifecycle/listed-template";

rules! { pub(crate) ON_ADDONS of Addon {
    warns LISTED_TEMPLATE, CreateAndUpdate, listed_template, reading &[("annotations", LIFECYCLE)] =>
        "An add-on that is Tidegate's alone does not list `addontemplates`.\n\n\
         OCM's add-on manager runs a manager of its own for every add-on whose `spec.supportedConfigs` (`defaultConfigs` in v1beta1) lists \
         `addontemplates`, whatever the annotation `addon.open-cluster-management.io/lifecycle` says: beside it both write indefinitely. \
         Take the type out and name the template in placements or ManagedClusterAddOns, which is enough for Tidegate; then restart OCM's \
         add-on manager, whose part for this add-on does not end by itself. Where that manager is off, nothing is wrong \
         (`docs/ocm/beside.md`). Warns.";
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
        "must not be listed beside OCM's add-on manager, which drives every add-on that lists it",
    );
    let cure = "name the template in placements instead, and restart that manager";
    findings.warn(fault.hint(cure).at(found.path.key("resource"), LISTED_TEMPLATE));
}
