//! The conditions of a ClusterManagementAddOn: a summary over all its clusters, for users and for delivery tools.
//!
//! Sets `Ready`, `Reconciling`, `Stalled` and, where the lifecycle annotation needs an explanation, `Managed`; `docs/controllers.md`
//! lists the combinations. Conditions of other programs are kept.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::reconciling::Arrival;
use super::{Wish, merge};
use crate::addon_status::Summary;
use crate::census::{Census, Time};
use crate::change_event::{Grade, Note};
use crate::install::{DecisionState, Holding, Over, Wanted};
use crate::short_list::ShortList;
use crate::types::{Wait, WaitOn};
use api::reason::Reason;
use model::ConfigRollout;
use store::{Condition, InstallStrategy, Kind, Lifecycle, Name, Status, Unreadable, View, terms};

const READY: &str = "Ready";
const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";
const MANAGED: &str = "Managed";

/// The add-on's own conditions, and the event when they change.
#[derive(Debug)]
pub(crate) struct Verdict<'v> {
    /// `status.conditions`
    pub conditions: Cow<'v, [Condition]>,
    /// The change, if it is one.
    pub note: Option<Note>,
    /// When to reconcile again although no event occurs.
    pub recheck_at: Option<Timestamp>,
}

/// Returns the conditions of an add-on that the hub manages.
pub(crate) fn managed<'v>(
    view: &View<'v>,
    wanted: &Wanted<'_>,
    summary: &Summary,
    census: &Census,
    time: Time,
    now: Timestamp,
) -> Verdict<'v> {
    let fault = unreadable(view)
        .or_else(|| held(view, &census.holding))
        .or_else(|| fault(view, wanted))
        .or_else(|| summary.undone())
        .or_else(|| Some((Reason::TooManyFailures, summary.unchecked.clone()?)));
    // While anything is wrong or open, it is not known that no cluster gets the add-on.
    let is_known = fault.is_none()
        && wanted
            .placements
            .iter()
            .all(|one| one.known == DecisionState::Decided);
    let empty = (is_known && census.is_empty()).then(|| no_cluster(view, wanted));
    let message = empty.unwrap_or_else(|| census.message());
    let open = Open::of(wanted, census, time, &message);
    let (before, generation) = stated_before(view);
    let arrival = fault
        .as_ref()
        .and_then(|(reason, _)| Arrival::of(*reason, before, generation, view.settings(), now));
    let faulty = fault.as_ref().map(|(reason, why)| Faulty {
        reason: *reason,
        why,
        arrival,
    });
    let mut wishes = rollup(census, faulty.as_ref(), &open, &message).to_vec();
    if view.addon.lifecycle == Lifecycle::Empty {
        wishes.push(Wish::new(
            MANAGED,
            Status::True,
            Reason::EmptyLifecycle,
            "the lifecycle annotation has no value and is read as if it were absent; remove it",
        ));
    }
    let note = note(view, &wishes).or_else(|| refusal(view, census, &wishes));
    let conditions = stated(view, &wishes, now);
    Verdict {
        conditions,
        note,
        recheck_at: arrival.map(|arrival| arrival.until),
    }
}

/// Returns what was stated last, with the generation of the object that holds it: on a hub whose ClusterManagementAddOn keeps no
/// conditions that is the roll-up, which counts while it is about the present generation of the add-on.
fn stated_before<'v>(view: &View<'v>) -> (&'v [Condition], i64) {
    let addon = view.addon;
    let own = (&*addon.conditions, addon.meta.generation);
    if addon.conditions.iter().any(|one| &*one.kind == READY) {
        return own;
    }
    let Some(known) = view.roll_up().filter(|_| view.keeps_roll_ups()) else {
        return own;
    };
    let about = known.status.get("addonGeneration").and_then(Value::as_i64);
    if about == Some(addon.meta.generation) {
        (&known.conditions, known.meta.generation)
    } else {
        own
    }
}

/// Returns the conditions of an add-on while the time is not known.
pub(crate) fn timeless<'v>(view: &View<'v>, now: Timestamp) -> Verdict<'v> {
    const WHY: &str = "the time of the hub is not known, so the add-on is not changed: the API servers of the hub do not agree on the \
                       time, or a clock jumps; changes continue when the hub's responses have agreed for a minute";
    let wishes = [
        Wish::new(READY, Status::False, Reason::ClockUnknown, WHY),
        Wish::new(RECONCILING, Status::False, Reason::Settled, ""),
        Wish::new(STALLED, Status::True, Reason::ClockUnknown, WHY),
    ];
    let note = note(view, &wishes);
    Verdict {
        conditions: stated(view, &wishes, now),
        note,
        recheck_at: None,
    }
}

