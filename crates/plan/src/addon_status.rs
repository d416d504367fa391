//! The status of the add-on itself: default references and the progression of every placement.
//!
//! Decides counters and the moment at which a placement is done. Stays bounded whatever the number of clusters is.

use jiff::Timestamp;

use super::conditions::{Wish, merge};
use super::config::{Configs, Effective};
use super::install::{DecisionState, Selected, Wanted};
use super::notification::Notification;
use super::rollout::{
    Asked, Counts, Placed, REASONS, Undo, change_started, failures, for_reason, known_good, unmet,
};
use super::rollout_notifications;
use super::short_list::ShortList;
use super::types::earliest;
use crate::conditions::progressing::PROGRESSING;
use api::reason::Reason;
use model::OnFailure;
use store::{
    Applied, Compat, Condition, ConfigRef, InstallStrategy, Name, Progression, ProgressionReference, Status,
    View, terms,
};

/// What the status of the add-on should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// `defaultconfigReferences`
    pub defaults: Vec<(ConfigRef, Name)>,
    /// `installProgressions`; absent leaves what stands there.
    pub progressions: Option<Vec<Progression>>,
    /// `supportedVersions` and `defaultVersion`; absent leaves what stands there.
    pub versions: Option<(Vec<Name>, Name)>,
    /// Why a rollout is not complete although all of its clusters are updated: a check has failed.
    pub unchecked: Option<String>,
    /// What receivers outside of the hub are sent when it is written.
    pub notifications: Vec<Notification>,
    /// When time alone changes the status.
    pub recheck_at: Option<Timestamp>,
}

impl Summary {
    /// Returns why what the specs want is not reached although clusters run well: a rollout was undone, or cannot be.
    pub(super) fn undone(&self) -> Option<(Reason, String)> {
        let all = self.progressions.iter().flatten();
        let told: Vec<(Reason, String)> = all
            .filter_map(|one| {
                let (reason, said) = undone(one)?;
                Some((
                    reason,
                    format!("placement {}/{}: {}", one.namespace, one.name, said.message),
                ))
            })
            .collect();
        let first = REASONS
            .into_iter()
            .find(|first| told.iter().any(|(reason, _)| reason == first))?;
        let each: Vec<&str> = told.iter().map(|(_, said)| said.as_str()).collect();
        Some((first, each.join("; ")))
    }
}

/// Returns what a progression says of a rollout that was undone, or cannot be.
pub(super) fn undone(progression: &Progression) -> Option<(Reason, &Condition)> {
    let mut conditions = progression.conditions.iter();
    let said = conditions.find(|said| *said.kind == *STALLED)?;
    let reason = REASONS.into_iter().find(|reason| *said.reason == *reason)?;
    Some((reason, said))
}

/// Returns the status of the add-on.
pub(super) fn summary(
    view: &View<'_>,
    wanted: &Wanted<'_>,
    configs: &Configs,
    placed: &[Placed],
    now: Timestamp,
) -> Summary {
    let mut recheck_at = None;
    let mut notifications = Vec::new();
    let progressions = if !view.addon.managed {
        None
    } else if view.addon.strategy == InstallStrategy::Placements {
        let ways = configs.inherited.iter().zip(&configs.back);
        let each = wanted.placements.iter().zip(ways).zip(placed);
        let each = each.map(|((selected, (inherited, way)), placed)| {
            let undo = Undo::of(view, selected, inherited, way.as_ref(), placed, now);
            recheck_at = earliest(recheck_at, undo.recheck_at());
            let progression = progression(view, selected, inherited, placed, &undo, now);
            notifications.extend(rollout_notifications::of_placement(
                view,
                &progression,
                inherited,
                placed,
                now,
            ));
            progression
        });
        Some(each.collect())
    } else {
        Some(Vec::new())
    };
    let defaults = configs
        .defaults
        .iter()
        .map(|desired| (desired.config.clone(), desired.hash.clone()));
    Summary {
        defaults: defaults.collect(),
        progressions,
        unchecked: unchecked(wanted, placed),
        notifications,
        recheck_at,
        versions: view.addon.managed.then(|| {
            let listed = configs.versions.supported();
            (
                listed.map(|offer| Name::from(offer.text())).collect(),
                configs.default_version.clone(),
            )
        }),
    }
}

