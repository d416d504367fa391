//! Versions that a reference selects. Page: `tests/rules/version-reference.md`.
//!
//! A reference to an AddOnHubConfig or an AddOnTemplate selects the version of that object, and users upgrade and roll back by
//! changing the reference. The version is checked like a `desiredVersion`. An object that does not exist has no version; another rule
//! reports that it does not exist.

use std::sync::Arc;

use crate::body::{ClusterAddonBody, PlacementAt, ReferenceAt};
use crate::rules::config::{every_default, lists_of, readable};
use crate::rules::version_order::{Change, before};
use crate::subject::{Addon, ClusterAddon, Subject};
use kubernetes::field::{Class, Fault, Path, quoted};
use model::ConfigReference;
use store::{ConfigPresence, Facts, Kind};

/// A version, and the reference that selects it.
pub(super) struct VersionReference {
    pub(super) kind: Kind,
    pub(super) path: Path,
    pub(super) name: String,
    pub(super) version: Arc<str>,
}

impl VersionReference {
    /// Returns what is wrong with the reference, from what is wrong with its version.
    pub(super) fn fault(&self, wrong: &Fault) -> Fault {
        let detail = format!(
            "selects version {}, which {}",
            quoted(&self.version),
            wrong.detail()
        );
        Fault::of_text(wrong.class(), &self.name, detail)
    }

    /// Returns what is wrong with a version that cannot be parsed. An object may have been stored before the webhook was installed.
    pub(super) fn unreadable(&self) -> Fault {
        let detail = format!("selects {}, which is not a version", quoted(&self.version));
        Fault::of_text(Class::Invalid, &self.name, detail)
    }
}

/// Returns the version that a reference selects, if the object is known and has one.
pub(super) fn of_reference(
    facts: &Facts,
    at: &ReferenceAt<'_>,
    reference: &ConfigReference,
) -> Option<VersionReference> {
    let of = reference.config();
    Some(VersionReference {
        kind: Kind::of_config(of.group(), of.resource())?,
        path: at.path.key("name"),
        name: reference.name().to_owned(),
        version: version_of(facts, reference)?,
    })
}

/// Returns the version of an object, if it is known and has one.
pub(super) fn version_of(facts: &Facts, reference: &ConfigReference) -> Option<Arc<str>> {
    match facts.config(reference) {
        ConfigPresence::Exists(found) => found.version,
        ConfigPresence::Absent(_) | ConfigPresence::Unknown => None,
    }
}

/// Returns the versions that the references of an add-on to AddOnHubConfigs select, in all of its lists.
pub(super) fn of_addon<'s>(subject: &'s Subject<'_, Addon>) -> impl Iterator<Item = VersionReference> + 's {
    let lists = lists_of(&subject.body, subject.effort).flat_map(|list| list.each(subject.effort));
    readable(lists.chain(every_default(subject)))
        .filter_map(|(at, reference)| of_reference(subject.facts, at, &reference))
        .filter(|one| one.kind == Kind::HubConfig)
}

/// Returns the versions that the references of a ManagedClusterAddOn to AddOnHubConfigs select.
pub(super) fn of_cluster_addon<'s>(
    subject: &'s Subject<'_, ClusterAddon>,
) -> impl Iterator<Item = VersionReference> + 's {
    readable(subject.body.configs.each(subject.effort))
        .filter_map(|(at, reference)| of_reference(subject.facts, at, &reference))
        .filter(|one| one.kind == Kind::HubConfig)
}

/// Returns whether a placement of the add-on gives this reference: then it is reported on the ClusterManagementAddOn.
pub(super) fn is_given(subject: &Subject<'_, ClusterAddon>, name: &str) -> bool {
    let placements = subject.facts.addon(subject.name).into_iter();
    placements
        .flat_map(|addon| &addon.placements)
        .flat_map(|placement| &placement.template.configs)
        .take_while(|_| subject.effort.spend(1))
        .any(|given| {
            given.name() == name
                && Kind::of_config(given.config().group(), given.config().resource()) == Some(Kind::HubConfig)
        })
}

/// Returns the version that a list of references selects: a template takes precedence over an AddOnHubConfig, as in the planner.
fn chosen<'l, 'a: 'l>(
    facts: &Facts,
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
) -> Option<VersionReference> {
    let mut version = None;
    for (at, reference) in readable(list) {
        match of_reference(facts, at, &reference) {
            Some(one) if one.kind == Kind::Template => return Some(one),
            Some(one) if one.kind == Kind::HubConfig => {
                version.get_or_insert(one);
            }
            Some(_) | None => {}
        }
    }
    version
}

/// Calls `check` for every version of a ManagedClusterAddOn that changes because a reference names another object.
pub(super) fn own_changes(
    subject: &Subject<'_, ClusterAddon>,
    mut check: impl FnMut(&Change, &VersionReference),
) {
    let list = |body: &ClusterAddonBody<'_>| chosen(subject.facts, body.configs.each(subject.effort));
    let was = subject.old.as_ref().and_then(list);
    between(was, list(&subject.body), &mut check);
}

/// Calls `check` for every version of an add-on that changes because a reference names another object.
pub(super) fn changes(subject: &Subject<'_, Addon>, mut check: impl FnMut(&Change, &VersionReference)) {
    let (facts, effort) = (subject.facts, subject.effort);
    if let Some(old) = &subject.old {
        let defaults = old
            .supported
            .each(effort)
            .filter_map(|entry| entry.default.as_ref());
        let was = chosen(facts, old.configured.each(effort).chain(defaults));
        let now = chosen(
            facts,
            subject.body.configured.each(effort).chain(every_default(subject)),
        );
        between(was, now, &mut check);
    }
    let before = before(subject);
    for placement in subject.body.placements.each(effort) {
        let place = super::install_strategy::place_of(placement);
        let Some(was) = place.and_then(|place| before.get(&place)) else {
            continue;
        };
        let own = |at: &PlacementAt<'_>| chosen(facts, at.configs.each(effort));
        between(own(was), own(placement), &mut check);
        let template = |at: &PlacementAt<'_>| {
            let template = at.spec.as_ref().or(at.template.as_ref())?;
            chosen(facts, template.configs.each(effort))
        };
        between(template(was), template(placement), &mut check);
    }
}

fn between(
    was: Option<VersionReference>,
    now: Option<VersionReference>,
    check: &mut impl FnMut(&Change, &VersionReference),
) {
    let (Some(was), Some(now)) = (was, now) else {
        return;
    };
    // If the name is the same, the reference has not changed. An edit of the object itself is checked there.
    if (was.kind, &was.name) == (now.kind, &now.name) {
        return;
    }
    if let Some(change) = Change::of(Some(&was.version), Some(&now.version)) {
        check(&change, &now);
    }
}
