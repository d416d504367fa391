//! Whether the rollout over a placement is undone, and the conditions that report it.
//!
//! A rollout that has stopped is undone if the add-on requests that, and if the whole last known good content is still on the hub.
//! The decision is recorded in conditions of the placement before any cluster is changed; plans use the record (`config::way_back`).
//! Specs are never changed.

use jiff::Timestamp;

use super::hold_message::{blamed, failed, gone};
use super::units::Placed;
use crate::conditions::Wish;
use crate::config::{Desired, Effective, WayBack, is_governed};
use crate::install::{DecisionState, Selected};
use ::model::engine::Breach;
use api::reason::Reason;
use model::OnFailure;
use store::{PinnedConfig, PinnedContent, Status, Undone, View, terms};

/// The reasons of `Stalled` that an undo sets, the most important first.
pub(crate) const REASONS: [Reason; 3] = [Reason::UndoImpossible, Reason::RollingBack, Reason::RolledBack];
/// How many configurations a message names, and how many digits of each hash.
const NAMED: usize = 3;
const SHORT: usize = 8;

const NEVER: &str = "no last known good configuration is recorded: the controllers record it when all clusters of the placement run well \
                     and its checks have passed, while spec.onFailure of the AddOnRollout is Undo";
const SAME: &str = "the configuration that failed is the last known good configuration";
const GOVERNED: &str =
    "spec.configuration.rolloutStrategy controls the rollout, and it does not count failures";
const LONG: &str = "there are more configurations than a condition can list";
const AHEAD: &str =
    "the time in spec.retriedAt of the AddOnRollout is in the future; no rollout is undone before that time";

/// Whether the rollout over one placement is undone.
#[derive(Debug)]
pub(crate) enum Undo<'a> {
    /// Nothing is undone.
    Nothing,
    /// It was undone, and the specs still have the configuration that failed.
    Stands(&'a Undone, &'a Effective),
    /// It is undone with the next plan: the note.
    Begins(String),
    /// It would be undone, and cannot be: why, and when time alone may change that.
    Impossible(String, Option<Timestamp>),
}

impl<'a> Undo<'a> {
    /// Returns whether the rollout over a placement is undone.
    pub(crate) fn of(
        view: &View<'_>,
        selected: &Selected<'_>,
        inherited: &Effective,
        way: Option<&'a WayBack>,
        placed: &Placed,
        now: Timestamp,
    ) -> Self {
        if let Some((undone, way)) = way.and_then(|way| Some((way.undone.as_ref()?, way))) {
            return Self::Stands(undone, &way.good);
        }
        let by = selected.by;
        let asked = view.rollout().on_failure(&by.namespace, &by.name) == OnFailure::Undo;
        let goes_on = selected.known != DecisionState::Decided || placed.paused || placed.blocker.is_some();
        let Some(breach) = placed
            .breach
            .filter(|_| asked && !goes_on && !view.settings().is_ocm())
        else {
            return Self::Nothing;
        };
        // Content that cannot be used is reported elsewhere, and no cluster runs it.
        let Some(failed) = inherited.pinned() else {
            return Self::Nothing;
        };
        let never = |why: &str| Self::Impossible(why.to_owned(), None);
        if is_governed(view.addon, by) {
            return never(GOVERNED);
        }
        let Some(way) = way else {
            return never(NEVER);
        };
        if way.good.is_same(&failed) {
            return never(SAME);
        }
        if let Some(lost) = way.good.lost() {
            return never(&gone(lost));
        }
        let retried = view.rollout().retried_at(&by.namespace, &by.name);
        if let Some(at) = retried.filter(|at| *at > now) {
            return Self::Impossible(AHEAD.to_owned(), Some(at));
        }
        let list = failed.list();
        list.map_or_else(
            || never(LONG),
            |list| Self::Begins(Undone::text(&list, &failures(placed, breach, ""))),
        )
    }

    /// Returns whether the clusters are being, or were, rolled back.
    pub(crate) fn stands(&self) -> bool {
        matches!(self, Self::Stands(..))
    }

    /// Returns when time alone may change it.
    pub(crate) fn recheck_at(&self) -> Option<Timestamp> {
        match self {
            Self::Impossible(_, at) => *at,
            Self::Nothing | Self::Stands(..) | Self::Begins(_) => None,
        }
    }

