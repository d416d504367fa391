//! The notices of an add-on: which message each instance gets that the rollout does not update. Each message is built once and shared.
//! `hold_message.rs` has the texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::candidate::{Candidate, OwnEdits};
use super::hold_message::{Awaited, Notice};
use super::rolling::Rolling;
use super::units::{Feed, Placed, Refusal};
use ::model::engine::{Course, Hold, Verdict};

/// The notices of an add-on.
pub(super) struct Notices<'a> {
    feeds: &'a [Feed<'a>],
    placed: &'a [Placed],
    rolling: Option<(&'a Rolling<'a>, &'a Refusal)>,
    /// The reason of a pause of the whole add-on.
    pause: &'a str,
    made: BTreeMap<(Option<usize>, Kind), Arc<Notice>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Outside,
    /// It is back, and what it went back to is no longer on the hub.
    Back,
    Gone,
    Shut,
    /// With the decision group, where that matters.
    Waiting(Hold, Option<usize>),
    Rolling(Hold),
}

impl<'a> Notices<'a> {
    pub(super) fn new(
        feeds: &'a [Feed<'a>],
        placed: &'a [Placed],
        rolling: Option<(&'a Rolling<'a>, &'a Refusal)>,
        pause: &'a str,
    ) -> Self {
        Self {
            feeds,
            placed,
            rolling,
            pause,
            made: BTreeMap::new(),
        }
    }

    /// Returns what the instance says, if it keeps its current configuration.
    pub(super) fn of(&mut self, at: usize, candidate: &Candidate<'_>) -> Option<Arc<Notice>> {
        if let (Verdict::Wait(Hold::Elsewhere), Some(blocked)) = (candidate.verdict, &candidate.blocked) {
            return Some(Arc::clone(blocked));
        }
        if let (Verdict::Wait(Hold::Approval), Some(unapproved)) = (candidate.verdict, &candidate.unapproved)
        {
            return Some(Arc::clone(unapproved));
        }
        let feeds = self.feeds;
        let claims = || {
            feeds
                .iter()
                .find(|feed| candidate.home.is_none() && feed.may_claim())
        };
        let feed = candidate.home.and_then(|home| feeds.get(home)).or_else(claims);
        let kind = self.kind(at, candidate, feed)?;
        let key = (candidate.home, kind);
        if let Some(made) = self.made.get(&key) {
            return Some(Arc::clone(made));
        }
        let place = match kind {
            Kind::Rolling(_) | Kind::Outside => self
                .rolling
                .and_then(|(rolling, _)| rolling.place.as_ref())
                .map(|(namespace, name)| (namespace, name)),
            Kind::Back | Kind::Shut | Kind::Waiting(..) => {
                feed.map(|feed| (&feed.by().namespace, &feed.by().name))
            }
            Kind::Gone => None,
        };
        let made = self.make(kind, candidate, feed);
        let made = Arc::new(match place {
            Some(place) => made.over(place),
            None => made,
        });
        self.made.insert(key, Arc::clone(&made));
        Some(made)
    }

    fn kind(&self, at: usize, candidate: &Candidate<'_>, feed: Option<&Feed<'_>>) -> Option<Kind> {
        let refused = self.rolling.and_then(|(_, refusal)| refusal.waiting.get(&at));
        Some(match (candidate.verdict, refused) {
            (Verdict::Wait(_), Some(hold)) => Kind::Rolling(*hold),
            (Verdict::Wait(Hold::Paused), None) if feed.is_some_and(|feed| !feed.paused) => Kind::Shut,
            (Verdict::Wait(hold), None) => {
                let group = candidate.group().filter(|_| hold == Hold::Group);
                Kind::Waiting(hold, group)
            }
            _ if candidate.kept.is_some() => Kind::Outside,
            _ if candidate.own == OwnEdits::MoveAlone => return None,
            _ if candidate.settled && candidate.effective.undone && candidate.effective.lost().is_some() => {
                Kind::Back
            }
            (Verdict::Skipped, _) if !candidate.settled => Kind::Gone,
            _ => return None,
        })
    }

    fn make(&self, kind: Kind, candidate: &Candidate<'_>, feed: Option<&Feed<'_>>) -> Notice {
        let everything = Course::at_once();
        let (what, course) = feed.map_or(("the add-on", &everything), |feed| (&feed.what, &feed.course));
        match (kind, self.rolling) {
            (Kind::Outside, Some((rolling, _))) => rolling.outside.clone(),
            (Kind::Back, _) => Notice::back(what),
            (
                Kind::Rolling(Hold::Paused),
                Some((
                    Rolling {
                        paused: false,
                        unknown: Some(unknown),
                        ..
                    },
                    _,
                )),
            ) => unknown.clone(),
            (Kind::Rolling(hold), Some((rolling, refusal))) => {
                let awaited = Awaited {
                    limited_by: Some("maxConcurrentlyUpdating"),
                    moving: Some(&refusal.moving),
                    pause: rolling.pause,
                    ..Awaited::default()
                };
                Notice::waiting(&rolling.what, &rolling.course, hold, &awaited)
            }
            (Kind::Shut, _) => feed
                .and_then(|feed| feed.shut.clone())
                .unwrap_or_else(|| Notice::undecided(what)),
            (Kind::Waiting(hold, group), _) => {
                let placed = candidate.home.and_then(|home| self.placed.get(home));
                let pause = feed.map_or(self.pause, |feed| feed.pause);
                let nothing = || Awaited {
                    pause,
                    ..Awaited::default()
                };
                let awaited = placed.map_or_else(nothing, |placed| Awaited {
                    limited_by: None,
                    pause,
                    moving: Some(&placed.moving),
                    soaking: Some(&placed.soaking),
                    culprits: Some(placed.culprits()),
                    groups: group.map(|group| placed.before(group)).unwrap_or_default(),
                    mandatory: placed.mandatory.as_ref(),
                    unmet: &placed.unmet,
                    failed_checks: &placed.failed_checks,
                });
                Notice::waiting(what, course, hold, &awaited)
            }
            (Kind::Rolling(hold), None) => Notice::waiting(what, course, hold, &Awaited::default()),
            (Kind::Outside | Kind::Gone, _) => Notice::gone(),
        }
    }
}
