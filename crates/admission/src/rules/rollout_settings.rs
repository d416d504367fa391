//! Rules about the settings of an AddOnRollout. Page: `tests/rules/rollout-settings.md`.
//!
//! The parser (`model`), which the planners use as well, determines which values are valid.

use crate::rules::dependency::no_addon;
use crate::step_budget::StepBudget;
use crate::subject::{Rollout, Subject, rules};
use api::RolloutSettings as Level;
use kubernetes::field::{Class, Fault, Findings, Path, listed_of, nearest, quoted};
use kubernetes::names::is_dns1123_subdomain;
use model::{ConfigRollout, OnFailure, RolloutStrategy, rule};
use store::{AddonFacts, AddonPlacement, Facts, Kind};

const NAME: &str = "rollout/addon";
const UNKNOWN_ADDON: &str = "rollout/unknown-addon";
const TARGET: &str = "rollout/approval-target";
const NEVER_UNDONE: &str = "rollout/never-undone";
pub(super) const UNKNOWN_CHECK: &str = "rollout/unknown-check";
const UNKNOWN_PLACEMENT: &str = "rollout/unknown-placement";
pub(super) const UNKNOWN_PROFILE: &str = "rollout/unknown-profile";
const IN_USE: &str = "deletion/rollout-settings";
/// The steps that one window costs: its schedule is searched for a date that it matches.
pub(super) const STEPS_OF_A_WINDOW: usize = 100;

rules! { pub(crate) ON_ROLLOUTS of Rollout {
    refuses NAME, CreateAndUpdate, name =>
        "An AddOnRollout has the name of its add-on.\n\n\
         The AddOnRollout `hello` has the settings of the add-on `hello`. `spec.addon` can be omitted; the controllers then add it. \
         With another name in `spec.addon` it would not be clear which rollouts are meant. Refused. Correct or omit `spec.addon`.";
    refuses rule::ROLLOUT_WINDOW, CreateAndUpdate, windows =>
        "A window of a rollout is valid.\n\n\
         `cron` has five fields, `duration` is a time such as `4h`, and `timeZone` is a name of the time zone database, or empty for \
         UTC. The duration is longer than zero, and at least one date matches the schedule (February 30 does not exist). There are at \
         most 20 windows, and at most 100 in all placements. Outside the windows no cluster starts an update, so a window that cannot be parsed or never opens would block \
         all changes. Refused. `windows: []` for one placement means that its changes start at any time.";
    refuses rule::ROLLOUT_APPROVAL, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_APPROVAL) =>
        "A decision group that needs approval has a valid name.\n\n\
         `approvalBefore` lists decision groups by name or by index, or has `*` for all groups. The name of a decision group is a label \
         value. With any other value the clusters that were meant would be updated without approval. Refused. Correct the name.";
    refuses rule::ROLLOUT_CHECKS, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_CHECKS) =>
        "`checks` lists names of RolloutChecks.\n\n\
         A change waits for each of them, so that one with an invalid name, which cannot exist, would hold it indefinitely. There are at \
         most 20, and each is listed once. Refused. `checks: []` for one placement means that its changes wait for no check.";
    warns UNKNOWN_CHECK, CreateAndUpdate, unknown_check =>
        "The RolloutChecks that changes wait for exist.\n\n\
         While a check in `checks` does not exist, every change that waits for it is held (`WaitingForCheck`). Warns, because the check \
         may be created later, and suggests the closest name.";
    refuses rule::ROLLOUT_ON_FAILURE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_ON_FAILURE) =>
        "`onFailure` is `Stop` or `Undo`.\n\n\
         It selects whether the clusters of a stopped rollout keep their configuration (`Stop`) or are rolled back (`Undo`). With a \
         misspelt value a failed rollout would not be rolled back. Refused, and the message suggests the closest value.";
    refuses rule::ROLLOUT_TIMES, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_TIMES) =>
        "`promotedAt` and `retriedAt` are times.\n\n\
         Both have the form `2026-12-20T00:00:00Z`. `tidegate rollout promote` and `tidegate rollout retry` write them. Refused.";
    refuses rule::ROLLOUT_PLACEMENTS, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_PLACEMENTS) =>
        "Settings of a placement name the placement, and each placement is listed once.\n\n\
         An entry of `placements` has `namespace` and `name`. If a placement were listed twice, it would not be clear which of the \
         settings apply. Refused.";
    refuses rule::ROLLOUT_REVISIONS, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_REVISIONS) =>
        "`revisionHistoryLimit` is between 0 and 100.\n\n\
         It is the number of configurations that ran well and are kept for an undo. A configuration that clusters may be rolled back to \
         is kept in any case. Refused.";
    refuses rule::ROLLOUT_PROFILE, CreateAndUpdate, |subject, findings| deny(subject, findings, rule::ROLLOUT_PROFILE) => "";
    warns UNKNOWN_PROFILE, CreateAndUpdate, unknown_profile =>
        "The profile that is named exists.\n\n\
         While no RolloutProfile has the name in `spec.profile`, the controllers cannot know the settings, and start no change of the add-on: \
         its clusters have the reason `RolloutSettingsInvalid`. Warns, because the profile may be created later, and suggests the closest \
         name.";
    warns UNKNOWN_ADDON, CreateAndUpdate, unknown_addon =>
        "The add-on of an AddOnRollout exists.\n\n\
         An AddOnRollout has the settings of the add-on with its name. Without this add-on it has no effect. Warns, because the add-on \
         may be created later, and suggests the closest name.";
    warns UNKNOWN_PLACEMENT, CreateAndUpdate, unknown_placement =>
        "A placement with settings is one of the add-on.\n\n\
         Settings for a placement that the install strategy of the add-on does not use have no effect. Warns, because the placement may \
         be added later, and suggests the closest name.";
    warns TARGET, CreateAndUpdate, target =>
        "The decision groups that need approval exist.\n\n\
         If a placement does not have the decision group, no cluster waits for the approval: the intended clusters are updated without \
         it. Warns, with the closest name or the groups that exist. While a placement has no complete decision, its groups are not \
         checked.";
    warns NEVER_UNDONE, CreateAndUpdate, never_undone =>
        "A rollout with `onFailure: Undo` is able to stop on failures.\n\n\
         `Undo` rolls back a rollout that stopped because more clusters failed than `maxFailures` allows. A rollout of \
         type All without `maxFailures` never stops, and neither does one whose `maxFailures` allows all clusters to \
         fail. Changes that follow `spec.configuration.rolloutStrategy` do not count failures, and without placements \
         there is no rollout. Warns, with the setting that lets the rollout stop.";
    refuses IN_USE, Delete, in_use =>
        "An AddOnRollout with settings is deleted together with its add-on.\n\n\
         If the settings were deleted alone, a paused rollout would resume, and a change would not wait for approval any longer. Refused \
         while the add-on exists. Remove the settings that you do not need any more, or delete the ClusterManagementAddOn: its \
         AddOnRollout is deleted with it.";
} }

