//! The rule about references to templates of another add-on.
//!
//! Another rule reports a template that does not exist. The planner does not deploy a template of another add-on, even if such a
//! reference is stored.

use crate::body::ReferenceAt;
use crate::rules::config::{every_reference, readable};
use crate::rules::deletion::usage;
use crate::rules::reach::reference_to;
use crate::subject::{self, Addon, ClusterAddon, Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings, Path, Violation, quoted};
use model::Name;
use store::{ConfigPresence, Content, Kind};

const OTHER_ADDON: &str = "template/other-addon";
const ADDON_NAME: &str = "template/addon-name";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses OTHER_ADDON, CreateAndUpdate, addon_refers =>
        "An AddOnTemplate that requests hub permissions or a custom signer is used only by the add-on in its `spec.addonName`.\n\n\
         `spec.addonName` is the add-on whose agents get the hub permissions and certificates of the template. A reference from \
         another add-on in a ClusterManagementAddOn or a ManagedClusterAddOn is refused, and the controllers deploy and grant nothing \
         from such a template, unless they run with `--template-sharing with-access`. A change of the template is refused if an add-on that uses the template could no longer use it after the change: create a template with another name. A reference to a template that \
         does not exist yet only warns (`config/not-found`), and so does a new template whose name another add-on already refers to.";
    warns ADDON_NAME, CreateAndUpdate, addon_shares =>
        "The AddOnTemplate that an add-on refers to is for another add-on.\n\n\
         `spec.addonName` of the template is not the name of the add-on. Like OCM, Tidegate deploys such a template if it requests no \
         hub permissions and no custom signer. Any change of the template then changes both add-ons, and the template cannot \
         provide a version (`version/no-effect`) to the add-on that is not in `spec.addonName`.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses OTHER_ADDON, CreateAndUpdate, refers => "";
    warns ADDON_NAME, CreateAndUpdate, shares => "";
} }

rules! { pub(in crate::rules) RULES of Template {
    refuses OTHER_ADDON, CreateAndUpdate, is_taken_away => "";
} }

fn is_taken_away(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let owner = subject.body.addon;
    let requests = subject.body.requests_access(subject.effort);
    let before = subject.old.as_ref();
    let before = before.map(|old| (old.addon, old.requests_access(subject.effort)));
    let Some(config) = reference_to(Kind::Template, "", subject.name) else {
        return;
    };
    // Other add-ons that refer to it have been reported before. Only those lose it that could use it.
    if before.is_some_and(|(addon, requested)| addon == owner && (requested || !requests)) {
        return;
    }
    let addons = subject
        .facts
        .addons
        .iter()
        .take_while(|_| subject.effort.spend(1));
    for (addon, says) in addons.filter(|(addon, _)| ***addon != *owner) {
        let is_taken = before.is_some_and(|(before, _)| before == &**addon || before == owner);
        if !requests && !is_taken {
            continue;
        }
        let Some(usage) = usage(subject, addon, says, &config) else {
            continue;
        };
        let spec = Path::root().key("spec");
        let (path, detail) = match before {
            Some((before, _)) if before == owner => (
                spec.key("registration"),
                format!(
                    "{usage}; an add-on cannot use a template of another add-on that requests hub permissions or a custom signer"
                ),
            ),
            Some(_) | None => (
                spec.key("addonName"),
                format!("{usage}; an add-on cannot use a template of another add-on"),
            ),
        };
        let hint = format!("create a template with another name for {}", quoted(owner));
        let violation = Fault::of_text(Class::Forbidden, owner, detail)
            .hint(hint)
            .at(path, OTHER_ADDON);
        if is_taken {
            findings.deny(violation);
        } else {
            findings.warn(violation);
        }
    }
}

fn addon_refers(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    deny_access(subject, every_reference(subject), findings);
}

fn refers(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    deny_access(subject, subject.body.configs.each(subject.effort), findings);
}

fn addon_shares(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    warn_of_sharing(subject, every_reference(subject), findings);
}

fn shares(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    warn_of_sharing(subject, subject.body.configs.each(subject.effort), findings);
}

fn deny_access<'l, 'a: 'l, K: subject::Kind>(
    subject: &Subject<'_, K>,
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for foreign in foreign(subject, list).filter(|foreign| foreign.requests_access) {
        let detail = format!(
            "this template is for add-on {}, and requests hub permissions or a custom signer",
            quoted(&foreign.owner)
        );
        findings.deny(foreign.violation(Class::Forbidden, detail, subject.name, OTHER_ADDON));
    }
}

fn warn_of_sharing<'l, 'a: 'l, K: subject::Kind>(
    subject: &Subject<'_, K>,
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for foreign in foreign(subject, list).filter(|foreign| !foreign.requests_access) {
        let detail = format!("this template is for add-on {}", quoted(&foreign.owner));
        findings.warn(foreign.violation(Class::Invalid, detail, subject.name, ADDON_NAME));
    }
}

/// A reference to a template of another add-on.
struct Foreign {
    path: Path,
    name: Name,
    owner: Name,
    requests_access: bool,
}

impl Foreign {
    fn violation(&self, class: Class, detail: String, addon: &str, rule: &'static str) -> Violation {
        let hint = format!("refer to a template whose spec.addonName is {}", quoted(addon));
        let fault = Fault::of_text(class, &self.name, detail).hint(hint);
        fault.at(self.path.key("name"), rule)
    }
}

fn foreign<'s, 'l, 'a: 'l, K: subject::Kind, L: Iterator<Item = &'l ReferenceAt<'a>>>(
    subject: &'s Subject<'_, K>,
    list: L,
) -> impl Iterator<Item = Foreign> + use<'s, 'l, 'a, K, L> {
    readable(list).filter_map(|(at, reference)| {
        let ConfigPresence::Exists(found) = subject.facts.config(&reference) else {
            return None;
        };
        match found.content.as_deref()? {
            Content::Template(template) if *template.addon != *subject.name => Some(Foreign {
                path: at.path.clone(),
                name: reference.name().into(),
                owner: template.addon.clone(),
                requests_access: template.requests_access(),
            }),
            Content::Template(_) | Content::Deployment(_) | Content::Hub => None,
        }
    })
}
