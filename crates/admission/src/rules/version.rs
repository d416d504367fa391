//! Rules about versions of add-ons. Page: `tests/rules/version.md`.
//!
//! Decides which versions are refused and which are doubted. A version of an add-on whose templates carry none is never
//! asked about: then it means something to another program. What a placement gave is only doubted on the add-on of a
//! cluster, because the placement has been told already and a refusal would keep the add-on away altogether.

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
/// Most versions that a message lists.
const MOST_LISTED: usize = 8;

rules! { pub(crate) ON_ADDONS of Addon {
    refuses FORMAT, CreateAndUpdate, format_in_templates =>
        "A desired version is a semantic version.\n\n\
         `v1.2.3`, `1.2.3`, and what leaves the last numbers out: `v1`. Versions are compared, so that an upgrade \
         can be told from a rollback; a text such as `latest` has no place among them. Holds for \
         `desiredVersion` of a ManagedClusterAddOn, of the creation templates of placements and of an \
         AddOnHubConfig. Refused.";
    refuses UNSUPPORTED, CreateAndUpdate, unsupported_in_templates =>
        "A desired version is one that the add-on has.\n\n\
         The versions of an add-on are the labels `addon.open-cluster-management.io/version` of the AddOnTemplates \
         made for it; `status.supportedVersions` lists them. On a ManagedClusterAddOn any other version is refused, \
         with the versions that exist; one that its placement gave only warns. A reference to an AddOnHubConfig that \
         asks for any other version is refused likewise, in a ManagedClusterAddOn and wherever a \
         ClusterManagementAddOn has references: make the AddOnTemplate of the version first. A `desiredVersion` in the \
         templates of a ClusterManagementAddOn, and in an AddOnHubConfig itself, warns, because the AddOnTemplate may \
         come with the same apply. While no template of the add-on has a version, nothing is said.";
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
        tell(violation, body, findings);
    }
}

/// What a placement gave warns: the placement was told, and a refusal would keep the add-on away altogether.
fn tell(violation: Violation, body: &ClusterAddonBody<'_>, findings: &mut Findings) {
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
        tell(fault.at(spec_path(), UNSUPPORTED), body, findings);
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

/// A configuration object does not say whose it is: the add-ons do that point to it.
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

/// The versions of an add-on, from the lowest up.
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

    /// Returns what is wrong with a reference that stands for a version.
    fn misses(&self, reference: &VersionReference) -> Option<Fault> {
        if AddonVersion::parse(&reference.version).is_err() {
            return Some(reference.unreadable());
        }
        let wrong = self.unsupported(Some(&reference.version))?;
        let cure = format!(
            "name an AddOnHubConfig of a version that is supported, or make the AddOnTemplate of {} first",
            quoted(&reference.version)
        );
        Some(reference.fault(&wrong).hint(cure))
    }

    /// Returns what is wrong with a version that can be read; what cannot is told by its format.
    fn unsupported(&self, text: Option<&str>) -> Option<Fault> {
        let text = text?;
        let asked = AddonVersion::parse(text).ok()?;
        if self.is_known.contains(&asked) {
            return None;
        }
        let known = &self.known;
        let near = self.effort.hint(|| near(&asked, known));
        // The highest ones are those that people ask for.
        let lower = known.len().saturating_sub(MOST_LISTED);
        let names = known.iter().skip(lower).map(|(_, text)| &***text);
        let mut detail = format!("add-on {} supports: {}", quoted(self.addon), listed(names));
        if lower > 0 {
            let _infallible = write!(detail, " and {lower} lower ones");
        }
        let fault = Fault::of_text(Class::NotSupported, text, detail);
        Some(fault.hint_if(near.map(|near| format!("did you mean {}?", quoted(near)))))
    }
}

/// A long text is probably misspelt; a short one, where every version looks alike, is probably the neighbour's.
fn near<'a>(asked: &AddonVersion, known: &[(AddonVersion, &'a Arc<str>)]) -> Option<&'a str> {
    let text = asked.as_str();
    let spelt = (text.chars().count() > 4)
        .then(|| nearest(text, known.iter().map(|(_, known)| &***known)))
        .flatten();
    let below = known.iter().rev().find(|(version, _)| version < asked);
    let neighbour = below.or_else(|| known.first());
    spelt.or_else(|| neighbour.map(|(_, known)| &***known))
}