fn spec() -> Path {
    Path::root().key("spec")
}

fn deny(subject: &Subject<'_, Rollout>, findings: &mut Findings, rule: &'static str) {
    for fault in subject.body.faults.each(subject.effort) {
        if fault.rule() == rule {
            findings.deny(fault.clone());
        }
    }
}

fn windows(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    // Parsing a window searches the days of several years.
    if subject
        .effort
        .spend(subject.body.windows.saturating_mul(STEPS_OF_A_WINDOW))
    {
        deny(subject, findings, rule::ROLLOUT_WINDOW);
    }
}

fn name(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let addon = &subject.body.spec.addon;
    if !addon.is_empty() && addon != subject.name {
        let detail = format!(
            "must be {}, the name of this object, or absent",
            quoted(subject.name)
        );
        findings.deny(Fault::of_text(Class::Invalid, addon, detail).at(spec().key("addon"), NAME));
    }
}

fn unknown_profile(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let profile = subject.body.spec.profile.as_str();
    no_such_profile(subject.facts, subject.effort, Some(profile), &spec(), findings);
}

/// Warns about the field `profile` at `path` if no profile has this name.
pub(super) fn no_such_profile(
    facts: &Facts,
    effort: &StepBudget<'_>,
    profile: Option<&str>,
    path: &Path,
    findings: &mut Findings,
) {
    let profiles = &facts.profiles;
    let Some(name) = profile.filter(|name| !name.is_empty() && !profiles.contains_key(*name)) else {
        return;
    };
    if !facts.knows(Kind::Profile) {
        return;
    }
    let near = effort.hint(|| nearest(name, profiles.keys().map(|name| &**name)));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    let detail = "no RolloutProfile has this name, and no change starts until one has it";
    let fault = Fault::of_text(Class::NotFound, name, detail).hint_if(hint);
    findings.warn(fault.at(path.key("profile"), UNKNOWN_PROFILE));
}

