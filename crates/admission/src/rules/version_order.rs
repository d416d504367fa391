//! Rules about changes of versions. Page: `tests/rules/version-order.md`.
//!
//! Warns about downgrades and about skipped versions. Does not refuse by default, because a rollback is how users fix an incident.

use std::collections::BTreeMap;

use crate::body::PlacementAt;
use crate::rules::install_strategy::place_of;
use crate::rules::version_reference;
use crate::step_budget::StepBudget;
use crate::subject::{Addon, ClusterAddon, HubConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, listed, quoted};
use model::AddonVersion;
use store::Facts;

const DOWNGRADE: &str = "version/downgrade";
const SKIP: &str = "version/skip";

rules! { pub(crate) ON_ADDONS of Addon {
    warns DOWNGRADE, Update, downgrade_in_templates =>
        "An edit does not lower the version.\n\n\
         An older agent may not be able to read the data that a newer agent has written. Warns when `desiredVersion` \
         becomes lower than the stored one (in a ManagedClusterAddOn, in the templates of placements, or in an \
         AddOnHubConfig), and when a reference to an AddOnHubConfig or AddOnTemplate changes to an object with a lower version. \
         Set the action of this rule to Deny if rollbacks need a review.";
    warns SKIP, Update, skip_in_templates =>
        "An upgrade does not skip a minor version.\n\n\
         Agents are usually tested from one minor version to the next. Warns when the add-on has versions of another \
         minor version between the stored one and the new one, and lists them. Upgrade to one of the listed versions \
         first.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns DOWNGRADE, Update, own_downgrade => "";
    warns SKIP, Update, own_skip => "";
} }

rules! { pub(crate) ON_HUB_CONFIGS of HubConfig {
    warns DOWNGRADE, Update, hub_downgrade => "";
} }

/// A change from one version to another.
pub(super) struct Change {
    from: AddonVersion,
    to: AddonVersion,
}

impl Change {
    /// Parses a change; `None` if one of the versions cannot be parsed, which the rule about the format reports.
    pub(super) fn of(from: Option<&str>, to: Option<&str>) -> Option<Self> {
        let read = |text: Option<&str>| AddonVersion::parse(text?).ok();
        Some(Self {
            from: read(from)?,
            to: read(to)?,
        })
    }

    fn downgrade(&self) -> Option<Fault> {
        (self.to < self.from).then(|| {
            let detail = format!("is lower than the stored version {}", quoted(self.from.as_str()));
            Fault::of_text(Class::Invalid, self.to.as_str(), detail)
        })
    }

    /// Returns the skipped versions: those of a minor version that is neither the old nor the new one.
    fn skip(&self, facts: &Facts, addon: &str, effort: &StepBudget<'_>) -> Option<Fault> {
        let supported = facts.versions(addon)?.supported.iter();
        let known = supported.take_while(|_| effort.spend(1));
        let between = known.filter(|text| {
            AddonVersion::parse(text).is_ok_and(|version| {
                !version.is_preliminary()
                    && version > self.from
                    && version < self.to
                    && version.minor() != self.from.minor()
                    && version.minor() != self.to.minor()
            })
        });
        let between: Vec<&str> = between.map(|text| &**text).collect();
        (!between.is_empty()).then(|| {
            let detail = format!(
                "skips {} in the upgrade from {}",
                listed(between.iter().copied()),
                quoted(self.from.as_str())
            );
            Fault::of_text(Class::Invalid, self.to.as_str(), detail)
        })
    }
}

fn spec_path() -> Path {
    Path::root().key("spec").key("desiredVersion")
}

fn own_change(subject: &Subject<'_, ClusterAddon>) -> Option<Change> {
    let old = subject.old.as_ref()?;
    Change::of(old.desired_version, subject.body.desired_version)
}

fn own_downgrade(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    if let Some(fault) = own_change(subject).and_then(|change| change.downgrade()) {
        findings.warn(fault.at(spec_path(), DOWNGRADE));
    }
    version_reference::own_changes(subject, |change, now| {
        if let Some(fault) = change.downgrade() {
            findings.warn(now.fault(&fault).at(now.path.clone(), DOWNGRADE));
        }
    });
}

fn own_skip(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let fault =
        own_change(subject).and_then(|change| change.skip(subject.facts, subject.name, subject.effort));
    if let Some(fault) = fault {
        findings.warn(fault.at(spec_path(), SKIP));
    }
    version_reference::own_changes(subject, |change, now| {
        if let Some(fault) = change.skip(subject.facts, subject.name, subject.effort) {
            findings.warn(now.fault(&fault).at(now.path.clone(), SKIP));
        }
    });
}

fn hub_downgrade(subject: &Subject<'_, HubConfig>, findings: &mut Findings) {
    let old = subject.old.as_ref().and_then(|old| old.desired_version);
    let change = Change::of(old, subject.body.desired_version);
    if let Some(fault) = change.and_then(|change| change.downgrade()) {
        findings.warn(fault.at(spec_path(), DOWNGRADE));
    }
}

/// Returns the stored placements by namespace and name; of several with the same name the first one.
pub(super) fn before<'s, 'a>(
    subject: &'s Subject<'a, Addon>,
) -> BTreeMap<(&'a str, &'a str), &'s PlacementAt<'a>> {
    let mut before = BTreeMap::new();
    let old = subject
        .old
        .iter()
        .flat_map(|old| old.placements.each(subject.effort));
    for (place, placement) in old.filter_map(|was| Some((place_of(was)?, was))) {
        before.entry(place).or_insert(placement);
    }
    before
}

fn for_each_change(subject: &Subject<'_, Addon>, mut check: impl FnMut(&Change, &Path)) {
    let before = before(subject);
    for placement in subject.body.placements.each(subject.effort) {
        let Some(was) = place_of(placement).and_then(|place| before.get(&place)) else {
            continue;
        };
        let version = |at: &PlacementAt<'_>| {
            let template = at.spec.as_ref().or(at.template.as_ref());
            template
                .and_then(|template| template.desired_version)
                .map(str::to_owned)
        };
        let change = Change::of(version(was).as_deref(), version(placement).as_deref());
        let template = placement.spec.as_ref().or(placement.template.as_ref());
        if let (Some(change), Some(template)) = (change, template) {
            check(&change, &template.path.key("desiredVersion"));
        }
    }
}

fn downgrade_in_templates(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for_each_change(subject, |change, path| {
        if let Some(fault) = change.downgrade() {
            findings.warn(fault.at(path.clone(), DOWNGRADE));
        }
    });
    version_reference::changes(subject, |change, now| {
        if let Some(fault) = change.downgrade() {
            findings.warn(now.fault(&fault).at(now.path.clone(), DOWNGRADE));
        }
    });
}

fn skip_in_templates(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for_each_change(subject, |change, path| {
        if let Some(fault) = change.skip(subject.facts, subject.name, subject.effort) {
            findings.warn(fault.at(path.clone(), SKIP));
        }
    });
    version_reference::changes(subject, |change, now| {
        if let Some(fault) = change.skip(subject.facts, subject.name, subject.effort) {
            findings.warn(now.fault(&fault).at(now.path.clone(), SKIP));
        }
    });
}