/// Returns the conditions of an add-on while an object cannot be read on which all of it depends.
pub(crate) fn unread<'v>(view: &View<'v>, now: Timestamp) -> Verdict<'v> {
    let (reason, why) = unreadable(view).unwrap_or((Reason::ReadFailed, String::new()));
    let generation = view.addon.meta.generation;
    let arrival = Arrival::of(reason, &view.addon.conditions, generation, view.settings(), now);
    let settled = || Wish::new(RECONCILING, Status::False, Reason::Settled, "");
    let ready = Wish::new(READY, Status::False, reason, why.as_str());
    let wishes = match arrival {
        Some(arrival) => [
            ready,
            arrival.wish(reason, &why),
            Wish::new(STALLED, Status::False, Reason::NotStalled, ""),
        ],
        None => [
            ready,
            settled(),
            Wish::new(STALLED, Status::True, reason, why.as_str()),
        ],
    };
    let note = note(view, &wishes);
    Verdict {
        conditions: stated(view, &wishes, now),
        note,
        recheck_at: arrival.map(|arrival| arrival.until),
    }
}

/// Returns the conditions of an add-on that manages itself: only that it does.
pub(crate) fn unmanaged<'v>(view: &View<'v>, now: Timestamp) -> Verdict<'v> {
    let said = match &view.addon.lifecycle {
        Lifecycle::Own(value) => format!("{:?}", &**value),
        Lifecycle::Empty | Lifecycle::Managed | Lifecycle::Tidegate => "empty".to_owned(),
    };
    let message = format!(
        "the lifecycle annotation is {said}, so the add-on manages itself; remove the annotation to let the hub manage it"
    );
    let wishes = [Wish::new(MANAGED, Status::False, Reason::SelfManaged, message)];
    Verdict {
        conditions: stated(view, &wishes, now),
        note: None,
        recheck_at: None,
    }
}

/// A number of instances with the verb in singular or plural.
fn instances(count: usize, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 instance {one}")
    } else {
        format!("{count} instances {many}")
    }
}

/// An object that no list shows and that cannot be read by its name: it may exist or not, and nothing that depends on it is planned.
fn unreadable(view: &View<'_>) -> Option<(Reason, String)> {
    let Unreadable { object, why, more } = view.unreadable()?;
    let more = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let held = if [Kind::Cluster, Kind::Instance, Kind::Work].contains(&object.kind) {
        "the add-on is not changed on that cluster"
    } else {
        "the add-on is not changed"
    };
    let message = format!("cannot read {object}{more}: {why}; {held} until the hub responds");
    Some((Reason::ReadFailed, message))
}

/// The instances that are kept although nothing selects them: how many, and what the user can do.
fn held(view: &View<'_>, holding: &Holding) -> Option<(Reason, String)> {
    if let Some((object, why)) = view.unread_reason(None).filter(|_| holding.unread > 0) {
        let message = format!(
            "{}: cannot read {object} again: {why}; the removal continues when the hub returns the object",
            instances(
                holding.all(),
                "is kept although nothing selects its cluster",
                "are kept although nothing selects their clusters"
            )
        );
        return Some((Reason::RemovalUnconfirmed, message));
    }
    let cure = format!(
        "to remove all of them now, annotate the ClusterManagementAddOn with {}=<a time at most a day ahead, such as \
         2006-01-02T15:04:05Z>",
        terms::REMOVALS_ALLOWED_UNTIL
    );
    if let Some((held, absences)) = holding.doubted {
        let message = format!(
            "{held} instances are kept although nothing selects their clusters: {} of {} clusters with add-ons have no ManagedCluster, \
             and the controller did not observe their deletion; {cure}",
            absences.absent, absences.all
        );
        return Some((Reason::ClustersAbsent, message));
    }
    let Over { held, limit, more_at } = holding.over?;
    let message = format!(
        "{held} removals are delayed: at most {limit} instances are removed per minute, the next at {more_at}; {cure}"
    );
    Some((Reason::RemovalHeld, message))
}

