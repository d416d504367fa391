//! Which clusters wait until a change is approved (`spec.approvalBefore` of the AddOnRollout), placement by placement.
//!
//! Decides which content is asked about, for which decision groups, and who is concerned. A change waits always; a
//! first installation where the rest of its group does not run the present content already. Never decides whose
//! turn it is: the engine does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::candidate::Candidate;
use super::groups::Groups;
use super::hold_message::{Attention, Notice};
use crate::config::{Desired, Effective};
use ::model::engine::{DoneUnits, Group, Hold, Unit, Verdict};
use api::ApprovalDecision;
use api::hash::{ConfigKey, content_hash};
use model::{Approval, ResolvedSettings};
use store::{ApprovalRecord, Instance, Layering, Name, PlacementUse, View};

/// What is asked about a change over one placement.
pub(super) struct Approvals<'v> {
    settings: ResolvedSettings<'v>,
    view: View<'v>,
    by: &'v PlacementUse,
    hash: Name,
}

/// What has to be approved for a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Hash of the content that its clusters are to run with: approvals are given to it.
    pub hash: Name,
    /// The decision groups before which changes wait, in their order.
    pub groups: Vec<AskedGroup>,
}

/// A decision group before which changes wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedGroup {
    /// Its position among the groups of the placement.
    pub position: usize,
    /// What it is called, also in an approval.
    pub name: Name,
    /// Whether the present content is approved for it.
    pub approved: bool,
    /// Whether the present content is rejected for it.
    pub rejected: bool,
    /// How many of its clusters wait for that and for nothing else.
    pub waiting: usize,
    /// How many will once it is their turn.
    pub later: usize,
}

impl Asked {
    /// Returns the groups that need an approval now.
    pub fn now(&self) -> impl Iterator<Item = &AskedGroup> {
        self.groups.iter().filter(|group| group.waiting > 0)
    }

    /// Returns how many clusters wait for an approval now.
    pub fn waiting(&self) -> usize {
        self.now().fold(0, |all, group| all.saturating_add(group.waiting))
    }
}

/// What the clusters of a group run with, as far as they have anything.
#[derive(Debug, Clone, Copy, Default)]
struct Present {
    some: bool,
    others: bool,
}

impl<'v> Approvals<'v> {
    /// Returns what is asked about the changes over a placement, if anything is.
    pub(super) fn of(view: &View<'v>, by: &'v PlacementUse, inherited: Option<&Effective>) -> Option<Self> {
        let settings = view.rollout();
        if settings.approval_before(&by.namespace, &by.name).is_empty() {
            return None;
        }
        let nothing = || Name::from(content_hash(&[]));
        Some(Self {
            settings,
            view: *view,
            by,
            hash: inherited.map_or_else(nothing, content_of),
        })
    }

    /// Returns what a cluster of a decision group says while it waits.
    fn notice(&self, group: &Group<'_>) -> Notice {
        let (namespace, name) = (&self.by.namespace, &self.by.name);
        let approval = Approval {
            place: format!("{namespace}/{name}"),
            group: group.told().to_string(),
            hash: self.hash.to_string(),
        };
        match self.rejection(group) {
            Some(decision) => Notice::rejected(approval, decision),
            None => Notice::approval(&self.view.addon.name, approval),
        }
    }

