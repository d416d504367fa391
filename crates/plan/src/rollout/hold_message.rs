//! What a cluster says that keeps what it has.
//!
//! Decides the words. What is stored depends on the strategy and on what is waited for, never on how far other clusters are: ten
//! thousand waiting statuses must not change whenever one cluster gets ahead. Groups are named there, and failures once
//! nothing starts any more; the clusters that are waited for stand in the status of the add-on, which is one object,
//! and in what is not stored.

use std::borrow::Cow;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::config::{ConfigFault, Desired};
use crate::short_list::ShortList;
use crate::types::{Turn, TurnSubject};
use ::model::engine::{Course, Hold};
use api::reason::Reason;
use model::{Approval, Rest};
use store::{Name, terms};

/// So much of a hash is shown.
const SHORT: usize = 8;

/// Whom a notice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attention {
    /// A human has to act.
    Act,
    /// It only takes time, or the end of a pause.
    Wait,
    /// It is meant to be so.
    Meant,
}

/// Who is waited for.
#[derive(Debug, Default)]
pub(super) struct Awaited<'a> {
    /// Clusters on the way.
    pub moving: Option<&'a ShortList>,
    /// Clusters that must stay successful for some time yet.
    pub soaking: Option<&'a ShortList>,
    /// Clusters that have stopped the rollout, by what they did.
    pub culprits: Option<[(&'a ShortList, &'static str); 2]>,
    /// The decision groups that go first.
    pub groups: ShortList,
    /// The mandatory decision group that has stopped the rollout.
    pub mandatory: Option<&'a Name>,
}