/// What is wrong with the add-on itself and needs the user to act: reason and message.
fn fault(view: &View<'_>, wanted: &Wanted<'_>) -> Option<(Reason, String)> {
    let say = |on: WaitOn| Wait::addon(on).to_string();
    let of_changes = || unmeant(view).or_else(|| nowhere(view));
    match &view.addon.strategy {
        InstallStrategy::Manual | InstallStrategy::Labels(Some(_)) => of_changes(),
        InstallStrategy::Labels(None) => Some((Reason::LabelSelectorMissing, say(WaitOn::NoLabelSelector))),
        InstallStrategy::BadLabels(why) => Some((
            Reason::LabelSelectorInvalid,
            say(WaitOn::LabelSelector(why.clone())),
        )),
        InstallStrategy::Other(kind) => Some((
            Reason::InstallStrategyUnknown,
            say(WaitOn::InstallStrategy(kind.clone())),
        )),
        InstallStrategy::Placements => {
            let mut all = wanted.placements.iter();
            let Some(missing) = all.find(|selected| selected.known == DecisionState::NoPlacement) else {
                return of_changes();
            };
            let (namespace, name) = (missing.by.namespace.clone(), missing.by.name.clone());
            Some((Reason::PlacementNotFound, say(WaitOn::Placement(namespace, name))))
        }
    }
}

/// A rollout strategy that is invalid: no change is rolled out.
fn unmeant(view: &View<'_>) -> Option<(Reason, String)> {
    let placements = view.addon.placements.iter();
    let drives = view.addon.strategy == InstallStrategy::Placements;
    let mut of_placements = placements.filter(|_| drives).filter_map(|by| {
        let fault = view.strategy(by).err()?;
        Some((format!("placement {}/{}", by.namespace, by.name), fault))
    });
    let own = || {
        let fault = view.addon.configuration_rollout.as_ref().err()?;
        (!view.addon.configuration.is_empty()).then(|| ("spec.configuration".to_owned(), fault))
    };
    let (what, fault) = of_placements.next().or_else(own)?;
    let message = format!(
        "the rollout strategy of {what} is invalid, so its clusters keep their current configuration: {fault}"
    );
    Some((Reason::RolloutStrategyInvalid, message))
}

/// A placement of `spec.configuration` that does not exist: its changes are rolled out to no cluster.
fn nowhere(view: &View<'_>) -> Option<(Reason, String)> {
    let Ok(ConfigRollout::RollingUpdateWithPlacement(update)) = &view.addon.configuration_rollout else {
        return None;
    };
    let [namespace, name] = [update.namespace.as_str(), update.name.as_str()].map(Name::from);
    if view.placement(&namespace, &name).is_some() || view.addon.configuration.is_empty() {
        return None;
    }
    let on = Wait::addon(WaitOn::Placement(namespace, name));
    let message = format!(
        "{on}; changes to spec.configuration are rolled out only to its clusters, so no cluster is updated"
    );
    Some((Reason::PlacementNotFound, message))
}

/// Why no cluster gets the add-on. The user requested that, so it is no reason to wait.
fn no_cluster(view: &View<'_>, wanted: &Wanted<'_>) -> String {
    const HEAD: &str = "no cluster gets the add-on";
    let declined: ShortList = wanted.declined.iter().copied().collect();
    if !declined.is_empty() {
        return format!("{HEAD}: the selected clusters have opted out: {declined}");
    }
    match &view.addon.strategy {
        InstallStrategy::Manual => {
            format!("{HEAD}: the install strategy is Manual, and no ManagedClusterAddOn exists")
        }
        InstallStrategy::Labels(_) | InstallStrategy::BadLabels(_) => {
            format!("{HEAD}: the label selector matches no cluster")
        }
        InstallStrategy::Placements if wanted.placements.is_empty() => {
            format!("{HEAD}: the install strategy names no placement")
        }
        InstallStrategy::Placements => {
            let all = wanted.placements.iter().map(|selected| selected.by);
            let names: Vec<Name> = all
                .map(|by| Name::from(format!("{}/{}", by.namespace, by.name)))
                .collect();
            let few: ShortList = names.iter().collect();
            format!("{HEAD}: no cluster is selected by placement {few}")
        }
        InstallStrategy::Other(_) => HEAD.to_owned(),
    }
}

/// Whether anything is not done yet, and whether the user has to act.
enum Open {
    /// Nothing is.
    Done,
    /// The wait ends by itself: reason and message.
    Wait(Reason, String),
    /// Nothing changes until the user acts.
    Act,
}