fn unknown_addon(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let facts = subject.facts;
    if facts.knows(Kind::AddOn) && facts.addon(subject.name).is_none() {
        let detail =
            "no ClusterManagementAddOn has this name, so the settings have no effect until one has it";
        let fault = no_addon(subject, subject.name, detail);
        findings.warn(fault.at(Path::root().key("metadata").key("name"), UNKNOWN_ADDON));
    }
}

fn unknown_placement(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let Some(addon) = subject.facts.addon(subject.name) else {
        return;
    };
    let known: Vec<String> = addon.placements.iter().map(place_of).collect();
    let listed = subject.body.spec.placements.iter().enumerate();
    for (index, placement) in listed.take_while(|_| subject.effort.spend(known.len())) {
        let place = format!("{}/{}", placement.namespace, placement.name);
        if placement.name.is_empty() || placement.namespace.is_empty() || known.contains(&place) {
            continue;
        }
        let near = subject
            .effort
            .hint(|| nearest(&place, known.iter().map(String::as_str)));
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        let detail = "has no effect: the install strategy of the add-on has no such placement";
        let fault = Fault::of_text(Class::NotFound, &place, detail).hint_if(hint);
        findings.warn(fault.at(spec().key("placements").index(index), UNKNOWN_PLACEMENT));
    }
}

fn place_of(placement: &AddonPlacement) -> String {
    format!("{}/{}", placement.namespace, placement.name)
}

/// Returns the levels of settings with their paths: that for all placements, and that of each.
fn levels<'a>(
    subject: &'a Subject<'_, Rollout>,
) -> impl Iterator<Item = (Path, Option<(&'a str, &'a str)>, &'a Level)> {
    let body = &subject.body.spec;
    let own = body.placements.iter().enumerate().map(|(index, one)| {
        let path = spec().key("placements").index(index);
        (
            path,
            Some((one.namespace.as_str(), one.name.as_str())),
            &one.settings,
        )
    });
    std::iter::once((spec(), None, &body.settings)).chain(own)
}

fn unknown_check(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    for (path, _, level) in levels(subject) {
        let named = level.checks.iter().flatten().map(String::as_str);
        no_such_check(subject.facts, subject.effort, named, &path, findings);
    }
}

/// Warns about the names in the field `checks` of the settings at `path` that no check has.
pub(super) fn no_such_check<'a>(
    facts: &Facts,
    effort: &StepBudget<'_>,
    named: impl Iterator<Item = &'a str>,
    path: &Path,
    findings: &mut Findings,
) {
    if !facts.knows(Kind::Check) {
        return;
    }
    for (index, name) in named.enumerate().take_while(|_| effort.spend(1)) {
        if facts.checks.contains_key(name) || !is_dns1123_subdomain(name) {
            continue;
        }
        let others = facts.checks.keys().map(|name| &**name);
        let near = effort.hint(|| nearest(name, others));
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        let detail = "no RolloutCheck has this name, and changes that wait for it are held until one has it";
        let fault = Fault::of_text(Class::NotFound, name, detail).hint_if(hint);
        findings.warn(fault.at(path.key("checks").index(index), UNKNOWN_CHECK));
    }
}

fn target(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let Some(addon) = subject.facts.addon(subject.name) else {
        return;
    };
    for (path, own, level) in levels(subject) {
        let placements: Vec<(&str, &str)> = match own {
            Some(place) => vec![place],
            None => addon
                .placements
                .iter()
                .map(|one| (one.namespace.as_str(), one.name.as_str()))
                .collect(),
        };
        for (index, group) in level.approval_before.iter().flatten().enumerate() {
            let found: Vec<Option<Fault>> = placements
                .iter()
                .take_while(|_| subject.effort.spend(1))
                .map(|place| ungrouped(subject, *place, group))
                .collect();
            // One placement with the group is enough.
            if let (Some(fault), true) = (found.iter().flatten().next(), found.iter().all(Option::is_some)) {
                findings.warn(fault.clone().at(path.key("approvalBefore").index(index), TARGET));
            }
        }
    }
}