/// Returns the first placement whose clusters are all updated, and whose rollout a check has stopped.
fn unchecked(wanted: &Wanted<'_>, placed: &[Placed]) -> Option<String> {
    let mut each = wanted.placements.iter().zip(placed);
    let (selected, placed) = each.find(|(_, placed)| placed.is_unchecked())?;
    let failures = failures(placed, placed.breach?, "");
    Some(format!(
        "placement {}/{}: {failures}",
        selected.by.namespace, selected.by.name
    ))
}

/// Returns the status of the add-on as it stands.
pub(super) fn unchanged(view: &View<'_>) -> Summary {
    Summary {
        defaults: view.addon.defaults.clone(),
        progressions: None,
        versions: None,
        unchecked: None,
        notifications: Vec::new(),
        recheck_at: None,
    }
}

fn progression(
    view: &View<'_>,
    selected: &Selected<'_>,
    inherited: &Effective,
    placed: &Placed,
    undo: &Undo<'_>,
    now: Timestamp,
) -> Progression {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let stored = view.addon.progressions.iter().flatten();
    let old = stored
        .into_iter()
        .find(|old| old.namespace == *namespace && old.name == *name);
    let is_ocm = view.settings().is_ocm();
    let done = selected.known == DecisionState::Decided
        && !placed.is_unchecked()
        && placed.counts.done == placed.configured
        // To Open Cluster Management a placement without clusters is never done.
        && (placed.configured > 0 || !is_ocm);
    // What no cluster runs is not known to be good, and clusters that are back do not run what the specs want.
    let is_reached = done && placed.configured > 0 && !undo.stands();
    let is_proved = is_reached && placed.is_checked;
    let reached = is_reached.then_some(placed);
    let all = selected.clusters.len().saturating_add(selected.others);
    let wishes = if is_ocm {
        vec![sentence(all, placed, done).bare_if(true)]
    } else {
        let proved = is_proved.then(|| inherited.pinned()).flatten();
        let good = || proved.or_else(|| old?.known_good());
        let more = stalled(selected, placed, undo, done)
            .into_iter()
            .chain(paused(view, selected, placed))
            .chain(
                is_asked(view, selected, undo)
                    .then(|| known_good(good()))
                    .flatten(),
            )
            .chain(undo.note(now))
            .chain(change_started(placed));
        std::iter::once(counted(all, placed, undo, done))
            .chain(more)
            .collect()
    };
    // All but the first of them are only there while they are true.
    let is_past = |one: &&Condition| {
        let wished = wishes.iter().any(|wish| wish.kind() == &*one.kind);
        !wished
            && [
                STALLED,
                PAUSED,
                terms::KNOWN_GOOD,
                terms::UNDONE,
                terms::CHANGE_STARTED,
            ]
            .contains(&&*one.kind)
    };
    let stated = old.into_iter().flat_map(|old| &old.conditions);
    let observed: Vec<Condition> = stated.filter(|one| !is_past(one)).cloned().collect();
    Progression {
        namespace: namespace.clone(),
        name: name.clone(),
        references: references(view, inherited, old, reached),
        conditions: merge(&observed, &wishes, Some(view.addon.meta.generation), now).into_owned(),
    }
}

/// What a placement is to be configured with, and what all of its clusters have confirmed and run well: that now, once it is
/// reached and proved, else what they had before.
fn references(
    view: &View<'_>,
    inherited: &Effective,
    old: Option<&Progression>,
    reached: Option<&Placed>,
) -> Vec<ProgressionReference> {
    let each = inherited.refs.iter().map(|desired| {
        let before = old.and_then(|old| before(old, &desired.config, view.settings().compat));
        let confirmed = reached.map(|_| Applied {
            namespace: desired.config.namespace.clone(),
            name: desired.config.name.clone(),
            hash: desired.hash.clone(),
        });
        ProgressionReference {
            config: desired.config.clone(),
            desired: desired.hash.clone(),
            applied: confirmed
                .clone()
                .or_else(|| before.and_then(|before| before.applied.clone())),
            known_good: confirmed
                .filter(|_| reached.is_some_and(|placed| placed.is_checked))
                .or_else(|| before.and_then(|before| before.known_good.clone())),
        }
    });
    each.collect()
}