impl Open {
    fn of(wanted: &Wanted<'_>, census: &Census, time: Time, message: &str) -> Self {
        // A failure that the rollout tolerates is no reason to act while other clusters are in progress.
        if census.has_stalled() && !census.goes_on(time) {
            return Self::Act;
        }
        let mut selected = wanted.placements.iter();
        if let Some(one) = selected.find(|one| one.known == DecisionState::NoDecision) {
            let on = WaitOn::Decision(one.by.namespace.clone(), one.by.name.clone());
            return Self::Wait(
                Reason::DecisionNotFound,
                format!("{}. {message}", Wait::addon(on)),
            );
        }
        if census.open() > 0 {
            return Self::Wait(census.brake().unwrap_or(Reason::Progressing), message.to_owned());
        }
        Self::Done
    }
}

/// What is wrong with the add-on itself.
struct Faulty<'a> {
    reason: Reason,
    why: &'a str,
    /// Whether it may still come by itself.
    arrival: Option<Arrival>,
}

/// Whatever can be known is good: a cluster that is not reachable does not keep the whole add-on from being ready. What is
/// wrong with the add-on itself comes before everything that moves: nothing of that fixes it. Never `Stalled` and
/// `Reconciling`: who has to act need not wait for anything. `Ready` and whichever of the two is True say the same: tables show
/// one, delivery tools the other.
fn rollup<'a>(
    census: &Census,
    fault: Option<&Faulty<'a>>,
    open: &'a Open,
    message: &'a str,
) -> [Wish<'a>; 3] {
    let settled = || Wish::new(RECONCILING, Status::False, Reason::Settled, "");
    let sound = || Wish::new(STALLED, Status::False, Reason::NotStalled, "");
    match (fault, open) {
        (Some(&Faulty { reason, why, arrival }), _) => {
            let ready = Wish::new(READY, Status::False, reason, format!("{why}. {message}"));
            match arrival {
                Some(arrival) => [ready, arrival.wish(reason, why), sound()],
                None => [ready, settled(), Wish::new(STALLED, Status::True, reason, why)],
            }
        }
        (None, Open::Act) => [
            Wish::new(READY, Status::False, Reason::ClustersStalled, message),
            settled(),
            Wish::new(STALLED, Status::True, Reason::ClustersStalled, message),
        ],
        (None, Open::Wait(reason, why)) => [
            Wish::new(READY, Status::False, *reason, why.as_str()),
            Wish::new(RECONCILING, Status::True, *reason, why.as_str()),
            sound(),
        ],
        (None, Open::Done) => {
            let ready = if census.has_unavailable() {
                Wish::new(READY, Status::False, Reason::ClustersUnavailable, message)
            } else if census.is_empty() {
                Wish::new(READY, Status::True, Reason::NoClustersSelected, message)
            } else {
                Wish::new(READY, Status::True, Reason::Ready, message)
            };
            [ready, settled(), sound()]
        }
    }
}

/// Only another reason of `Ready` is worth a word; numbers change all the time.
fn note(view: &View<'_>, wishes: &[Wish<'_>]) -> Option<Note> {
    let ready = wishes.iter().find(|wish| wish.kind() == READY)?;
    let before = view.addon.conditions.iter().find(|one| &*one.kind == READY);
    if before.is_some_and(|before| *before.reason == ready.reason()) {
        return None;
    }
    let fine = ready.status() == Status::True
        || [
            Reason::Progressing,
            Reason::DecisionNotFound,
            Reason::RolloutPaused,
            Reason::WaitingForApproval,
        ]
        .contains(&ready.reason());
    Some(Note::AddOn {
        addon: view.addon.name.clone(),
        grade: if fine { Grade::Normal } else { Grade::Warning },
        reason: ready.reason(),
        message: ready.message().to_owned(),
    })
}

/// What the hub has begun to refuse is worth a word whatever else is going on: no instance is there that could tell it.
fn refusal(view: &View<'_>, census: &Census, wishes: &[Wish<'_>]) -> Option<Note> {
    let told = census.unmade.told()?;
    let ready = wishes.iter().find(|wish| wish.kind() == READY)?;
    let mut before = view.addon.conditions.iter();
    let is_old = before.any(|one| &*one.kind == READY && one.message.contains(&told));
    (!is_old).then(|| Note::AddOn {
        addon: view.addon.name.clone(),
        grade: Grade::Warning,
        reason: ready.reason(),
        message: ready.message().to_owned(),
    })
}