    /// Returns the condition that remembers it.
    pub(crate) fn note(&self, now: Timestamp) -> Option<Wish<'static>> {
        let wish = |text: String| Wish::new(terms::UNDONE, Status::True, Reason::TooManyFailures, text);
        match self {
            Self::Stands(undone, _) => {
                let list = undone.failed.list()?;
                Some(wish(Undone::text(&list, &undone.why)))
            }
            // Another content may have been undone before: the time is that of this one.
            Self::Begins(text) => Some(wish(text.clone()).since(now)),
            Self::Nothing | Self::Impossible(..) => None,
        }
    }

    /// Returns the reason and the message of `Stalled`.
    pub(crate) fn stalled(&self, placed: &Placed, is_back: bool) -> Option<(Reason, String)> {
        match self {
            Self::Stands(_, good) if let Some(lost) = good.lost().filter(|_| !is_back) => Some((
                Reason::UndoImpossible,
                format!(
                    "an undo was requested, but clusters cannot be rolled back: {}",
                    gone(lost)
                ),
            )),
            Self::Stands(undone, good) => Some((
                if is_back {
                    Reason::RolledBack
                } else {
                    Reason::RollingBack
                },
                told(undone, good, is_back),
            )),
            Self::Impossible(why, _) => {
                let failures = placed.breach.map(|breach| failures(placed, breach, ""))?;
                Some((
                    Reason::UndoImpossible,
                    format!(
                        "{failures}. No further cluster is updated, and the rollout cannot be undone: {why}"
                    ),
                ))
            }
            Self::Nothing | Self::Begins(_) => None,
        }
    }
}

/// Returns how many clusters failed, and which checks, how many failures are allowed, what follows from that, and the names of the
/// clusters.
pub(crate) fn failures(placed: &Placed, breach: Breach, then: &str) -> String {
    let Breach {
        failures, tolerated, ..
    } = breach;
    let failures = failures.saturating_sub(placed.failed_checks.len());
    let clusters = if failures == 1 { "cluster" } else { "clusters" };
    let clusters = (failures > 0).then(|| format!("{failures} {clusters} failed or timed out"));
    let names = clusters.as_ref().map_or_else(String::new, |_| {
        format!(". Clusters: {}", blamed(placed.culprits()))
    });
    let what: Vec<String> = clusters
        .into_iter()
        .chain(failed(&placed.failed_checks))
        .collect();
    let what = what.join(", and ");
    match &placed.mandatory {
        Some(group) => format!(
            "{what} in the mandatory decision group {group}, which tolerates no failures{then}{names}"
        ),
        None => format!("{what}, and maxFailures allows {tolerated}{then}{names}"),
    }
}

/// Returns what was undone, and how the user ends that.
fn told(undone: &Undone, good: &Effective, is_back: bool) -> String {
    let done = if is_back { "were" } else { "are being" };
    let is_new = |one: &&PinnedConfig| !good.is_pinned(one);
    let news: Vec<&PinnedConfig> = undone.failed.configs.iter().filter(is_new).collect();
    let each = news.iter().take(NAMED).map(|one| {
        let hash = one.hash.get(..SHORT).unwrap_or(&one.hash);
        format!("{} {hash}", one.config.told())
    });
    let mut what = each.collect::<Vec<_>>().join(", ");
    if what.is_empty() {
        what.push_str("the requested configuration");
    }
    if news.len() > NAMED {
        what.push_str(", …");
    }
    // Without a fault there is a copy that is used; with one the text says why there is none.
    let used = good.refs.iter().filter(|one| one.fault.is_none());
    let copies = used.filter_map(|one| one.copy.as_deref());
    let copies = copies.take(NAMED).collect::<Vec<_>>().join(", ");
    let kept = if copies.is_empty() {
        String::new()
    } else {
        format!(", kept in {copies}")
    };
    format!(
        "the clusters {done} rolled back to the last known good configuration{kept}, because too many clusters failed with {what}: {}. A change \
         to the configuration starts a new rollout, and `tidegate rollout retry` retries this configuration",
        undone.why
    )
}

impl Effective {
    fn is_pinned(&self, pinned: &PinnedConfig) -> bool {
        let mut refs = self.refs.iter();
        refs.any(|one| one.config == pinned.config && one.hash == pinned.hash)
    }

    fn is_same(&self, pinned: &PinnedContent) -> bool {
        // Of several objects of a type the first has the word: their order counts.
        let is_it =
            |(one, other): (&Desired, &PinnedConfig)| one.config == other.config && one.hash == other.hash;
        self.layering == pinned.layering
            && self.refs.len() == pinned.configs.len()
            && self.refs.iter().zip(&pinned.configs).all(is_it)
    }
}

/// Returns the condition that remembers the whole content that is known to be good.
pub(crate) fn known_good(content: Option<PinnedContent>) -> Option<Wish<'static>> {
    let list = content?.list()?;
    Some(Wish::new(
        terms::KNOWN_GOOD,
        Status::True,
        Reason::EveryClusterRunsWell,
        list,
    ))
}

/// Returns the condition that records since when the change is being rolled out.
pub(crate) fn change_started(placed: &Placed) -> Option<Wish<'static>> {
    let (content, started) = placed.started.as_ref()?;
    let wish = Wish::new(
        terms::CHANGE_STARTED,
        Status::True,
        Reason::Progressing,
        content.to_string(),
    );
    Some(wish.since(*started))
}