/// Whether the way back is remembered: the add-on asks for it, clusters have gone it, or checks need not look at it again.
fn is_asked(view: &View<'_>, selected: &Selected<'_>, undo: &Undo<'_>) -> bool {
    let by = selected.by;
    let mode = view.rollout().on_failure(&by.namespace, &by.name);
    let is_checked = !view.rollout().checks(&by.namespace, &by.name).is_empty();
    mode == OnFailure::Undo || undo.stands() || is_checked
}

/// Returns what a progression remembers of a configuration: of the same object, else of the only one of its type. A user who
/// names another object needs the last known good content of the previous one; Open Cluster Management drops it.
pub(super) fn before<'p>(
    old: &'p Progression,
    config: &ConfigRef,
    compat: Compat,
) -> Option<&'p ProgressionReference> {
    let same = old.references.iter().find(|before| before.config == *config);
    let mut alike = old
        .references
        .iter()
        .filter(|before| before.config.of == config.of);
    let only = || alike.next().filter(|_| alike.next().is_none());
    match compat {
        Compat::Tidegate => same.or_else(only),
        Compat::Ocm => same,
    }
}

const STALLED: &str = "Stalled";
const PAUSED: &str = "Paused";

/// OCM's sentence, followed by the names of the clusters that failed, and of the clusters and groups in progress.
fn counted(selected: usize, placed: &Placed, undo: &Undo<'_>, done: bool) -> Wish<'static> {
    let wish = sentence(selected, placed, done);
    let mut message = match (undo.stands(), done) {
        (false, true) => return wish,
        (false, false) => wish.message().to_owned(),
        (true, true) => figures(selected, placed, "rolled back"),
        (true, false) => figures(selected, placed, "rolling back..."),
    };
    if done {
        return Wish::new(PROGRESSING, Status::False, Reason::RolledBack, message);
    }
    for part in details(placed).into_iter().flatten() {
        message.push(' ');
        message.push_str(&part);
        message.push('.');
    }
    let reason = if undo.stands() {
        Reason::RollingBack
    } else {
        Reason::Progressing
    };
    Wish::new(PROGRESSING, Status::True, reason, message)
}

/// OCM's sentence.
fn sentence(selected: usize, placed: &Placed, done: bool) -> Wish<'static> {
    if done {
        let message = figures(selected, placed, "completed with no errors");
        return Wish::new(PROGRESSING, Status::False, Reason::Completed, message);
    }
    let message = figures(selected, placed, "progressing...");
    Wish::new(PROGRESSING, Status::True, Reason::Progressing, message)
}

/// The form of OCM's sentence, with the state of the rollout.
fn figures(selected: usize, placed: &Placed, how: &str) -> String {
    let Placed {
        counts, configured, ..
    } = placed;
    let Counts {
        failed, timed_out, ..
    } = counts;
    let started = counts.progressing.saturating_add(counts.done);
    format!(
        "selected clusters {selected}. configured addons {started}/{configured} {how}, {failed} failed {timed_out} timeout."
    )
}