impl Awaited<'_> {
    /// Returns a sentence with the clusters that are waited for now.
    fn now(&self, sentence: &str) -> String {
        let now = listed(&[(self.moving, "on the way"), (self.soaking, "soaking")]);
        if now.is_empty() {
            return sentence.to_owned();
        }
        format!("{sentence}; now {now}")
    }

    /// Returns the clusters that stopped the rollout, to follow a sentence.
    fn faults(&self) -> String {
        self.culprits.map_or_else(String::new, blamed)
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

/// Why a cluster keeps what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Reason of `Configured`.
    pub reason: Reason,
    /// Message of `Configured`.
    pub message: Name,
    /// The same in the plan, which may be more precise: it is not stored.
    pub wait: Name,
    /// Whom it is for.
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

    /// The strategy of `what` has no meaning.
    pub(super) fn fault(what: &str, fault: &str) -> Self {
        let message =
            format!("the rollout strategy of {what} has no meaning, the cluster keeps what it has: {fault}");
        Self::new(Reason::RolloutStrategyInvalid, Attention::Act, message)
    }

    /// The decision groups of the placement are not known.
    pub(super) fn undecided(what: &str) -> Self {
        let message = format!("{what} is not decided: nobody knows whose turn it is");
        Self::new(Reason::PlacementNotDecided, Attention::Wait, message)
    }

    /// The placement itself is not there: time does not bring it back.
    pub(super) fn missing(what: &str) -> Self {
        let message =
            format!("{what} does not exist: nobody knows whose turn it is, the cluster keeps what it has");
        Self::new(Reason::PlacementNotFound, Attention::Act, message)
    }

    /// The change is only for the clusters of `what`.
    pub(super) fn outside(what: &str) -> Self {
        let message = format!(
            "changes of spec.configuration only reach the clusters of {what}; this one keeps what it has"
        );
        Self::new(Reason::OutsideRollout, Attention::Meant, message)
    }

    /// The change would be for the clusters of `what`, which does not exist: it reaches no cluster.
    pub(super) fn nowhere(what: &str) -> Self {
        let message = format!(
            "{what} does not exist, and changes of spec.configuration only reach its clusters; this one keeps what it has"
        );
        Self::new(Reason::PlacementNotFound, Attention::Act, message)
    }

    /// The cluster is not there.
    pub(super) fn gone() -> Self {
        let message = "the ManagedCluster does not exist or is being deleted".to_owned();
        Self::new(Reason::ClusterNotFound, Attention::Wait, message)
    }

    /// Changes travel in windows, and none is open.
    pub(super) fn window(text: &str, opens: Option<Timestamp>) -> Self {
        let text = cut(text);
        let message = format!(
            "waits for a window of the annotation {}: {text}",
            terms::ROLLOUT_WINDOW
        );
        let opens = opens.map_or_else(|| "never".to_owned(), |at| format!("at {at}"));
        Self {
            wait: Name::from(format!("{message}; it opens {opens}")),
            ..Self::new(Reason::WaitingForWindow, Attention::Wait, message)
        }
    }

    /// The windows have no meaning.
    pub(super) fn bad_window(fault: &str) -> Self {
        let message = format!(
            "the windows of the rollout have no meaning, the cluster keeps what it has: {}",
            cut(fault)
        );
        Self::new(Reason::RolloutWindowInvalid, Attention::Act, message)
    }

    /// The rollout was undone, and the cluster has what was known to be good, which is no longer there.
    pub(super) fn back(what: &str) -> Self {
        let message = format!(
            "keeps what was last known to be good: the rollout of {what} was undone, and that content is no longer on the hub"
        );
        Self::new(Reason::RolledBack, Attention::Meant, message)
    }

    /// The rollout was undone, and what was known to be good is no longer there.
    pub(super) fn no_way_back(lost: &Desired) -> Self {
        let message = format!(
            "the rollout was undone, but the cluster keeps what it has: {}",
            gone(lost)
        );
        Self {
            about: TurnSubject::Config(lost.config.clone()),
            ..Self::new(Reason::UndoImpossible, Attention::Act, message)
        }
    }

    /// A user has to approve of the change, by an entry of the annotation.
    pub(super) fn approval(entry: Approval) -> Self {
        let Approval { place, group, .. } = &entry;
        let message = format!(
            "{}: by the entry {entry} of the annotation {}",
            unapproved(&format!("decision group {group} of placement {place}")),
            terms::APPROVED
        );
        Self {
            about: TurnSubject::Approval(entry),
            ..Self::new(Reason::WaitingForApproval, Attention::Wait, message)
        }
    }

    /// It is not known where changes wait for an approval.
    pub(super) fn bad_approval(fault: &str) -> Self {
        let message = format!(
            "where the rollout waits for an approval has no meaning, the cluster keeps what it has: {}",
            cut(fault)
        );
        Self::new(Reason::RolloutApprovalInvalid, Attention::Act, message)
    }

    /// Other add-ons have to run on the cluster first: which of them do not, and how far each is.
    pub(super) fn prerequisites(names: &[&Name], told: &str) -> Self {
        let first = names.first().map(|name| TurnSubject::Dependency((*name).clone()));
        let names: ShortList = names.iter().copied().collect();
        let head = "waits for add-ons that this one depends on";
        let message = format!("{head}: {names}");
        Self {
            wait: Name::from(format!("{head}: {}", cut(told))),
            about: first.unwrap_or(TurnSubject::AddOn),
            ..Self::new(Reason::WaitingForDependency, Attention::Wait, message)
        }
    }

    /// An add-on that this one depends on does not exist.
    pub(super) fn no_prerequisite(names: &[&Name]) -> Self {
        let names: ShortList = names.iter().copied().collect();
        let message = format!(
            "depends on add-ons that do not exist, the cluster keeps what it has: {names}; correct the annotation {}",
            terms::DEPENDS_ON
        );
        Self::new(Reason::DependencyNotFound, Attention::Act, message)
    }

    /// The add-on depends on itself, by way of others.
    pub(super) fn circle(way: &[Name]) -> Self {
        let message = format!(
            "add-ons depend on each other in a circle, so that none can go first: {}; take one out of an annotation {}",
            cut(&way.join(" -> ")),
            terms::DEPENDS_ON
        );
        Self::new(Reason::DependencyCycle, Attention::Act, message)
    }

    /// What the engine has the clusters of `what` wait for.
    pub(super) fn waiting(what: &str, course: &Course, hold: Hold, awaited: &Awaited<'_>) -> Self {
        let (reason, message) = match hold {
            Hold::Paused => (
                Reason::RolloutPaused,
                format!(
                    "the rollout of {what} is paused by the annotation {}",
                    terms::PAUSED
                ),
            ),
            Hold::Failures => {
                let sentence = match awaited.mandatory {
                    Some(group) => format!(
                        "the rollout of {what} has stopped: the mandatory decision group {group} tolerates no failure"
                    ),
                    None => {
                        format!("the rollout of {what} has stopped: more clusters failed than it tolerates")
                    }
                };
                (Reason::TooManyFailures, followed(&sentence, &awaited.faults()))
            }
            Hold::Group => {
                let groups = &awaited.groups;
                let groups = if groups.is_empty() {
                    String::new()
                } else {
                    format!(" {groups}")
                };
                (
                    Reason::WaitingForGroup,
                    format!(
                        "waits for decision groups{groups} of {what} that go first{}",
                        soaking(course)
                    ),
                )
            }
            Hold::Approval => (Reason::WaitingForApproval, unapproved(what)),
            Hold::Slot | Hold::Soak | Hold::Elsewhere => (Reason::WaitingForSlot, slot(what, course)),
        };
        let wait = match hold {
            Hold::Paused | Hold::Failures | Hold::Approval => message.clone(),
            Hold::Group | Hold::Slot | Hold::Elsewhere => awaited.now(&message),
            Hold::Soak => {
                let sentence = format!(
                    "waits for a slot in the rollout of {what}: clusters that have succeeded keep it for {}",
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

/// Says which content clusters cannot go back to any more, and what would help.
pub(crate) fn gone(lost: &Desired) -> String {
    let hash = lost.hash.get(..SHORT).unwrap_or(&lost.hash);
    let what = lost.config.told();
    let copy = lost.copy.as_deref().unwrap_or_default();
    match lost.fault {
        Some(ConfigFault::Superseded) => format!(
            "{what} was edited in place, and the content that was good (hash {hash}) is not on the hub any more; apply that content again: \
             {copy}"
        ),
        fault => {
            let told = format!(
                "{what} with the content that was good (hash {hash}) cannot be used: it {}",
                lost.why().unwrap_or_default()
            );
            match fault {
                Some(ConfigFault::Absent(_)) => format!("{told}; create it again: {copy}"),
                _ => told,
            }
        }
    }
}

/// Annotations may be long, and messages may not.
fn cut(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kubernetes::field::shortened(text, LONGEST))
}

fn unapproved(what: &str) -> String {
    format!("waits until somebody approves of what {what} is to run")
}

fn slot(what: &str, course: &Course) -> String {
    let limited = match course.rest {
        Rest::Within(_) => "only so many clusters change at once",
        Rest::GroupByGroup => "its group is not open",
    };
    format!(
        "waits for a slot in the rollout of {what}: {limited}{}",
        soaking(course)
    )
}

fn soaking(course: &Course) -> String {
    if course.soak.is_zero() {
        return String::new();
    }
    format!(", and each must stay successful for {}", length(course.soak))
}

fn length(length: Duration) -> String {
    SignedDuration::try_from(length).map_or_else(|_| "ever".to_owned(), |length| format!("{length:#}"))
}
