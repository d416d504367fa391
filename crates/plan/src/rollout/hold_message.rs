//! The condition messages of clusters that a rollout does not update.
//!
//! A stored message depends on the strategy and on the cause of the wait, not on the progress of other clusters: the progress of one
//! cluster must not change ten thousand statuses. A message names decision groups, and failed clusters after the rollout has
//! stopped. The names of the clusters in progress are in the status of the add-on, which is one object, and in the plan, which is
//! not stored.

use std::borrow::Cow;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::config::{ConfigFault, Desired};
use crate::short_list::ShortList;
use crate::types::{Turn, TurnSubject};
use ::model::engine::{Course, Hold, Unmet};
use api::ApprovalDecision;
use api::reason::Reason;
use kubernetes::field::quoted;
use model::{Approval, CheckDoubt, CheckVerdict, Rest};
use store::{FreezeRecord, Name};

/// Number of digits of a hash that a message shows.
const SHORT: usize = 8;

/// What a notice requires of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attention {
    /// The user has to act.
    Act,
    /// The wait ends by itself, or when the user resumes a rollout.
    Wait,
    /// The state is intended.
    Meant,
}

/// The clusters and groups that a cluster waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited<'a> {
    /// The field that limits how many clusters update at the same time; `maxConcurrency` without one.
    pub limited_by: Option<&'static str>,
    /// Clusters that are being updated.
    pub moving: Option<&'a ShortList>,
    /// Clusters that must stay successful for some time yet.
    pub soaking: Option<&'a ShortList>,
    /// Clusters that have stopped the rollout, by what they did.
    pub culprits: Option<[(&'a ShortList, &'static str); 2]>,
    /// The reason of a pause, "" if there is none.
    pub pause: &'a str,
    /// The earlier decision groups.
    pub groups: ShortList,
    /// The mandatory decision group that has stopped the rollout.
    pub mandatory: Option<&'a Name>,
    /// The checks that hold the clusters.
    pub unmet: &'a [Unmet],
    /// The checks that count as failed clusters: name and message.
    pub failed_checks: &'a [(Name, Name)],
}

impl Awaited<'_> {
    /// Returns a sentence with the clusters that are in progress.
    fn now(&self, sentence: &str) -> String {
        let now = listed(&[(self.moving, "updating"), (self.soaking, "soaking")]);
        if now.is_empty() {
            return sentence.to_owned();
        }
        format!("{sentence}; in progress: {now}")
    }

    /// Returns the clusters and checks that stopped the rollout, to follow a sentence.
    fn faults(&self) -> String {
        let clusters = self.culprits.map_or_else(String::new, blamed);
        let checks: ShortList = self.failed_checks.iter().map(|(name, _)| name).collect();
        match (checks.is_empty(), clusters.is_empty()) {
            (true, _) => clusters,
            (false, true) => format!("RolloutCheck {checks} (failed)"),
            (false, false) => format!("{clusters}; RolloutCheck {checks} (failed)"),
        }
    }
}