/// The facts that OCM's sentence does not contain.
fn details(placed: &Placed) -> [Option<String>; 10] {
    let few = |what: &str, few: &ShortList| (!few.is_empty()).then(|| format!("{what}: {few}"));
    let blocked = placed.blocked;
    let asked = placed.asked.as_ref();
    let unapproved = asked.map_or(0, Asked::waiting);
    let waiting = placed.counts.waiting.saturating_sub(
        blocked
            .saturating_add(unapproved)
            .saturating_add(placed.unchecked),
    );
    let held = placed.counts.held;
    [
        few("Failed", &placed.failed),
        few("Timed out", &placed.late),
        placed.paused.then(|| "Paused".to_owned()),
        (waiting > 0).then(|| {
            let now = placed.awaited();
            // What is in progress starts no other cluster then.
            if placed.breach.is_some() {
                return do_not_start(waiting);
            }
            if placed.paused || now.is_empty() {
                return are_waiting(waiting);
            }
            format!("{} for {now}", are_waiting(waiting))
        }),
        asked.and_then(|asked| approval(asked, false)),
        asked.and_then(|asked| approval(asked, true)),
        (placed.unchecked > 0).then(|| {
            format!(
                "{} for a RolloutCheck: {}",
                are_waiting(placed.unchecked),
                unmet(&placed.unmet, true)
            )
        }),
        (!placed.failed_checks.is_empty() && placed.unchecked == 0).then(|| {
            let names: ShortList = placed.failed_checks.iter().map(|(name, _)| name).collect();
            format!("Failed RolloutChecks: {names}")
        }),
        (blocked > 0).then(|| {
            let reasons: Vec<&str> = placed.blocked_by.iter().copied().collect();
            format!("{}: {}", are_waiting(blocked), reasons.join(", "))
        }),
        (held > 0).then(|| format!("{held} held by the rollout of spec.configuration")),
    ]
}

fn are_waiting(count: usize) -> String {
    if count == 1 {
        "1 is waiting".to_owned()
    } else {
        format!("{count} are waiting")
    }
}

fn do_not_start(count: usize) -> String {
    if count == 1 {
        "1 does not start".to_owned()
    } else {
        format!("{count} do not start")
    }
}

/// How many clusters wait for an approval or were rejected, and of what.
fn approval(asked: &Asked, rejected: bool) -> Option<String> {
    let own = || asked.now().filter(|group| group.rejected == rejected);
    let groups: ShortList = own().map(|group| &group.name).collect();
    let count = own().fold(0, |all: usize, group| all.saturating_add(group.waiting));
    let hash = &asked.hash;
    (count > 0).then(|| {
        if rejected {
            format!(
                "{}: {hash} is rejected for decision group {groups}",
                do_not_start(count)
            )
        } else {
            format!(
                "{} for approval of {hash} for decision group {groups}",
                are_waiting(count)
            )
        }
    })
}

/// Returns the condition for what does not end by itself.
fn stalled(selected: &Selected<'_>, placed: &Placed, undo: &Undo<'_>, done: bool) -> Option<Wish<'static>> {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let (reason, message) = match (selected.known, &placed.blocker, placed.breach) {
        (DecisionState::NoPlacement, _, _) => (
            Reason::PlacementNotFound,
            format!("placement {namespace}/{name} does not exist"),
        ),
        (DecisionState::NoDecision, _, _) => (
            Reason::DecisionNotFound,
            format!("placement {namespace}/{name} has no complete PlacementDecision yet"),
        ),
        (DecisionState::Decided, Some(blocker), _) => (blocker.reason, blocker.message.to_string()),
        (DecisionState::Decided, None, _) if let Some(told) = undo.stalled(placed, done) => told,
        (DecisionState::Decided, None, Some(breach))
            if placed.counts.waiting > 0 || placed.is_unchecked() =>
        {
            (
                Reason::TooManyFailures,
                failures(placed, breach, "; no further cluster is updated"),
            )
        }
        (DecisionState::Decided, None, _) => return None,
    };
    Some(Wish::new(STALLED, Status::True, reason, message))
}

fn paused(view: &View<'_>, selected: &Selected<'_>, placed: &Placed) -> Option<Wish<'static>> {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let pause = view.rollout().pause(namespace, name).unwrap_or_default();
    let clusters = match placed.counts.waiting {
        1 => "1 cluster is waiting".to_owned(),
        waiting => format!("{waiting} clusters are waiting"),
    };
    let message = format!(
        "the rollout of placement {namespace}/{name} is paused{}: {clusters}",
        for_reason(pause)
    );
    placed
        .paused
        .then(|| Wish::new(PAUSED, Status::True, Reason::RolloutPaused, message))
}
