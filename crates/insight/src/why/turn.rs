//! Why a rollout has not reached a cluster, with the names of the clusters and groups that it waits for.
//!
//! Finds the clusters that a cluster waits for, until when, and whether this is a fault: a cluster that waits only for
//! clusters with a fault has the same fault. The plan determines that a cluster is blocked, and why.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::answer::{Cause, Grade};
use super::causes::{self, CauseDoc};
use super::command::{list_placements, quoted};
use super::context::Context;
use super::placements::{DecidedGroup, group_text, place};
use super::stage::Stage;
use crate::cockpit::authored;
use api::reason::Reason;
use model::upgrade::WindowState;
use model::{Approval, MandatoryGroup, RolloutWindows};
use plan::{Turn, TurnSubject};
use store::{InstallStrategy, PlacementUse, terms};

/// So many clusters are named.
const NAMED: usize = 3;

impl Context<'_> {
    /// Returns why a cluster keeps its configuration although another one is desired.
    pub(super) fn turn(&self, cluster: &str, turn: &Turn) -> Cause {
        let message = &*turn.message;
        let used = match &turn.about {
            TurnSubject::Placement(namespace, name) => Some(format!("{namespace}/{name}")),
            TurnSubject::AddOn
            | TurnSubject::Approval(_)
            | TurnSubject::Dependency(_)
            | TurnSubject::Config(_) => self.home(cluster).map(place),
        };
        match (turn.reason, used) {
            (Reason::RolloutPaused, used) => self.paused(used.as_deref()),
            (Reason::TooManyFailures, Some(place)) => self.failures(&place, message),
            (Reason::WaitingForGroup, Some(place)) => self.group(cluster, &place, message),
            (Reason::WaitingForSlot, Some(place)) => self.slot(&place, message),
            (Reason::WaitingForApproval, _) => self.approval(turn),
            (Reason::ApprovalRejected, _) => Cause::new(causes::REJECTED, message),
            (Reason::WaitingForWindow, used) => self.window(cluster, used.as_deref(), message),
            (Reason::RolloutFrozen, _) => self.freeze(cluster, message),
            (Reason::WaitingForCheck, _) => Cause::new(causes::CHECK, message)
                .graded(Grade::Waits(None))
                .typing("kubectl get rolloutchecks".to_owned()),
            (Reason::RolloutSettingsInvalid, _) => {
                Cause::new(causes::SETTINGS_INVALID, message).typing(self.settings_command())
            }
            (Reason::WaitingForDependency, _) => dependency(cluster, turn),
            (Reason::DependencyCycle | Reason::DependencyNotFound, _) => {
                let addon = quoted(&self.view.addon.name);
                Cause::new(causes::DEPENDENCY_LIST, message)
                    .typing(format!("kubectl edit addonrollout {addon}"))
            }
            (Reason::OutsideRollout, _) => self.outside(message),
            (Reason::UndoImpossible, _) => Cause::new(causes::NO_WAY_BACK, message),
            (Reason::RolloutStrategyInvalid, _) => Cause::new(causes::ROLLOUT_STRATEGY, message),
            (Reason::PlacementNotFound, used) => self.missing_placement(used.as_deref(), message),
            (Reason::PlacementNotDecided, _) => Cause::new(causes::PLACEMENT_UNDECIDED, message),
            (_, _) => Cause::new(causes::TURN, message),
        }
    }

    /// Returns why a cluster waits for an approval: this is not a fault, and only the approval ends it.
    fn approval(&self, turn: &Turn) -> Cause {
        let cause = Cause::new(causes::APPROVAL, &*turn.message).graded(Grade::WaitsForUser);
        let addon = quoted(&self.view.addon.name);
        let TurnSubject::Approval(Approval { place, group, hash }) = &turn.about else {
            return cause.typing(format!("tidegate rollout approve {addon}"));
        };
        cause.typing(format!(
            "tidegate rollout approve {addon} --placement {} --group {} --content {hash}",
            quoted(place),
            quoted(group),
        ))
    }

    /// Returns the command that ends it that the settings are not known.
    fn settings_command(&self) -> String {
        let addon = quoted(&self.view.addon.name);
        let outdated = self.view.addon.outdated.as_deref();
        let old = outdated.and_then(|told| terms::REPLACED.into_iter().find(|one| one.told() == told));
        if let Some(old) = old {
            return format!(
                "kubectl annotate --field-manager=ops clustermanagementaddon {addon} {}-",
                old.annotation
            );
        }
        if self.view.lacks_settings() {
            let annotation = terms::SETTINGS_DELETED;
            return format!("kubectl annotate --field-manager=ops addonrollout {addon} {annotation}-");
        }
        if self.view.profile_fault() == self.view.rollout_fault() {
            return "kubectl get rolloutprofiles".to_owned();
        }
        format!("kubectl edit addonrollout {addon}")
    }

    fn paused(&self, place: Option<&str>) -> Cause {
        let settings = self.view.rollout();
        let split = place.and_then(|place| place.split_once('/'));
        let own = split.filter(|(namespace, name)| {
            settings.pause_of_all().is_none() && settings.pause(namespace, name).is_some()
        });
        let reason = split.map_or_else(
            || settings.pause_of_all(),
            |(namespace, name)| settings.pause(namespace, name),
        );
        let what = place.map_or_else(|| "the add-on".to_owned(), |place| format!("placement {place}"));
        let detail = format!(
            "the rollout of {what} is paused{}{}",
            plan::for_reason(reason.unwrap_or_default()),
            authored(self.view.pause_set_by(own))
        );
        let addon = quoted(&self.view.addon.name);
        let only = own.map_or_else(String::new, |(namespace, name)| {
            format!(" --placement {}", quoted(&format!("{namespace}/{name}")))
        });
        let command = match settings.pausing_profile().filter(|_| own.is_none()) {
            Some(profile) => format!("kubectl edit rolloutprofile {}", quoted(profile)),
            None => format!("tidegate rollout resume {addon}{only}"),
        };
        Cause::new(causes::PAUSED, detail)
            .graded(Grade::WaitsForUser)
            .typing(command)
    }

    fn failures(&self, place: &str, told: &str) -> Cause {
        let is_failed = |stage: Stage| stage == Stage::Failed;
        let mut failed: Vec<&str> = self
            .stages()
            .at(|cluster| self.is_in(cluster, place), is_failed)
            .map(|(cluster, _)| cluster)
            .collect();
        if failed.is_empty() {
            let cause = Cause::new(causes::CHECK, told);
            return cause.typing("kubectl get rolloutchecks".to_owned());
        }
        // A mandatory group tolerates no failure; maxFailures does not apply then.
        let group_of = |cluster: &&str| {
            let seat = self.seat(cluster, place)?;
            let used = self.used(place)?;
            let strategy = self.view.strategy(used).ok()?;
            strategy
                .is_mandatory(seat.group, &seat.group_name)
                .then_some(seat)
        };
        let mandatory = failed.iter().filter_map(group_of).min_by_key(|seat| seat.group);
        if let Some(first) = mandatory {
            failed.retain(|cluster| {
                group_of(cluster).is_some_and(|seat| seat.group_text() == first.group_text())
            });
        }
        let first = failed.first().copied();
        let why = first.map_or_else(String::new, |first| {
            format!("; on {first}: {}", self.chain(first).0.detail)
        });
        let (doc, because) = match mandatory {
            Some(seat) => (
                causes::MANDATORY,
                format!(
                    "the mandatory decision {} tolerates no failures",
                    seat.group_text()
                ),
            ),
            None => (
                causes::FAILURES,
                "more clusters failed than maxFailures allows".to_owned(),
            ),
        };
        let detail = format!(
            "the rollout of placement {place} has stopped because {because}: {}{why}",
            names(&failed)
        );
        self.pointing(Cause::new(doc, detail), first)
    }

    /// A placement that does not exist: one of the install strategy, or that of `spec.configuration`.
    fn missing_placement(&self, place: Option<&str>, message: &str) -> Cause {
        let follows = self.view.addon.strategy == InstallStrategy::Placements;
        let used = place.filter(|_| follows).and_then(|place| self.used(place));
        let is_missing = |used: &&PlacementUse| self.view.placement(&used.namespace, &used.name).is_none();
        if let Some(used) = used.filter(is_missing) {
            let look = list_placements(&used.namespace);
            return Cause::new(causes::PLACEMENT_MISSING, message).typing(look);
        }
        self.rolling_missing(message)
    }

    /// The placement of `spec.configuration` does not exist.
    pub(super) fn rolling_missing(&self, message: &str) -> Cause {
        let cause = Cause::new(causes::ROLLING_PLACEMENT_MISSING, message);
        match self.rolling().as_deref().and_then(|place| place.split_once('/')) {
            Some((namespace, _)) => cause.typing(list_placements(namespace)),
            None => cause,
        }
    }

    /// The use of a placement by the install strategy.
    fn used(&self, wanted: &str) -> Option<&PlacementUse> {
        let mut all = self.view.addon.placements.iter();
        all.find(|used| place(used) == wanted)
    }

    fn slot(&self, place: &str, told: &str) -> Cause {
        let takes = |stage: Stage| matches!(stage, Stage::Going | Stage::Soaking(_));
        let held: Vec<(&str, Stage)> = self
            .stages()
            .at(|cluster| self.is_in(cluster, place), takes)
            .collect();
        let going: Vec<&str> = held
            .iter()
            .filter(|(_, stage)| *stage == Stage::Going)
            .map(|(cluster, _)| *cluster)
            .collect();
        let first_end = ends(&held).min();
        let (stuck, why) = self.faults(&going);
        if let Some(first) = stuck
            .first()
            .copied()
            .filter(|_| stuck.len() == going.len() && first_end.is_none())
        {
            let detail = format!(
                "waiting for a free slot (maxConcurrency): the slots in the rollout of placement {place} are used by clusters with \
                 problems: {}{why}",
                names(&stuck)
            );
            return self.pointing(Cause::new(causes::SLOT, detail), Some(first));
        }
        let takers = match (going.is_empty(), held.is_empty()) {
            (_, true) => return Cause::new(causes::SLOT, told).graded(Grade::Waits(None)),
            (false, _) => names(&going),
            (true, false) => {
                let soaking: Vec<&str> = held.iter().map(|(cluster, _)| *cluster).collect();
                format!("{}, which must stay successful (minSuccessTime)", names(&soaking))
            }
        };
        let detail = format!(
            "waiting for a free slot (maxConcurrency): the slots in the rollout of placement {place} are used by {takers}"
        );
        let until = first_end.filter(|_| going.is_empty());
        Cause::new(causes::SLOT, detail).graded(Grade::Waits(until))
    }

    fn group(&self, cluster: &str, place: &str, told: &str) -> Cause {
        let own = self.seat(cluster, place);
        let first = self.groups_before(place, own);
        let is_before = |cluster: &str| {
            let seat = self.seat(cluster, place);
            self.is_in(cluster, place)
                && seat.is_some_and(|seat| first.contains(&(seat.group, seat.group_name.clone())))
        };
        let open: Vec<(&str, Stage)> = self
            .stages()
            .at(is_before, |stage| stage != Stage::Done)
            .collect();
        if open.is_empty() {
            return Cause::new(causes::TURN_OF_GROUP, told).graded(Grade::Waits(None));
        }
        let seats = open.iter().filter_map(|(cluster, _)| self.seat(cluster, place));
        let groups: BTreeSet<String> = seats.map(DecidedGroup::group_text).collect();
        let groups: Vec<String> = groups.into_iter().collect();
        let clusters: Vec<&str> = open.iter().map(|(cluster, _)| *cluster).collect();
        let soaking = open.iter().all(|(_, stage)| matches!(stage, Stage::Soaking(_)));
        let verb = if groups.len() == 1 { "is" } else { "are" };
        let still = if soaking {
            "must stay successful (minSuccessTime)".to_owned()
        } else {
            format!("{verb} not done")
        };
        let mut detail = format!(
            "waiting for {} of placement {place}, which {verb} updated first and {still}: {}",
            groups.join(" and "),
            names(&clusters)
        );
        let under_way: Vec<&str> = open
            .iter()
            .filter(|(_, stage)| matches!(stage, Stage::Going | Stage::Failed))
            .map(|(cluster, _)| *cluster)
            .collect();
        let (stuck, why) = self.faults(&under_way);
        if !stuck.is_empty() {
            detail.push_str(&why);
            return self.pointing(Cause::new(causes::TURN_OF_GROUP, detail), stuck.first().copied());
        }
        let until = ends(&open).max().filter(|_| soaking);
        Cause::new(causes::TURN_OF_GROUP, detail).graded(Grade::Waits(until))
    }

    /// A closed window opens automatically, unless its schedule never matches.
    fn window(&self, cluster: &str, place: Option<&str>, told: &str) -> Cause {
        let settings = self.view.rollout();
        let windows = match place.and_then(|place| place.split_once('/')) {
            Some((namespace, name)) => settings.windows(namespace, name),
            None => settings.windows_of_all(),
        };
        let labels = self.view.cluster(cluster).map(|cluster| &cluster.labels);
        let label = |key: &str| labels?.get(key).map(|value| &**value);
        let shut = |windows: &RolloutWindows| match windows.at(self.now) {
            WindowState::Shut(until) => Some(until),
            WindowState::Open(_) => None,
        };
        let until = windows
            .and_then(shut)
            .or_else(|| settings.cluster_windows(label).and_then(shut));
        let until = until.flatten();
        Cause::new(causes::WINDOW, told).graded(Grade::Waits(until))
    }

    /// Returns until when a freeze stops changes on a cluster. A user ends one without an end, and corrects an invalid one.
    fn freeze(&self, cluster: &str, told: &str) -> Cause {
        let record = plan::freeze_of(&self.view, self.view.cluster(cluster), self.now);
        let author = authored(record.and_then(|record| record.set_by.as_ref()));
        let cause = Cause::new(causes::FREEZE, format!("{told}{author}"));
        let Some(record) = record else {
            return cause.graded(Grade::Waits(None));
        };
        let name = quoted(&record.name);
        match &record.freeze {
            Err(_) => cause.typing(format!("kubectl edit rolloutfreeze {name}")),
            Ok(freeze) => {
                let until = freeze.until();
                let grade = until.map_or(Grade::WaitsForUser, |until| Grade::Waits(Some(until)));
                cause
                    .graded(grade)
                    .typing(format!("tidegate rollout unfreeze {name}"))
            }
        }
    }

    fn outside(&self, message: &str) -> Cause {
        let patch = r#"{"spec":{"configuration":{"rolloutStrategy":{"type":"UpdateAll","rollingUpdateWithPlacement":null}}}}"#;
        let addon = quoted(&self.view.addon.name);
        Cause::new(causes::OUTSIDE, message)
            .graded(Grade::Meant)
            .typing(format!(
                "kubectl patch clustermanagementaddon {addon} --type merge -p '{patch}'"
            ))
    }

    /// The groups of a placement that are updated before the one of a cluster.
    fn groups_before(&self, place: &str, own: Option<&DecidedGroup>) -> BTreeSet<(u32, String)> {
        let Some((used, own)) = self.used(place).zip(own) else {
            return BTreeSet::new();
        };
        let strategy = self.view.strategy(used);
        let by_group = strategy.is_ok_and(|strategy| strategy.kind.uses_groups());
        let is_mandatory = |(index, name): &(u32, String)| {
            let strategy = strategy.as_ref();
            strategy.is_ok_and(|strategy| strategy.is_mandatory(*index, name))
        };
        let own_group = (own.group, own.group_name.clone());
        let own_is_mandatory = is_mandatory(&own_group);
        let decisions = self.view.decisions(&used.namespace, &used.name);
        let all: BTreeSet<(u32, String)> = decisions
            .map(|decision| (decision.group_index, decision.group_name.to_string()))
            .collect();
        let is_before = |group: &(u32, String)| match (is_mandatory(group), own_is_mandatory) {
            (true, true) => group.0 < own.group,
            (true, false) => true,
            (false, true) => false,
            (false, false) => by_group && group.0 < own.group,
        };
        all.into_iter()
            .filter(|group| *group != own_group && is_before(group))
            .collect()
    }

    /// The clusters that need an administrator, and the cause of the first one.
    fn faults<'c>(&self, clusters: &[&'c str]) -> (Vec<&'c str>, String) {
        let mut why = String::new();
        let mut stuck = Vec::new();
        for cluster in clusters {
            let (chain, cause) = self.chain(cluster);
            if cause.is_some_and(|cause| cause.is_fault()) {
                if stuck.is_empty() {
                    why = format!("; on {cluster}: {}", chain.detail);
                }
                stuck.push(*cluster);
            }
        }
        (stuck, why)
    }

    fn pointing(&self, cause: Cause, cluster: Option<&str>) -> Cause {
        let Some(cluster) = cluster else { return cause };
        let addon = quoted(&self.view.addon.name);
        cause.typing(format!("tidegate why {addon} --cluster {}", quoted(cluster)))
    }

    fn seat(&self, cluster: &str, place: &str) -> Option<&DecidedGroup> {
        let seats = self.decided.of_cluster(cluster);
        seats.iter().find(|seat| {
            let used = self.view.addon.placements.get(seat.placement);
            used.is_some_and(|used| super::placements::place(used) == place)
        })
    }

    /// Whether a cluster takes part in the rollout over a placement.
    fn is_in(&self, cluster: &str, wanted: &str) -> bool {
        if self.home(cluster).is_some_and(|home| place(home) == wanted) {
            return true;
        }
        self.rolling().is_some_and(|rolling| rolling == wanted) && self.rolls_to(cluster)
    }
}