    fn rejection(&self, group: &Group<'_>) -> Option<&'v ApprovalDecision> {
        self.record(group)?.rejects(&self.hash)
    }

    fn record(&self, group: &Group<'_>) -> Option<&'v ApprovalRecord> {
        let place = format!("{}/{}", self.by.namespace, self.by.name);
        self.view.approval(&place, &group.told())
    }

    fn asks(&self, group: &Group<'_>) -> bool {
        let place = (&*self.by.namespace, &*self.by.name);
        self.settings.needs_approval(place, (group.index, group.name))
    }

    fn holds(&self, group: &Group<'_>) -> bool {
        let is_approved = self
            .record(group)
            .is_some_and(|record| record.approves(&self.hash));
        self.asks(group) && !is_approved
    }

    /// Notes the candidates that have to wait; `done` are the clusters at which the plan does not look because
    /// nothing happens there, by group.
    pub(super) fn mark(
        &self,
        candidates: &mut [Candidate<'_>],
        home: usize,
        groups: &Groups<'_>,
        done: &BTreeMap<usize, DoneUnits>,
    ) {
        let held: Vec<Option<Arc<Notice>>> = groups
            .list
            .iter()
            .map(|group| self.holds(group).then(|| Arc::new(self.notice(group))))
            .collect();
        if held.iter().all(Option::is_none) {
            return;
        }
        let is_own = |one: &Candidate<'_>| one.home == Some(home) && one.is_there();
        let mut present: BTreeMap<usize, Present> = BTreeMap::new();
        for (group, units) in done {
            present.entry(*group).or_default().some |= units.count > 0;
        }
        for candidate in candidates
            .iter()
            .filter(|one| is_own(one) && has_anything(one.instance))
        {
            let group = present
                .entry(groups.of_cluster(&candidate.instance.cluster))
                .or_default();
            let has_present = candidate.settled && candidate.kept.is_none();
            group.some |= has_present;
            group.others |= !has_present;
        }
        for candidate in candidates
            .iter_mut()
            .filter(|one| is_own(one) && one.waits_for_turn())
        {
            let group = groups.of_cluster(&candidate.instance.cluster);
            let runs = present
                .get(&group)
                .is_some_and(|group| group.some && !group.others);
            if runs && !has_anything(candidate.instance) {
                continue;
            }
            candidate.unapproved = held.get(group).cloned().flatten();
            if candidate.unapproved.is_some() {
                // It needs the approval in any case: a user who learns of it only when a window opens would lose that window.
                candidate
                    .blocked
                    .take_if(|blocked| blocked.attention != Attention::Act);
            }
        }
    }

    /// Returns what has to be approved, once every unit has a verdict.
    pub(super) fn asked(&self, groups: &Groups<'_>, units: &[Unit], verdicts: &[Verdict]) -> Asked {
        // Who waits now and who will, by group.
        let mut waiting: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (unit, verdict) in units.iter().zip(verdicts).filter(|(unit, _)| !unit.approved) {
            let (now, later) = waiting.entry(unit.group).or_default();
            match verdict {
                Verdict::Wait(Hold::Approval) => *now = now.saturating_add(1),
                Verdict::Wait(_) => *later = later.saturating_add(1),
                Verdict::Start
                | Verdict::Going
                | Verdict::Soaking
                | Verdict::Failed
                | Verdict::TimedOut
                | Verdict::Done
                | Verdict::Skipped
                | Verdict::Held => {}
            }
        }
        let of = |position: usize| waiting.get(&position).copied().unwrap_or_default();
        let each = groups
            .list
            .iter()
            .enumerate()
            .filter(|(_, group)| self.asks(group));
        let asked = each.map(|(position, group)| AskedGroup {
            position,
            name: group.told(),
            approved: !self.holds(group),
            rejected: self.rejection(group).is_some(),
            waiting: of(position).0,
            later: of(position).1,
        });
        Asked {
            hash: self.hash.clone(),
            groups: asked.collect(),
        }
    }
}

/// Whether an instance has ever been given something.
pub(super) fn has_anything(instance: &Instance) -> bool {
    let mut references = instance.references.iter();
    references.any(|one| one.applied.is_some() || !one.desired.is_empty())
}

/// Returns the hash of the content that clusters are to run with, as approvals, checks and notifications have it.
pub(crate) fn content_of(inherited: &Effective) -> Name {
    let key = |desired: &Desired| ConfigKey {
        resource: desired.config.of.resource.to_string(),
        group: desired.config.of.group.to_string(),
        namespace: desired.config.namespace.to_string(),
        name: desired.config.name.to_string(),
    };
    let each = inherited.refs.iter();
    let mut all: Vec<(ConfigKey, String)> = each
        .map(|desired| (key(desired), desired.hash.to_string()))
        .collect();
    // The same objects are another content where all layers of them count.
    if inherited.layering == Layering::Merge {
        all.push((ConfigKey::default(), "merged".to_owned()));
    }
    Name::from(content_hash(&all))
}
