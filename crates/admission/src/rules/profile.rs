//! Rules about RolloutProfiles. Page: `tests/rules/profile.md`.
//!
//! The parser (`model`), which the planners use as well, determines which values are valid.

use crate::rules::rollout_settings::{STEPS_OF_A_WINDOW, UNKNOWN_CHECK, no_such_check};
use crate::subject::{Profile, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, counted, listed_of, quoted};
use model::{RolloutProfile, rule};

const DEFAULT: &str = "profile/default";
const REACH: &str = "profile/reach";
const IN_USE: &str = "deletion/rollout-profile";
/// So many users are listed in a message.
const LISTED: usize = 5;

rules! { pub(crate) ON_PROFILES of Profile {
    refuses rule::ROLLOUT_PROFILE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_PROFILE) =>
        "A profile has valid values, and a reference to one has a valid name.\n\n\
         `orderBy` is the key of a label, and each entry of `clusterWindows` has a valid selector of clusters. `profile` of an AddOnRollout is \
         the name of a RolloutProfile. The controllers cannot know what was meant by other values, and start nothing that uses the profile \
         until it is corrected. Refused.";
    refuses rule::ROLLOUT_WINDOW, CreateAndUpdate, windows => "";
    refuses rule::ROLLOUT_APPROVAL, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_APPROVAL) => "";
    refuses rule::ROLLOUT_CHECKS, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_CHECKS) => "";
    warns UNKNOWN_CHECK, CreateAndUpdate, unknown_check => "";
    refuses rule::ROLLOUT_ON_FAILURE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_ON_FAILURE) => "";
    refuses rule::ROLLOUT_REVISIONS, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_REVISIONS) => "";
    refuses rule::UNKNOWN_TYPE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::UNKNOWN_TYPE) => "";
    refuses rule::TYPE_MISMATCH, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::TYPE_MISMATCH) => "";
    refuses rule::MIN_SUCCESS_TIME, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::MIN_SUCCESS_TIME) => "";
    refuses rule::PROGRESS_DEADLINE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::PROGRESS_DEADLINE) => "";
    refuses rule::MAX_CONCURRENCY, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::MAX_CONCURRENCY) => "";
    refuses rule::MAX_FAILURES, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::MAX_FAILURES) => "";
    refuses rule::MANDATORY_GROUPS, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::MANDATORY_GROUPS) => "";
    refuses DEFAULT, CreateAndUpdate, default =>
        "One profile of a hub is the default.\n\n\
         With two default profiles it would not be clear which of their settings apply, and the controllers would start nothing. Refused; \
         the message names the present default. Set its `default` to false first. Two concurrent requests can still create two defaults: \
         changes are then held with the reason `RolloutSettingsInvalid`.";
    warns REACH, Update, reach =>
        "An edit of a profile concerns every add-on and upgrade that uses it.\n\n\
         If the edit removes a pause, an approval or windows, or has another strategy, changes that wait can start at once, for every add-on \
         that uses the profile. Warns, with these add-ons and upgrades and the number of their clusters.";
    refuses IN_USE, Delete, in_use =>
        "A profile that is in use is not deleted.\n\n\
         Without the profile, a paused rollout would resume, and a change would not wait for approval any longer. Refused while an add-on or \
         an upgrade names the profile, or while it is the default. Remove the references or set `default: false`, then delete it. If it was \
         deleted all the same, for example while the webhook was unavailable, the controllers start nothing that used it until it exists \
         again or is not named any more.";
} }

fn spec() -> Path {
    Path::root().key("spec")
}

fn deny(subject: &Subject<'_, Profile>, findings: &mut Findings, rule: &'static str) {
    for fault in subject.body.faults.each(subject.effort) {
        if fault.rule() == rule {
            findings.deny(fault.clone());
        }
    }
}

