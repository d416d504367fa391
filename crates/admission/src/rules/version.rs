//! Rules about versions of add-ons. Page: `tests/rules/version.md`.
//!
//! If no template of an add-on has a version, its versions are not checked, because another program uses them. A version that a
//! placement gave to a ManagedClusterAddOn only warns: the finding is reported on the ClusterManagementAddOn, and a refusal would
//! prevent the installation of the add-on.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::body::ClusterAddonBody;
use crate::rules::version_reference::{self, VersionReference};
use crate::step_budget::StepBudget;
use crate::subject::{Addon, ClusterAddon, HubConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, Violation, listed, nearest, quoted};
use model::{AddonVersion, ConfigReference};
use store::{AddonFacts, Facts, Kind};

const FORMAT: &str = "version/format";
const UNSUPPORTED: &str = "version/unsupported";
/// The maximum number of versions that a message lists.
const MOST_LISTED: usize = 8;

rules! { pub(crate) ON_ADDONS of Addon {
    refuses FORMAT, CreateAndUpdate, format_in_templates =>
        "`desiredVersion` is a semantic version.\n\n\
         `v1.2.3`, `1.2.3`, and shorter forms such as `v1`. The controllers compare versions, for example to distinguish an \
         upgrade from a rollback, and a text such as `latest` cannot be compared. Applies to `desiredVersion` of a \
         ManagedClusterAddOn, of the templates in placements, and of an AddOnHubConfig. Refused.";
    refuses UNSUPPORTED, CreateAndUpdate, unsupported_in_templates =>
        "`desiredVersion` is a version that the add-on has.\n\n\
         The versions of an add-on are the labels `addon.open-cluster-management.io/version` of its AddOnTemplates, and \
         are listed in `status.supportedVersions`. Without an AddOnTemplate of the version nothing can be deployed. \
         Refused on a ManagedClusterAddOn, and for a reference to an AddOnHubConfig that requires such a version, with \
         the versions that exist. It only warns in the templates of a ClusterManagementAddOn, in an AddOnHubConfig \
         itself (the AddOnTemplate may come with the same `kubectl apply`), and for a version that a placement gave to \
         the ManagedClusterAddOn. Create the AddOnTemplate of the version first. If no template of the add-on has a \
         version, this is not checked.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses FORMAT, CreateAndUpdate, own_format => "";
    refuses UNSUPPORTED, CreateAndUpdate, own_unsupported => "";
} }

rules! { pub(crate) ON_HUB_CONFIGS of HubConfig {
    refuses FORMAT, CreateAndUpdate, hub_format => "";
    refuses UNSUPPORTED, CreateAndUpdate, hub_unsupported => "";
} }

fn spec_path() -> Path {
    Path::root().key("spec").key("desiredVersion")
}

fn own_format(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let body = &subject.body;
    let mut found = Findings::new();
    check_format(body.desired_version, spec_path, &mut found);
    for violation in found.into_parts().0 {
        report(violation, body, findings);
    }
}

/// A version that a placement gave only warns: it is reported on the ClusterManagementAddOn, and a refusal would prevent the
/// installation of the add-on.
fn report(violation: Violation, body: &ClusterAddonBody<'_>, findings: &mut Findings) {
    if body.given_version == body.desired_version {
        findings.warn(violation);
    } else {
        findings.deny(violation);
    }
}

fn hub_format(subject: &Subject<'_, HubConfig>, findings: &mut Findings) {
    check_format(subject.body.desired_version, spec_path, findings);
}

fn format_in_templates(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for placement in subject.body.placements.each(subject.effort) {
        for template in placement.spec.iter().chain(&placement.template) {
            let path = || template.path.key("desiredVersion");
            check_format(template.desired_version, path, findings);
        }
    }
}

fn check_format(text: Option<&str>, path: impl Fn() -> Path, findings: &mut Findings) {
    if let Some(Err(fault)) = text.map(AddonVersion::parse) {
        findings.deny(fault.at(path(), FORMAT));
    }
}

fn own_unsupported(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let body = &subject.body;
    let Some(versions) = Versions::of(subject.facts, subject.name, subject.effort) else {
        return;
    };
    if let Some(fault) = versions.unsupported(body.desired_version) {
        report(fault.at(spec_path(), UNSUPPORTED), body, findings);
    }
    for reference in version_reference::of_cluster_addon(subject) {
        let Some(fault) = versions.misses(&reference) else {
            continue;
        };
        let violation = fault.at(reference.path.clone(), UNSUPPORTED);
        if version_reference::is_given(subject, &reference.name) {
            findings.warn(violation);
        } else {
            findings.deny(violation);
        }
    }
}

