//! The rule about versions that are set together with a template. Page: `tests/rules/version.md`.
//!
//! Reports versions that have no effect, with the levels of the planner: default, placement, cluster, each for a whole type of
//! configuration, and a template before every version. A level that overrides a lower one is no mistake, so this reports only
//! versions at the level of a template or below it.

use std::sync::Arc;

use crate::body::ReferenceAt;
use crate::rules::config::{every_default, readable};
use crate::rules::version_reference;
use crate::step_budget::Items;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{AddonVersion, ConfigReference};
use store::{Facts, Kind};

const NO_EFFECT: &str = "version/no-effect";

rules! { pub(crate) ON_ADDONS of Addon {
    warns NO_EFFECT, CreateAndUpdate, no_effect_in_addon =>
        "A version is not set together with a template.\n\n\
         A reference to an AddOnTemplate takes precedence over every version, whether it is in a ManagedClusterAddOn, \
         in a placement, or in the ClusterManagementAddOn (`spec.configuration` or the default of a supported type). \
         The controllers deploy that template and ignore `desiredVersion` and the AddOnHubConfig. Warns if the two \
         differ. Remove one of them. A version that the template of a more specific level replaces on some clusters \
         does not warn.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns NO_EFFECT, CreateAndUpdate, no_effect => "";
} }

fn no_effect(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let body = &subject.body;
    let Some(template) = deployed(subject) else {
        return;
    };
    if let Some(version) = body.desired_version.filter(|version| !template.is_of(version)) {
        let path = Path::root().key("spec").key("desiredVersion");
        findings.warn(template.wins_over(version).at(path, NO_EFFECT));
    }
    for reference in version_reference::of_cluster_addon(subject) {
        if !template.is_of(&reference.version) {
            findings.warn(template.wins_over(&reference.name).at(reference.path, NO_EFFECT));
        }
    }
}

/// A template that is referred to, so that the version has no effect.
#[derive(Clone)]
struct Named {
    /// Where the reference is.
    place: String,
    name: String,
    version: Option<Arc<str>>,
}

impl Named {
    /// Returns whether the template has this version. Then the version is not ignored.
    fn is_of(&self, asked: &str) -> bool {
        let own = self.version.as_deref().map(AddonVersion::parse);
        matches!((own, AddonVersion::parse(asked)), (Some(Ok(own)), Ok(asked)) if own == asked)
    }

    fn wins_over(&self, value: &str) -> Fault {
        let detail = format!(
            "{} names template {}, which is deployed instead",
            self.place,
            quoted(&self.name)
        );
        let fault = Fault::of_text(Class::Forbidden, value, detail);
        fault.hint("to select by version, remove the reference to the template")
    }
}

/// The reference to a template at one level.
enum Choice {
    /// None: the inherited reference applies.
    Inherited,
    /// The reserved name, which also turns off the inherited reference.
    Nothing,
    /// This template; of several the first.
    Template(Named),
}

impl Choice {
    fn of<'r>(facts: &Facts, layer: impl Iterator<Item = (&'r ConfigReference, String)>) -> Self {
        let mut choice = Self::Inherited;
        for (reference, place) in layer.filter(|(reference, _)| is_of(reference, Kind::Template)) {
            if reference.name() != RESERVED_NO_DEFAULT {
                return Self::Template(Named {
                    place,
                    name: reference.name().to_owned(),
                    version: version_reference::version_of(facts, reference),
                });
            }
            choice = Self::Nothing;
        }
        choice
    }

    fn in_list<'l, 'a: 'l>(facts: &Facts, list: impl Iterator<Item = &'l ReferenceAt<'a>>) -> Self {
        let list: Vec<(&ReferenceAt<'_>, ConfigReference)> = readable(list).collect();
        let each = list.iter();
        Self::of(
            facts,
            each.map(|(at, reference)| (reference, at.path.to_string())),
        )
    }

    fn over(self, inherited: Option<&Named>) -> Option<Named> {
        match self {
            Self::Inherited => inherited.cloned(),
            Self::Nothing => None,
            Self::Template(named) => Some(named),
        }
    }
}