/// Returns what is wrong with a decision group that no decision of the placement carries.
fn ungrouped(subject: &Subject<'_, Rollout>, (namespace, name): (&str, &str), group: &str) -> Option<Fault> {
    let facts = subject.facts.placement(namespace, name)?;
    let is_known = facts.decided && !facts.groups.is_empty() && group != "*";
    if !is_known || !subject.effort.spend(facts.groups.len()) {
        return None;
    }
    let is_it = |name: &str, index: u32| name == group || group.parse() == Ok(index);
    if facts.groups.iter().any(|one| is_it(&one.name, one.index)) {
        return None;
    }
    let names: Vec<&str> = facts
        .groups
        .iter()
        .map(|one| &*one.name)
        .filter(|name| !name.is_empty())
        .collect();
    let detail = if names.is_empty() {
        format!("is not a decision group of placement {namespace}/{name}, whose groups have no names")
    } else {
        let listed = listed_of(names.iter().copied(), names.len());
        format!("is not a decision group of placement {namespace}/{name}; its groups are {listed}")
    };
    let near = subject.effort.hint(|| nearest(group, names.iter().copied()));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    Some(Fault::of_text(Class::NotFound, group, detail).hint_if(hint))
}

fn never_undone(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let Some(addon) = subject.facts.addon(subject.name) else {
        return;
    };
    for (path, own, level) in levels(subject) {
        if level.on_failure.as_deref() != Some("Undo") {
            continue;
        }
        let mut warn = |detail: String| {
            let fault = Fault::of_text(Class::Invalid, "Undo", detail);
            findings.warn(fault.at(path.key("onFailure"), NEVER_UNDONE));
        };
        if addon.placements.is_empty() {
            let why =
                "only rollouts of placements are rolled back, and the install strategy has no placements";
            warn(format!("has no effect: {why}"));
            continue;
        }
        let is_meant = |one: &&AddonPlacement| match own {
            Some(place) => place == (one.namespace.as_str(), one.name.as_str()),
            None => {
                subject
                    .facts
                    .resolve(&subject.body.settings)
                    .on_failure(&one.namespace, &one.name)
                    == OnFailure::Undo
            }
        };
        let meant = addon.placements.iter().filter(is_meant);
        for placement in meant.take_while(|_| subject.effort.spend(1)) {
            let strategy = placement.rollout.as_ref();
            let strategy = strategy.map(|own| subject.facts.resolve(&subject.body.settings).strategy(own));
            if let Some(why) = unstoppable(addon, strategy) {
                warn(format!(
                    "has no effect on placement {}: {why}",
                    place_of(placement)
                ));
            }
        }
    }
}

/// Returns why failures never stop the rollout of a placement.
fn unstoppable(addon: &AddonFacts, strategy: Option<&RolloutStrategy>) -> Option<String> {
    let rolls = matches!(
        addon.configuration_rollout,
        Some(ConfigRollout::RollingUpdateWithPlacement(_))
    );
    if rolls && !addon.configured.is_empty() {
        let why = "spec.configuration.rolloutStrategy controls changes to spec.configuration and counts no failures";
        return Some(why.to_owned());
    }
    let strategy = strategy?;
    let (kind, tolerance) = (strategy.kind, strategy.pace.tolerance);
    if kind.stops_after(tolerance).is_none() {
        let (name, block) = (kind.name(), kind.block());
        return Some(format!(
            "a rollout of type {name} stops only if {block}.maxFailures is above 0"
        ));
    }
    (tolerance.of(usize::MAX) == usize::MAX).then(|| "maxFailures allows all clusters to fail".to_owned())
}

fn in_use(subject: &Subject<'_, Rollout>, findings: &mut Findings) {
    let is_set = !subject.body.settings.is_empty() || !subject.body.faults.is_empty();
    // The garbage collector may delete it before its owner.
    let is_kept = subject
        .facts
        .addon(subject.name)
        .is_some_and(|addon| !addon.deleting);
    if is_set && is_kept {
        let detail = format!("has settings of the rollouts of add-on {}", quoted(subject.name));
        let hint = "remove the settings first, or delete the ClusterManagementAddOn";
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail).hint(hint);
        findings.deny(fault.at(Path::root().key("metadata").key("name"), IN_USE));
    }
}
