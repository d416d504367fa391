//! Why a rollout holds a cluster back, with the clusters and groups that it waits for by name.
//!
//! Decides whom a cluster waits for, until when, and whether that is a fault: who waits for clusters that get on waits well; who waits for
//! clusters that are at fault shares their fault. That it is held is decided by the plan, whose reason is read here, not made anew.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::answer::{Cause, Grade};
use super::case::Case;
use super::causes;
use super::command::{list_placements, quoted};
use super::said::Word;
use super::seats::{Seat, group_text, place};
use super::stages::{Stage, Stages};
use api::names::conditions as types;
use api::reason::{Class, Reason};
use model::engine::is_promoted;
use model::upgrade::WindowState;
use model::{MandatoryGroup, Pace, ProgressDeadline, RolloutStrategy};
use store::{InstallStrategy, Instance, PlacementUse, Reference, Status, terms};

/// Condition that tells since when an instance is assigned what it has.
const ASSIGNED: &str = "Assigned";
/// So many clusters are named.
const NAMED: usize = 3;

pub(super) fn stage(case: &Case<'_>, instance: &Instance) -> Stage {
    let words = case.said.words(instance);
    let find = |kind: &str| words.iter().find(|word| word.kind == kind);
    let reason = |kind: &str| find(kind).map_or("", |word| word.reason.as_str());
    if Reason::word_is(reason(types::CONFIGURED), Class::Turn) {
        return Stage::Waiting;
    }
    if *reason(types::STALLED) == Reason::ProgressDeadlineExceeded
        || Reason::word_is(reason(types::PROGRESSING), Class::Failed)
    {
        return Stage::Failed;
    }
    let runs = find(types::PROGRESSING).is_some_and(|word| word.status == Status::True);
    if runs || !instance.references.iter().all(Reference::is_applied) {
        return Stage::Going;
    }
    let soak = case
        .home(&instance.cluster)
        .and_then(pace)
        .map(|pace| pace.soak.length())
        .unwrap_or_default();
    let promoted = case
        .home(&instance.cluster)
        .and_then(|home| case.view.addon.promoted.placement(&home.namespace, &home.name));
    let end = find(ASSIGNED)
        .filter(|word| *word.reason == Reason::ConfigurationsConfirmed)
        .filter(|word| {
            !word
                .since
                .is_some_and(|since| is_promoted(promoted, since, case.now))
        })
        .filter(|_| !soak.is_zero())
        .and_then(|word| end(word.since?, soak));
    match end {
        Some(end) if case.now < end => Stage::Soaking(end),
        Some(_) | None => Stage::Done,
    }
}

/// Returns how patient the rollout of a placement is.
pub(super) fn pace(used: &PlacementUse) -> Option<Pace> {
    match used.rollout.as_ref().ok()? {
        RolloutStrategy::All(pace)
        | RolloutStrategy::Progressive { pace, .. }
        | RolloutStrategy::ProgressivePerGroup { pace, .. } => Some(*pace),
    }
}

/// Returns since when an instance is under way to what it is assigned; nothing when it is there, or the time is unknown.
pub(super) fn under_way_since(words: &[Word]) -> Option<Timestamp> {
    let assigned = words.iter().find(|word| word.kind == ASSIGNED)?;
    assigned
        .since
        .filter(|_| *assigned.reason != Reason::ConfigurationsConfirmed)
}

/// Returns when a cluster that is under way since then counts as late.
pub(super) fn deadline(used: &PlacementUse, since: Timestamp) -> Option<Timestamp> {
    match pace(used)?.deadline {
        ProgressDeadline::After(length) => end(since, length),
        ProgressDeadline::None => None,
    }
}

/// Times on the hub have whole seconds, rounded down: what began within one counts from its end.
fn end(since: Timestamp, length: Duration) -> Option<Timestamp> {
    let begin = since.checked_add(SignedDuration::from_secs(1)).ok()?;
    begin.checked_add(length).ok()
}