fn unsupported_in_templates(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let Some(versions) = Versions::of(subject.facts, subject.name, subject.effort) else {
        return;
    };
    for placement in subject.body.placements.each(subject.effort) {
        for template in placement.spec.iter().chain(&placement.template) {
            if let Some(fault) = versions.unsupported(template.desired_version) {
                findings.warn(fault.at(template.path.key("desiredVersion"), UNSUPPORTED));
            }
        }
    }
    for reference in version_reference::of_addon(subject) {
        if let Some(fault) = versions.misses(&reference) {
            findings.deny(fault.at(reference.path.clone(), UNSUPPORTED));
        }
    }
}

/// A configuration does not contain its add-on, so it is checked for each add-on that refers to it.
fn hub_unsupported(subject: &Subject<'_, HubConfig>, findings: &mut Findings) {
    let facts = subject.facts;
    for (name, addon) in facts.addons.iter() {
        if !points_to(addon, subject.name, subject.effort) {
            continue;
        }
        let versions = Versions::of(facts, name, subject.effort);
        if let Some(fault) = versions.and_then(|versions| versions.unsupported(subject.body.desired_version))
        {
            findings.warn(fault.at(spec_path(), UNSUPPORTED));
        }
    }
}

fn points_to(addon: &AddonFacts, hub_config: &str, effort: &StepBudget<'_>) -> bool {
    let given = addon
        .placements
        .iter()
        .flat_map(|placement| &placement.template.configs);
    addon
        .defaults
        .iter()
        .chain(given)
        .take_while(|_| effort.spend(1))
        .any(|reference| is_of(reference, Kind::HubConfig) && reference.name() == hub_config)
}

fn is_of(reference: &ConfigReference, kind: Kind) -> bool {
    Kind::of_config(reference.config().group(), reference.config().resource()) == Some(kind)
}

/// The versions of an add-on, in ascending order.
struct Versions<'f> {
    addon: &'f str,
    known: Vec<(AddonVersion, &'f Arc<str>)>,
    is_known: BTreeSet<AddonVersion>,
    effort: &'f StepBudget<'f>,
}

impl<'f> Versions<'f> {
    fn of(facts: &'f Facts, addon: &'f str, effort: &'f StepBudget<'f>) -> Option<Self> {
        let supported = facts.versions(addon)?.supported.iter();
        let paid = supported.take_while(|_| effort.spend(1));
        let known: Vec<(AddonVersion, &Arc<str>)> = paid
            .filter_map(|known| Some((AddonVersion::parse(known).ok()?, known)))
            .collect();
        let is_known = known.iter().map(|(version, _)| version.clone()).collect();
        Some(Self {
            addon,
            known,
            is_known,
            effort,
        })
    }

    /// Returns what is wrong with the version of a reference.
    fn misses(&self, reference: &VersionReference) -> Option<Fault> {
        if AddonVersion::parse(&reference.version).is_err() {
            return Some(reference.unreadable());
        }
        let wrong = self.unsupported(Some(&reference.version))?;
        let hint = format!(
            "refer to an AddOnHubConfig with a supported version, or create the AddOnTemplate of version {} first",
            quoted(&reference.version)
        );
        Some(reference.fault(&wrong).hint(hint))
    }

    /// Returns what is wrong with a version that can be parsed; the rule about the format reports all others.
    fn unsupported(&self, text: Option<&str>) -> Option<Fault> {
        let text = text?;
        let asked = AddonVersion::parse(text).ok()?;
        if self.is_known.contains(&asked) {
            return None;
        }
        let known = &self.known;
        let near = self.effort.hint(|| near(&asked, known));
        // Users mostly need the highest ones.
        let lower = known.len().saturating_sub(MOST_LISTED);
        let names = known.iter().skip(lower).map(|(_, text)| &***text);
        let mut detail = format!(
            "is not a version of add-on {}; supported values: {}",
            quoted(self.addon),
            listed(names)
        );
        if lower > 0 {
            let _infallible = write!(detail, " and {lower} lower versions");
        }
        let fault = Fault::of_text(Class::NotSupported, text, detail);
        Some(fault.hint_if(near.map(|near| format!("did you mean {}?", quoted(near)))))
    }
}

/// Returns the closest version: for a long text the one with the most similar spelling, for a short one, where all versions are
/// similar, the next lower version.
fn near<'a>(asked: &AddonVersion, known: &[(AddonVersion, &'a Arc<str>)]) -> Option<&'a str> {
    let text = asked.as_str();
    let spelt = (text.chars().count() > 4)
        .then(|| nearest(text, known.iter().map(|(_, known)| &***known)))
        .flatten();
    let below = known.iter().rev().find(|(version, _)| version < asked);
    let neighbour = below.or_else(|| known.first());
    spelt.or_else(|| neighbour.map(|(_, known)| &***known))
}