fn windows(subject: &Subject<'_, Profile>, findings: &mut Findings) {
    if subject
        .effort
        .spend(subject.body.windows.saturating_mul(STEPS_OF_A_WINDOW))
    {
        deny(subject, findings, rule::ROLLOUT_WINDOW);
    }
}

fn unknown_check(subject: &Subject<'_, Profile>, findings: &mut Findings) {
    let named = subject.body.profile.iter().flat_map(RolloutProfile::checks);
    no_such_check(
        subject.facts,
        subject.effort,
        named.map(|name| &**name),
        &spec(),
        findings,
    );
}

fn default(subject: &Subject<'_, Profile>, findings: &mut Findings) {
    if !subject.body.is_default {
        return;
    }
    let profiles = subject.facts.profiles.iter();
    let mut others = profiles.filter(|(name, one)| one.is_default && ***name != *subject.name);
    if let Some((other, _)) = others.next() {
        let detail = format!("the RolloutProfile {} is the default already", quoted(other));
        let fault = Fault::bare(Class::Duplicate, detail).hint("set its spec.default to false first");
        findings.deny(fault.at(spec().key("default"), DEFAULT));
    }
}

/// The add-ons and upgrades that use a profile.
struct Users<'a> {
    addons: Vec<&'a str>,
    upgrades: Vec<&'a str>,
}

impl<'a> Users<'a> {
    /// Returns them; every add-on uses the default profile.
    fn of(subject: &Subject<'a, Profile>, is_default: bool) -> Self {
        let facts = subject.facts;
        let names = |addon: &str| {
            let named = facts.rollout(addon).and_then(|settings| settings.profile());
            named.is_some_and(|named| **named == *subject.name)
        };
        let is_there = |name: &&str| facts.addon(name).is_some_and(|addon| !addon.deleting);
        let addons = facts.addon_names().take_while(|_| subject.effort.spend(1));
        let addons = addons.filter(|name| is_default || names(name)).filter(is_there);
        let upgrades = facts.upgrade_profiles.get(subject.name).into_iter().flatten();
        Self {
            addons: addons.collect(),
            upgrades: upgrades.map(String::as_str).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.addons.is_empty() && self.upgrades.is_empty()
    }

    fn listed(&self) -> String {
        let parts = [("add-on", &self.addons), ("upgrade", &self.upgrades)];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts = parts.map(|(word, names)| {
            let listed = listed_of(names.iter().take(LISTED).copied(), names.len());
            format!("{} ({listed})", counted(names.len(), word))
        });
        parts.collect::<Vec<_>>().join(" and ")
    }
}

fn reach(subject: &Subject<'_, Profile>, findings: &mut Findings) {
    let old = subject.old.as_ref().and_then(|old| old.profile.as_ref());
    let (Some(new), Some(old)) = (&subject.body.profile, old) else {
        return;
    };
    let users = Users::of(subject, new.is_default || old.is_default);
    if users.is_empty() || !new.releases(old) {
        return;
    }
    let facts = subject.facts;
    let peers = users.addons.iter().filter_map(|addon| facts.peers.get(*addon));
    let installations: usize = peers.map(|peers| peers.clusters).sum();
    let detail = format!(
        "this edit can start changes that wait: {}, {}",
        users.listed(),
        counted(installations, "installation")
    );
    findings.warn(Fault::bare(Class::Forbidden, detail).at(spec(), REACH));
}

fn in_use(subject: &Subject<'_, Profile>, findings: &mut Findings) {
    let is_default = subject.body.is_default;
    let users = Users::of(subject, is_default);
    if users.is_empty() {
        return;
    }
    let (detail, hint) = if is_default {
        let detail = format!("is the default profile of {}", users.listed());
        (detail, "set spec.default to false first")
    } else {
        let detail = format!("is used by {}", users.listed());
        (detail, "name another profile there first, or none")
    };
    let fault = Fault::of_text(Class::Forbidden, subject.name, detail).hint(hint);
    findings.deny(fault.at(Path::root().key("metadata").key("name"), IN_USE));
}