impl Case<'_> {
    /// How far each instance is.
    pub(super) fn stages(&self) -> &Stages {
        self.stages.get_or_init(|| {
            let each = self.view.instances().map(|instance| {
                let cluster = instance.cluster.to_string();
                let stage = stage(self, instance);
                (cluster, stage)
            });
            Stages::collect(each)
        })
    }

    /// Returns why a cluster keeps what it has although something else is meant for it.
    pub(super) fn turn(&self, instance: &Instance, told: &str) -> Cause {
        let words = self.said.words(instance);
        let configured = words
            .iter()
            .find(|word| word.kind == types::CONFIGURED && word.status != Status::True);
        let Some(configured) = configured else {
            return Cause::new(causes::TURN, told);
        };
        let used = self.concerned_placement(&instance.cluster, &configured.message);
        match (Reason::of(&configured.reason), used) {
            (Some(Reason::RolloutPaused), used) => self.paused(used.as_deref()),
            (Some(Reason::TooManyFailures), Some(place)) => self.failures(&place),
            (Some(Reason::WaitingForGroup), Some(place)) => self.group(&instance.cluster, &place, told),
            (Some(Reason::WaitingForSlot), Some(place)) => self.slot(&place, told),
            (Some(Reason::WaitingForApproval), _) => self.approval(&configured.message),
            (Some(Reason::RolloutApprovalInvalid), _) => {
                Cause::new(causes::APPROVAL_INVALID, &*configured.message)
            }
            (Some(Reason::WaitingForWindow), _) => self.window(told),
            (Some(Reason::RolloutWindowInvalid), _) => {
                Cause::new(causes::WINDOW_INVALID, &*configured.message)
            }
            (Some(Reason::WaitingForDependency), _) => dependency(&instance.cluster, told),
            (Some(Reason::DependencyCycle | Reason::DependencyNotFound), _) => {
                Cause::new(causes::DEPENDENCY_LIST, &*configured.message)
            }
            (Some(Reason::OutsideRollout), _) => self.outside(&configured.message),
            (Some(Reason::UndoImpossible), _) => Cause::new(causes::NO_WAY_BACK, &*configured.message),
            (Some(Reason::RolloutStrategyInvalid), _) => {
                Cause::new(causes::ROLLOUT_STRATEGY, &*configured.message)
            }
            (Some(Reason::PlacementNotFound), _) => self.missing_placement(&configured.message),
            (Some(Reason::PlacementNotDecided), _) => {
                Cause::new(causes::PLACEMENT_UNDECIDED, &*configured.message)
            }
            (_, _) => Cause::new(causes::TURN, told),
        }
    }

    /// The placement over which the rollout goes that holds a cluster: the one that the message names, its own, or that of
    /// `spec.configuration`.
    fn concerned_placement(&self, cluster: &str, message: &str) -> Option<String> {
        let home = self.home(cluster).map(place);
        let named = |place: &String| message.contains(place.as_str());
        home.clone()
            .filter(named)
            .or_else(|| self.rolling().filter(named))
            .or(home)
    }

    fn paused(&self, place: Option<&str>) -> Cause {
        let what = place.map_or_else(|| "the add-on".to_owned(), |place| format!("placement {place}"));
        let detail = format!(
            "the rollout of {what} is paused by the annotation {} of the ClusterManagementAddOn",
            terms::PAUSED
        );
        let rest = self.annotation(terms::PAUSED);
        let rest: Vec<&str> = rest
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty() && *one != "*" && Some(*one) != place)
            .collect();
        let addon = quoted(&self.view.addon.name);
        let change = if rest.is_empty() {
            format!("{}-", terms::PAUSED)
        } else {
            format!("--overwrite {}={}", terms::PAUSED, quoted(&rest.join(",")))
        };
        Cause::new(causes::PAUSED, detail)
            .graded(Grade::Waits(None))
            .typing(format!(
                "kubectl annotate clustermanagementaddon {addon} {change}"
            ))
    }

    fn failures(&self, place: &str) -> Cause {
        let is_failed = |stage: Stage| stage == Stage::Failed;
        let mut failed: Vec<&str> = self
            .stages()
            .at(|cluster| self.is_in(cluster, place), is_failed)
            .map(|(cluster, _)| cluster)
            .collect();
        // A mandatory group tolerates no failure; what the others tolerate does not matter then.
        let group_of = |cluster: &&str| {
            let seat = self.seat(cluster, place)?;
            let used = self.used(place)?;
            is_mandatory(used, (seat.group, &seat.group_name)).then_some(seat)
        };
        let mandatory = failed.iter().filter_map(group_of).min_by_key(|seat| seat.group);
        if let Some(first) = mandatory {
            failed.retain(|cluster| {
                group_of(cluster).is_some_and(|seat| seat.group_text() == first.group_text())
            });
        }
        let first = failed.first().copied();
        let why = first.map_or_else(String::new, |first| {
            format!("; {first}: {}", self.chain(first).0.detail)
        });
        let (doc, because) = match mandatory {
            Some(seat) => (
                causes::MANDATORY,
                format!(
                    "the mandatory decision {} tolerates no failure",
                    seat.group_text()
                ),
            ),
            None => (
                causes::FAILURES,
                "more clusters failed than it tolerates".to_owned(),
            ),
        };
        let detail = format!(
            "the rollout of placement {place} has stopped, {because}: {}{why}",
            names(&failed)
        );
        self.pointing(Cause::new(doc, detail), first)
    }

    /// A placement that does not exist: one of the install strategy, or that of `spec.configuration`.
    fn missing_placement(&self, message: &str) -> Cause {
        let is_named = |place: &str| {
            let mut words = message.split([' ', ';', ',', ':']);
            words.any(|word| word == place)
        };
        let follows = self.view.addon.strategy == InstallStrategy::Placements;
        let mut placements = self.view.addon.placements.iter().filter(|_| follows);
        let missing = placements.find(|used| {
            self.view.placement(&used.namespace, &used.name).is_none() && is_named(&place(used))
        });
        if let Some(used) = missing {
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
                "not its turn yet: the slots in the rollout of placement {place} are taken by clusters that do not get on: {}{why}",
                names(&stuck)
            );
            return self.pointing(Cause::new(causes::SLOT, detail), Some(first));
        }
        let takers = match (going.is_empty(), held.is_empty()) {
            (_, true) => return Cause::new(causes::SLOT, told).graded(Grade::Waits(None)),
            (false, _) => names(&going),
            (true, false) => {
                let soaking: Vec<&str> = held.iter().map(|(cluster, _)| *cluster).collect();
                format!("{}, which must stay successful", names(&soaking))
            }
        };
        let detail =
            format!("not its turn yet: the slots in the rollout of placement {place} are taken by {takers}");
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
        let groups: BTreeSet<String> = seats.map(Seat::group_text).collect();
        let groups: Vec<String> = groups.into_iter().collect();
        let clusters: Vec<&str> = open.iter().map(|(cluster, _)| *cluster).collect();
        let soaking = open.iter().all(|(_, stage)| matches!(stage, Stage::Soaking(_)));
        let still = if soaking {
            "must stay successful"
        } else {
            "is not done"
        };
        let mut detail = format!(
            "not its turn yet: {} of placement {place} goes first and {still}: {}",
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

    /// A shut window opens by itself, but for one that never does.
    fn window(&self, told: &str) -> Cause {
        let windows = self
            .view
            .addon
            .windows
            .as_ref()
            .and_then(|windows| windows.as_ref().ok());
        let until = match windows.map(|windows| windows.at(self.now)) {
            Some(WindowState::Shut(until)) => until,
            Some(WindowState::Open(_)) | None => None,
        };
        Cause::new(causes::WINDOW, told).graded(Grade::Waits(until))
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

    /// The groups of a placement that go before the one of a cluster.
    fn groups_before(&self, place: &str, own: Option<&Seat>) -> BTreeSet<(u32, String)> {
        let Some((used, own)) = self.used(place).zip(own) else {
            return BTreeSet::new();
        };
        let by_group = matches!(used.rollout, Ok(RolloutStrategy::ProgressivePerGroup { .. }));
        let is_mandatory = |(index, name): &(u32, String)| is_mandatory(used, (*index, name));
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

    /// Those of the clusters that do not get on by themselves, and what the first of them says.
    fn faults<'c>(&self, clusters: &[&'c str]) -> (Vec<&'c str>, String) {
        let mut why = String::new();
        let mut stuck = Vec::new();
        for cluster in clusters {
            let (chain, cause) = self.chain(cluster);
            if cause.is_some_and(|cause| cause.is_fault()) {
                if stuck.is_empty() {
                    why = format!("; {cluster}: {}", chain.detail);
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

    fn seat(&self, cluster: &str, place: &str) -> Option<&Seat> {
        let seats = self.seats.of_cluster(cluster);
        seats.iter().find(|seat| {
            let used = self.view.addon.placements.get(seat.placement);
            used.is_some_and(|used| super::seats::place(used) == place)
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

/// The first add-on that has to run on the cluster first is the one to ask about.
fn dependency(cluster: &str, told: &str) -> Cause {
    let cause = Cause::new(causes::DEPENDENCY, told).graded(Grade::Waits(None));
    let listed = told.rsplit_once(": ").map_or(told, |(_, listed)| listed);
    match listed.split([' ', ',']).next().filter(|name| !name.is_empty()) {
        Some(first) => cause.typing(format!(
            "tidegate why {} --cluster {}",
            quoted(first),
            quoted(cluster)
        )),
        None => cause,
    }
}

/// Whether a decision group of a placement is one of those that go first.
fn is_mandatory(used: &PlacementUse, (index, name): (u32, &str)) -> bool {
    let groups = match &used.rollout {
        Ok(
            RolloutStrategy::Progressive { groups, .. } | RolloutStrategy::ProgressivePerGroup { groups, .. },
        ) => groups.as_slice(),
        Ok(RolloutStrategy::All(_)) | Err(_) => &[],
    };
    groups.iter().any(|group| match group {
        MandatoryGroup::Named(wanted) => wanted == name,
        MandatoryGroup::At(wanted) => *wanted == index,
    })
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
        (true, _) => "nobody".to_owned(),
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