fn is_of(reference: &ConfigReference, kind: Kind) -> bool {
    Kind::of_config(reference.config().group(), reference.config().resource()) == Some(kind)
}

/// Returns the template that the ManagedClusterAddOn, the last placement that selects the cluster, or the ClusterManagementAddOn refers
/// to.
fn deployed(subject: &Subject<'_, ClusterAddon>) -> Option<Named> {
    let (facts, effort) = (subject.facts, subject.effort);
    let own = Choice::in_list(facts, subject.body.configs.each(effort));
    let Some(addon) = facts.addon(subject.name) else {
        return own.over(None);
    };
    let of = Kind::Template.address();
    // A cluster cannot set configurations of a protected type.
    let own = if addon.protects(of.group, of.resource) {
        Choice::Inherited
    } else {
        own
    };
    let defaults = addon.defaults.iter().take_while(|_| effort.spend(1));
    let default = Choice::of(
        facts,
        defaults.map(|one| (one, "the ClusterManagementAddOn".to_owned())),
    );
    let mut placements = addon.placements.iter().rev().take_while(|_| effort.spend(1));
    let home = placements.find(|at| facts.selects(&at.namespace, &at.name, subject.namespace));
    let placed = home.map_or(Choice::Inherited, |at| {
        let place = format!(
            "placement {}/{} of the ClusterManagementAddOn",
            at.namespace, at.name
        );
        let configs = at.configs.iter().take_while(|_| effort.spend(1));
        Choice::of(facts, configs.map(|one| (one, place.clone())))
    });
    own.over(placed.over(default.over(None).as_ref()).as_ref())
}

fn no_effect_in_addon(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (body, facts, effort) = (&subject.body, subject.facts, subject.effort);
    let named = |list: &Items<ReferenceAt<'_>>| Choice::in_list(facts, list.each(effort));
    let preset = Choice::in_list(facts, every_default(subject)).over(None);
    let default = named(&body.configured).over(preset.as_ref());
    if let Some(template) = &default {
        warn_defaults(subject, template, findings);
    }
    for placement in body.placements.each(effort) {
        let inherited = named(&placement.configs).over(default.as_ref());
        if let Some(template) = &inherited {
            warn(subject, placement.configs.each(effort), template, findings);
        }
        for at in placement.spec.iter().chain(&placement.template) {
            let Some(template) = named(&at.configs).over(inherited.as_ref()) else {
                continue;
            };
            warn(subject, at.configs.each(effort), &template, findings);
            if let Some(version) = at.desired_version.filter(|version| !template.is_of(version)) {
                let path = at.path.key("desiredVersion");
                findings.warn(template.wins_over(version).at(path, NO_EFFECT));
            }
        }
    }
}

/// The default of a supported type applies only if `spec.configuration` has no configuration of the type.
fn warn_defaults(subject: &Subject<'_, Addon>, template: &Named, findings: &mut Findings) {
    let list = &subject.body.configured;
    warn(subject, list.each(subject.effort), template, findings);
    let mut configured = readable(list.each(subject.effort));
    if !configured.any(|(_, reference)| is_of(&reference, Kind::HubConfig)) {
        warn(subject, every_default(subject), template, findings);
    }
}

/// Warns about the AddOnHubConfigs of a list that require another version.
fn warn<'l, 'a: 'l>(
    subject: &Subject<'_, Addon>,
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    template: &Named,
    findings: &mut Findings,
) {
    for (at, reference) in readable(list).filter(|(_, reference)| is_of(reference, Kind::HubConfig)) {
        let reference = version_reference::of_reference(subject.facts, at, &reference);
        if let Some(reference) = reference.filter(|one| !template.is_of(&one.version)) {
            findings.warn(template.wins_over(&reference.name).at(reference.path, NO_EFFECT));
        }
    }
}
