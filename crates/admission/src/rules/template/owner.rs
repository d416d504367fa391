//! The rule about references to templates of another add-on.
//!
//! Another rule reports a template that does not exist. The planner does not deploy a template of another add-on, even if such a
//! reference is stored.

use crate::body::ReferenceAt;
use crate::rules::config::{every_reference, readable};
use crate::rules::deletion::usage;
use crate::rules::reach::reference_to;
use crate::subject::{self, Addon, ClusterAddon, Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use store::{ConfigPresence, Content, Kind};

const OTHER_ADDON: &str = "template/other-addon";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses OTHER_ADDON, CreateAndUpdate, addon_refers =>
        "An AddOnTemplate is used only by the add-on in its `spec.addonName`.\n\n\
         `spec.addonName` is the add-on whose agents get the manifests, hub permissions and certificates of the \
         template. A reference from another add-on in a ClusterManagementAddOn or a ManagedClusterAddOn is refused, and \
         the controllers deploy and grant nothing from such a template. A change of `spec.addonName` is refused while \
         an add-on uses the template, because that add-on could no longer be updated on its clusters: create a template \
         with another name. A reference to a template that does not exist yet only warns (`config/not-found`), and so \
         does a new template whose name another add-on already refers to.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses OTHER_ADDON, CreateAndUpdate, refers => "";
} }

rules! { pub(in crate::rules) RULES of Template {
    refuses OTHER_ADDON, CreateAndUpdate, is_taken_away => "";
} }

fn is_taken_away(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let owner = subject.body.addon;
    let before = subject.old.as_ref().map(|old| old.addon);
    let Some(config) = reference_to(Kind::Template, "", subject.name) else {
        return;
    };
    // Other add-ons that refer to it have been reported before. Only the add-on that owned it loses it.
    if before == Some(owner) {
        return;
    }
    let addons = subject
        .facts
        .addons
        .iter()
        .take_while(|_| subject.effort.spend(1));
    for (addon, says) in addons.filter(|(addon, _)| ***addon != *owner) {
        let is_taken = before == Some(&**addon);
        let Some(usage) = usage(subject, addon, says, &config) else {
            continue;
        };
        let detail = format!("{usage}, and cannot use a template of another add-on");
        let hint = format!("create a template with another name for {}", quoted(owner));
        let fault = Fault::of_text(Class::Forbidden, owner, detail).hint(hint);
        let violation = fault.at(Path::root().key("spec").key("addonName"), OTHER_ADDON);
        if is_taken {
            findings.deny(violation);
        } else {
            findings.warn(violation);
        }
    }
}

fn addon_refers(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    deny_foreign(subject, every_reference(subject), findings);
}

fn refers(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    deny_foreign(subject, subject.body.configs.each(subject.effort), findings);
}

fn deny_foreign<'l, 'a: 'l, K: subject::Kind>(
    subject: &Subject<'_, K>,
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for (at, reference) in readable(list) {
        let ConfigPresence::Exists(found) = subject.facts.config(&reference) else {
            continue;
        };
        let Some(Content::Template(template)) = found.content.as_deref() else {
            continue;
        };
        if *template.addon == *subject.name {
            continue;
        }
        let detail = format!("this template is for add-on {}", quoted(&template.addon));
        let hint = format!(
            "refer to a template whose spec.addonName is {}",
            quoted(subject.name)
        );
        let fault = Fault::of_text(Class::Forbidden, reference.name(), detail).hint(hint);
        findings.deny(fault.at(at.path.key("name"), OTHER_ADDON));
    }
}
