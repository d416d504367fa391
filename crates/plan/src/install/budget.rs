//! How many instances may be removed now, and whether the absence of a cluster is confirmed.
//!
//! Decides what is held: a strategy, a scheduler or a list that is wrong about a whole fleet takes a few instances with it and
//! tells. Never decides who goes (`fate`), and never holds what goes with its cluster or what a user deletes.

use std::cell::OnceCell;

use jiff::{SignedDuration, Timestamp};

use crate::types::{Wait, WaitOn, earliest};
use store::{Absences, InstallStrategy, Instance, Pace, PlacementUse, Site, View};

/// How long the absence of a cluster must last that was not seen to go.
const UNSEEN: SignedDuration = SignedDuration::from_mins(10);
/// When what is held is looked at again although nothing happened.
const AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// What is held, for the conditions of the add-on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Holding {
    /// Removals for which there is no budget.
    pub over: Option<Over>,
    /// Removals that rest on absences that are not believed.
    pub doubted: Option<(usize, Absences)>,
    /// Removals whose reasons cannot be read again. They are planned, so that the reasons are tried again, and
    /// never carried out before.
    pub unread: usize,
    /// Instances that may be selected by a placement that does not exist or is not decided.
    pub open: usize,
}

/// Removals for which there is no budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Over {
    /// How many.
    pub held: usize,
    /// How many a minute has.
    pub limit: usize,
    /// When there are more.
    pub more_at: Timestamp,
}

impl Holding {
    /// Returns how many instances stay that nothing selects.
    pub(crate) fn all(&self) -> usize {
        let over = self.over.map_or(0, |over| over.held);
        let doubted = self.doubted.map_or(0, |(held, _)| held);
        [over, doubted, self.unread, self.open].iter().sum()
    }
}

/// What holds one removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing but the usual time of grace.
    Enough,
    /// This time must pass as well.
    Lasting(SignedDuration),
    /// The deletion of the cluster is not confirmed: too many clusters are absent.
    None(Absences),
}

/// Hands out removals.
#[derive(Debug)]
pub(super) struct Budget<'v> {
    view: &'v View<'v>,
    now: Timestamp,
    pace: OnceCell<Pace>,
    absences: OnceCell<Absences>,
    taken: usize,
    pub(super) holding: Holding,
    pub(super) waits: Vec<Wait>,
    pub(super) recheck_at: Option<Timestamp>,
}

impl<'v> Budget<'v> {
    pub(super) fn new(view: &'v View<'v>, now: Timestamp) -> Self {
        Self {
            view,
            now,
            pace: OnceCell::new(),
            absences: OnceCell::new(),
            taken: 0,
            holding: Holding::default(),
            waits: Vec::new(),
            recheck_at: None,
        }
    }

    /// Returns whether an instance may be removed now; what may not is held, and told.
    pub(super) fn lets_go(&mut self, site: &Site<'_>) -> bool {
        if !self.is_within_limit(site) {
            return false;
        }
        if let Some((object, why)) = self.view.unread_reason(Some(&site.instance.cluster)) {
            self.holding.unread = self.holding.unread.saturating_add(1);
            let on = WaitOn::Reason(object.clone(), why.clone());
            self.waits.push(Wait::cluster(&site.instance.cluster, on));
        }
        true
    }

    fn is_within_limit(&mut self, site: &Site<'_>) -> bool {
        if site.cluster.is_some_and(|cluster| cluster.meta.deleting) {
            return true;
        }
        match *self.pace.get_or_init(|| self.view.pace(self.now)) {
            Pace::Free => true,
            Pace::Left { now, .. } if self.taken < now => {
                self.taken = self.taken.saturating_add(1);
                true
            }
            Pace::Left { limit, more_at, .. } => {
                let held = self.holding.over.map_or(0, |over| over.held).saturating_add(1);
                self.holding.over = Some(Over { held, limit, more_at });
                self.hold(site.instance, WaitOn::RemovalBudget(limit, more_at), more_at);
                false
            }
        }
    }

    /// Holds an instance that may be selected by a placement that does not exist or is not decided.
    pub(super) fn leave_open(&mut self, instance: &Instance, by: &PlacementUse) {
        self.holding.open = self.holding.open.saturating_add(1);
        let on = WaitOn::MaySelect(by.namespace.clone(), by.name.clone());
        self.waits.push(Wait::cluster(&instance.cluster, on));
    }

    /// Returns what the removal of an instance waits for that nothing selects any more. Labels select a cluster only while it
    /// is there; a scheduler says by itself that a cluster is not selected.
    pub(super) fn proof(&self, site: &Site<'_>) -> Proof {
        let rests_on_absence = match self.view.addon.strategy {
            InstallStrategy::Labels(_) => site.cluster.is_none(),
            InstallStrategy::Placements
            | InstallStrategy::Manual
            | InstallStrategy::BadLabels(_)
            | InstallStrategy::Other(_) => false,
        };
        let is_known =
            || self.view.is_seen_gone(&site.instance.cluster) || self.view.lets_removals_go(self.now);
        if !rests_on_absence || is_known() {
            return Proof::Enough;
        }
        let absences = *self.absences.get_or_init(|| self.view.absences());
        if absences.are_doubtful() {
            return Proof::None(absences);
        }
        Proof::Lasting(UNSEEN)
    }

    /// Holds an instance whose cluster is not believed to be gone.
    pub(super) fn doubt(&mut self, instance: &Instance, absences: Absences) {
        let (held, _) = self.holding.doubted.unwrap_or((0, absences));
        self.holding.doubted = Some((held.saturating_add(1), absences));
        let again = self.now.checked_add(AGAIN).unwrap_or(Timestamp::MAX);
        self.hold(instance, WaitOn::Absences(absences.absent, absences.all), again);
    }

    fn hold(&mut self, instance: &Instance, on: WaitOn, again: Timestamp) {
        self.waits.push(Wait::cluster(&instance.cluster, on));
        self.recheck_at = earliest(self.recheck_at, Some(again));
    }
}