/// Merges the wishes; conditions of ours that have nothing to say any more are dropped.
fn stated<'v>(view: &View<'v>, wishes: &[Wish<'_>], now: Timestamp) -> Cow<'v, [Condition]> {
    let (observed, generation) = (&view.addon.conditions, Some(view.addon.meta.generation));
    let is_over = |condition: &Condition| {
        [READY, RECONCILING, STALLED, MANAGED].contains(&&*condition.kind)
            && !wishes.iter().any(|wish| *wish.kind() == *condition.kind)
    };
    if !observed.iter().any(is_over) {
        return merge(observed, wishes, generation, now);
    }
    let kept: Vec<Condition> = observed.iter().filter(|one| !is_over(one)).cloned().collect();
    Cow::Owned(merge(&kept, wishes, generation, now).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::InstanceTally;

    fn told(standings: &[InstanceTally], time: Time) -> String {
        let mut census = Census::default();
        for (n, standing) in (1..).zip(standings) {
            census.add(&Name::from(format!("c{n}")), *standing);
        }
        let message = census.message();
        let open = Open::of(&Wanted::default(), &census, time, &message);
        let wishes = rollup(&census, None, &open, &message);
        let each = wishes.map(|wish| format!("{}={} {}", wish.kind(), wish.status().as_str(), wish.reason()));
        each.join(", ")
    }

    const DONE: &str = "Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled";
    const NO_CLUSTER: &str =
        "Ready=True NoClustersSelected, Reconciling=False Settled, Stalled=False NotStalled";
    const MOVES: &str = "Ready=False Progressing, Reconciling=True Progressing, Stalled=False NotStalled";
    const STALLS: &str =
        "Ready=False ClustersStalled, Reconciling=False Settled, Stalled=True ClustersStalled";
    const DOWN: &str = "Ready=False ClustersUnavailable, Reconciling=False Settled, Stalled=False NotStalled";
    const ASKS: &str =
        "Ready=False WaitingForApproval, Reconciling=True WaitingForApproval, Stalled=False NotStalled";
    const PAUSED: &str =
        "Ready=False RolloutPaused, Reconciling=True RolloutPaused, Stalled=False NotStalled";

    #[test]
    fn done_moving_and_stalled_are_distinguished() {
        use InstanceTally::{Leaving, Moving, Ready, Stalled, Unavailable, Unreachable, Waiting};
        let failed = Stalled(Reason::UpgradeFailed);
        let (goes, lost) = (Leaving { reachable: true }, Leaving { reachable: false });
        let rows: [(&[InstanceTally], Time, &str); 18] = [
            (&[Ready, goes], Time::Stands, MOVES),
            (&[Ready, lost], Time::Stands, DONE),
            (&[failed, goes], Time::Stands, MOVES),
            (&[], Time::Stands, NO_CLUSTER),
            (&[Ready, Ready], Time::Stands, DONE),
            (&[Ready, Unreachable], Time::Stands, DONE),
            (&[Ready, Moving], Time::Stands, MOVES),
            (&[Ready, Unavailable], Time::Stands, DOWN),
            (&[failed, Ready], Time::Stands, STALLS),
            // A failure that is tolerated stops no other cluster.
            (
                &[failed, Moving, Waiting(Reason::WaitingForSlot)],
                Time::Stands,
                MOVES,
            ),
            (
                &[failed, Ready, Waiting(Reason::WaitingForSlot)],
                Time::Runs,
                MOVES,
            ),
            // No soak ends that too many have failed.
            (
                &[failed, Ready, Waiting(Reason::TooManyFailures)],
                Time::Runs,
                STALLS,
            ),
            // A failure that keeps the last slot stops all other clusters.
            (&[failed, Waiting(Reason::WaitingForSlot)], Time::Stands, STALLS),
            (&[Ready, Waiting(Reason::RolloutPaused)], Time::Stands, PAUSED),
            (&[Ready, Waiting(Reason::WaitingForApproval)], Time::Stands, ASKS),
            (
                &[
                    Ready,
                    Waiting(Reason::WaitingForApproval),
                    Waiting(Reason::WaitingForGroup),
                ],
                Time::Stands,
                ASKS,
            ),
            (
                &[
                    Moving,
                    Waiting(Reason::WaitingForApproval),
                    Waiting(Reason::WaitingForSlot),
                ],
                Time::Stands,
                MOVES,
            ),
            (
                &[
                    Moving,
                    Waiting(Reason::RolloutPaused),
                    Waiting(Reason::WaitingForSlot),
                ],
                Time::Stands,
                MOVES,
            ),
        ];
        for (standings, time, expected) in rows {
            assert_eq!(told(standings, time), expected, "{standings:?}");
        }
    }
}