/// Lists clusters by what they do.
pub(super) fn listed(each: &[(Option<&ShortList>, &str)]) -> String {
    let each = each.iter().filter_map(|(few, what)| {
        let few = (*few)?;
        (!few.is_empty()).then(|| format!("{few} ({what})"))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Lists the clusters that have stopped a rollout.
pub(crate) fn blamed(culprits: [(&ShortList, &str); 2]) -> String {
    listed(&culprits.map(|(few, what)| (Some(few), what)))
}

fn followed(sentence: &str, list: &str) -> String {
    if list.is_empty() {
        return sentence.to_owned();
    }
    format!("{sentence}: {list}")
}

/// Why a cluster keeps its current configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Reason of `Configured`.
    pub reason: Reason,
    /// Message of `Configured`.
    pub message: Name,
    /// The same in the plan, which may be more precise: it is not stored.
    pub wait: Name,
    /// What it requires of the user.
    pub attention: Attention,
    /// What it is about.
    pub about: TurnSubject,
}

impl Notice {
    fn new(reason: Reason, attention: Attention, message: String) -> Self {
        let message = Name::from(message);
        Self {
            reason,
            wait: Name::from(&*message),
            message,
            attention,
            about: TurnSubject::AddOn,
        }
    }

    /// Returns it as a wait of the plan, with one of its two sentences.
    pub(crate) fn turn(&self, message: &Name) -> Turn {
        Turn {
            message: message.clone(),
            reason: self.reason,
            about: self.about.clone(),
        }
    }

    /// The same, about the rollout over a placement.
    pub(super) fn over(self, (namespace, name): (&Name, &Name)) -> Self {
        let about = TurnSubject::Placement(namespace.clone(), name.clone());
        Self { about, ..self }
    }

    /// The strategy of `what` is invalid.
    pub(super) fn fault(what: &str, fault: &str) -> Self {
        let message = format!(
            "the rollout strategy of {what} is invalid; the cluster keeps its current configuration: {fault}"
        );
        Self::new(Reason::RolloutStrategyInvalid, Attention::Act, message)
    }

    /// The decision groups of the placement are not known.
    pub(super) fn undecided(what: &str) -> Self {
        let message = format!(
            "{what} has no complete PlacementDecision yet, so the order of its clusters is not known"
        );
        Self::new(Reason::PlacementNotDecided, Attention::Wait, message)
    }

    /// The placement does not exist; the user has to create it.
    pub(super) fn missing(what: &str) -> Self {
        let message = format!(
            "{what} does not exist, so the order of its clusters is not known; the cluster keeps its current configuration"
        );
        Self::new(Reason::PlacementNotFound, Attention::Act, message)
    }

    /// The change is only for the clusters of `what`.
    pub(super) fn outside(what: &str) -> Self {
        let message = format!(
            "changes to spec.configuration are rolled out only to the clusters of {what}; this cluster keeps its current configuration"
        );
        Self::new(Reason::OutsideRollout, Attention::Meant, message)
    }

    /// The change would be for the clusters of `what`, which does not exist: it is rolled out to no cluster.
    pub(super) fn nowhere(what: &str) -> Self {
        let message = format!(
            "{what} does not exist, and changes to spec.configuration are rolled out only to its clusters; this cluster keeps its current \
             configuration"
        );
        Self::new(Reason::PlacementNotFound, Attention::Act, message)
    }

    /// The cluster does not exist.
    pub(super) fn gone() -> Self {
        let message = "the ManagedCluster does not exist or is being deleted".to_owned();
        Self::new(Reason::ClusterNotFound, Attention::Wait, message)
    }

    /// Changes are rolled out in windows, and none is open.
    pub(super) fn window(text: &str, opens: Option<Timestamp>) -> Self {
        let text = cut(text);
        let message = format!("waiting for a window of the rollout ({text})");
        let opens = opens.map_or_else(
            || "no window opens".to_owned(),
            |at| format!("the next window opens at {at}"),
        );
        Self {
            wait: Name::from(format!("{message}; {opens}")),
            ..Self::new(Reason::WaitingForWindow, Attention::Wait, message)
        }
    }

    /// A freeze is in force, or is invalid and stops everything.
    pub(super) fn frozen(record: &FreezeRecord) -> Self {
        let name = quoted(&record.name);
        let (attention, message) = match &record.freeze {
            Ok(freeze) => {
                let end = freeze.until().map_or_else(
                    || "until the RolloutFreeze is deleted".to_owned(),
                    |until| format!("until {until}"),
                );
                let reason = cut(&freeze.reason);
                (
                    Attention::Wait,
                    format!("the RolloutFreeze {name} stops changes {end}: {reason}"),
                )
            }
            Err(fault) => (
                Attention::Act,
                format!(
                    "the RolloutFreeze {name} is invalid, and stops all changes: {}",
                    cut(fault)
                ),
            ),
        };
        Self::new(Reason::RolloutFrozen, attention, message)
    }

    /// It is not known what is set for the rollouts of the add-on.
    pub(super) fn bad_settings(fault: &str) -> Self {
        let message = format!(
            "the settings of the rollout are invalid; the cluster keeps its current configuration: {}",
            cut(fault)
        );
        Self::new(Reason::RolloutSettingsInvalid, Attention::Act, message)
    }

    /// The rollout was undone, and the cluster has the last known good configuration, which is no longer on the hub.
    pub(super) fn back(what: &str) -> Self {
        let message = format!(
            "the cluster keeps the last known good configuration, which is no longer on the hub: the rollout of {what} was undone"
        );
        Self::new(Reason::RolledBack, Attention::Meant, message)
    }

    /// The rollout was undone, and the last known good configuration is no longer on the hub.
    pub(super) fn no_way_back(lost: &Desired) -> Self {
        let message = format!(
            "the rollout was undone, but the cluster keeps its current configuration: {}",
            gone(lost)
        );
        Self {
            about: TurnSubject::Config(lost.config.clone()),
            ..Self::new(Reason::UndoImpossible, Attention::Act, message)
        }
    }

    /// A user has to decide about the change in the RolloutApproval.
    pub(super) fn approval(addon: &str, approval: Approval) -> Self {
        let Approval { place, group, hash } = &approval;
        let name = api::approval_name(addon, place, group);
        let message = format!(
            "{} in the RolloutApproval {name} (content {hash})",
            unapproved(&format!("decision group {group} of placement {place}")),
        );
        Self {
            about: TurnSubject::Approval(approval),
            ..Self::new(Reason::WaitingForApproval, Attention::Wait, message)
        }
    }

    /// A user has rejected the change.
    pub(super) fn rejected(approval: Approval, decision: &ApprovalDecision) -> Self {
        let Approval { place, group, .. } = &approval;
        let message = rejection(decision, group, place);
        Self {
            about: TurnSubject::Approval(approval),
            ..Self::new(Reason::ApprovalRejected, Attention::Act, message)
        }
    }

    /// Other add-ons have to run on the cluster first: which of them do not, and the state of each.
    pub(super) fn prerequisites(names: &[&Name], states: &str) -> Self {
        let first = names.first().map(|name| TurnSubject::Dependency((*name).clone()));
        let names: ShortList = names.iter().copied().collect();
        let head = "waiting for the add-ons that this add-on depends on";
        let message = format!("{head}: {names}");
        Self {
            wait: Name::from(format!("{head}: {}", cut(states))),
            about: first.unwrap_or(TurnSubject::AddOn),
            ..Self::new(Reason::WaitingForDependency, Attention::Wait, message)
        }
    }

    /// An add-on that this one depends on does not exist.
    pub(super) fn no_prerequisite(names: &[&Name]) -> Self {
        let names: ShortList = names.iter().copied().collect();
        let message = format!(
            "the add-on depends on add-ons that do not exist: {names}; the cluster keeps its current configuration; correct spec.dependsOn \
             of the AddOnRollout, or spec.dependencies of the ClusterManagementAddOn"
        );
        Self::new(Reason::DependencyNotFound, Attention::Act, message)
    }

    /// The add-on depends on itself, through other add-ons.
    pub(super) fn circle(way: &[Name]) -> Self {
        let message = format!(
            "the dependencies of the add-ons form a cycle: {}; remove one of them from spec.dependsOn of its AddOnRollout, or \
             from spec.dependencies of its ClusterManagementAddOn",
            cut(&way.join(" -> "))
        );
        Self::new(Reason::DependencyCycle, Attention::Act, message)
    }

    /// The cause for which the rollout engine does not update the clusters of `what`.
    pub(super) fn waiting(what: &str, course: &Course, hold: Hold, awaited: &Awaited<'_>) -> Self {
        let (reason, message) = match hold {
            Hold::Paused => (
                Reason::RolloutPaused,
                format!("the rollout of {what} is paused{}", for_reason(awaited.pause)),
            ),
            Hold::Failures => {
                let sentence = if let Some(group) = awaited.mandatory {
                    format!(
                        "the rollout of {what} has stopped because a cluster of the mandatory decision group {group}, which tolerates no \
                         failure, failed or timed out"
                    )
                } else {
                    let allowed = course
                        .tolerance
                        .map_or_else(String::new, |most| format!(" ({most})"));
                    format!(
                        "the rollout of {what} has stopped because more clusters failed or timed out than maxFailures{allowed} allows"
                    )
                };
                (Reason::TooManyFailures, followed(&sentence, &awaited.faults()))
            }
            Hold::Group => {
                let groups = &awaited.groups;
                let groups = match groups.count() {
                    0 => "the earlier decision groups".to_owned(),
                    1 => format!("the earlier decision group {groups}"),
                    _ => format!("the earlier decision groups {groups}"),
                };
                (
                    Reason::WaitingForGroup,
                    format!("waiting for {groups} of {what}{}", soaking(course)),
                )
            }
            Hold::Approval => (Reason::WaitingForApproval, unapproved(what)),
            Hold::Check => (Reason::WaitingForCheck, unchecked(what, awaited.unmet, false)),
            Hold::Slot | Hold::Soak | Hold::Elsewhere => {
                (Reason::WaitingForSlot, slot(what, course, awaited.limited_by))
            }
        };
        let wait = match hold {
            Hold::Paused | Hold::Failures | Hold::Approval => message.clone(),
            Hold::Group | Hold::Slot | Hold::Elsewhere => awaited.now(&message),
            Hold::Check => unchecked(what, awaited.unmet, true),
            Hold::Soak => {
                let sentence = format!(
                    "waiting for a free slot in the rollout of {what}: a cluster that has succeeded keeps its slot for minSuccessTime ({})",
                    length(course.soak)
                );
                awaited.now(&sentence)
            }
        };
        Self {
            wait: Name::from(wait),
            ..Self::new(reason, Attention::Wait, message)
        }
    }
}

/// Returns which content clusters cannot be rolled back to, and what the user can do.
pub(crate) fn gone(lost: &Desired) -> String {
    let hash = lost.hash.get(..SHORT).unwrap_or(&lost.hash);
    let what = lost.config.told();
    let copy = lost.copy.as_deref().filter(|copy| !copy.is_empty());
    let copy = copy.map_or_else(String::new, |copy| format!(" ({copy})"));
    match lost.fault {
        Some(ConfigFault::Superseded) => format!(
            "{what} was edited in place, and its last known good content (hash {hash}) is no longer on the hub{copy}; apply that \
             content again"
        ),
        fault => {
            let unusable = format!(
                "{what} with its last known good content (hash {hash}) cannot be used, because it {}",
                lost.fault_text().unwrap_or_default()
            );
            match fault {
                Some(ConfigFault::Absent(_)) => format!("{unusable}{copy}; create it again"),
                _ => unusable,
            }
        }
    }
}

/// Shortens the text of an annotation, which may be longer than a message.
fn cut(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kubernetes::field::shortened(text, LONGEST))
}

/// Returns the reason of a pause in brackets, to follow a sentence; nothing if no reason is given.
pub fn for_reason(pause: &str) -> String {
    if pause.is_empty() {
        return String::new();
    }
    format!(" ({})", cut(pause))
}

/// Returns who has rejected a change, and why.
pub(crate) fn rejection(decision: &ApprovalDecision, group: &str, place: &str) -> String {
    format!(
        "{} has rejected the change for decision group {group} of placement {place}{}",
        cut(&decision.by),
        for_reason(&decision.reason)
    )
}

fn unapproved(what: &str) -> String {
    format!("waiting for approval of {what}")
}

fn unchecked(what: &str, checks: &[Unmet], in_full: bool) -> String {
    format!(
        "waiting for a RolloutCheck in the rollout of {what}: {}",
        unmet(checks, in_full)
    )
}

/// Names the checks that have not passed; `in_full` with what they report, which changes often.
pub(crate) fn unmet(checks: &[Unmet], in_full: bool) -> String {
    let each = checks.iter().map(|(name, verdict)| {
        let (says, message) = match verdict {
            CheckVerdict::Passed => ("has passed".to_owned(), None),
            CheckVerdict::Failed(message) => ("has failed".to_owned(), Some(message)),
            CheckVerdict::Unknown(doubt @ (CheckDoubt::Invalid(message) | CheckDoubt::Reported(message))) => {
                (doubt.to_string(), Some(message))
            }
            CheckVerdict::Unknown(doubt) => (doubt.to_string(), None),
        };
        let message = message.filter(|message| in_full && !message.is_empty());
        let message = message.map_or_else(String::new, |message| format!(" ({message})"));
        format!("{} {says}{message}", quoted(name))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Names the checks that have failed, with their messages.
pub(crate) fn failed(checks: &[(Name, Name)]) -> Vec<String> {
    let each = checks.iter().map(|(name, message)| {
        let message = if message.is_empty() {
            String::new()
        } else {
            format!(" ({message})")
        };
        format!("the RolloutCheck {} failed{message}", quoted(name))
    });
    each.collect()
}

fn slot(what: &str, course: &Course, limited_by: Option<&str>) -> String {
    let limited = match course.rest {
        Rest::Within(limit) => format!("{} is {limit}", limited_by.unwrap_or("maxConcurrency")),
        Rest::GroupByGroup => "its decision group has not started".to_owned(),
    };
    format!(
        "waiting for a free slot in the rollout of {what}: {limited}{}",
        soaking(course)
    )
}

fn soaking(course: &Course) -> String {
    if course.soak.is_zero() {
        return String::new();
    }
    format!("; minSuccessTime is {}", length(course.soak))
}

fn length(length: Duration) -> String {
    SignedDuration::try_from(length).map_or_else(|_| "ever".to_owned(), |length| format!("{length:#}"))
}