/// The command shows the first add-on that must run on the cluster before this one.
fn dependency(cluster: &str, turn: &Turn) -> Cause {
    let cause = Cause::new(causes::DEPENDENCY, &*turn.message).graded(Grade::Waits(None));
    match &turn.about {
        TurnSubject::Dependency(first) => cause.typing(format!(
            "tidegate why {} --cluster {}",
            quoted(first),
            quoted(cluster)
        )),
        TurnSubject::AddOn
        | TurnSubject::Placement(..)
        | TurnSubject::Approval(_)
        | TurnSubject::Config(_) => cause,
    }
}

/// Returns whether the cause of a cluster is the state of other clusters or of another add-on.
pub(super) fn waits_for_others(cause: &CauseDoc) -> bool {
    [
        causes::SLOT,
        causes::TURN_OF_GROUP,
        causes::FAILURES,
        causes::MANDATORY,
        causes::TURN,
        causes::DEPENDENCY,
    ]
    .contains(&cause)
}

fn ends<'s>(stages: &'s [(&str, Stage)]) -> impl Iterator<Item = Timestamp> + 's {
    stages.iter().filter_map(|(_, stage)| match stage {
        Stage::Soaking(end) => Some(*end),
        Stage::Waiting | Stage::Going | Stage::Failed | Stage::Done => None,
    })
}

/// The first names of a list, and how many more there are.
pub(super) fn names(all: &[&str]) -> String {
    let named: Vec<&str> = all.iter().take(NAMED).copied().collect();
    let more = all.len().saturating_sub(NAMED);
    match (named.is_empty(), more) {
        (true, _) => "no cluster".to_owned(),
        (false, 0) => named.join(", "),
        (false, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// A group of a placement as a strategy names it.
pub(super) fn mandatory_text(group: &MandatoryGroup) -> String {
    match group {
        MandatoryGroup::Named(name) => format!("{name:?}"),
        MandatoryGroup::At(index) => group_text(*index, ""),
    }
}
