//! The engine's units, placement by placement.
//!
//! Decides which instance is a unit of which course, and in which decision group. A cluster takes part where its
//! configuration comes from, the last placement that selects it, and only while there is an instance that can move:
//! a cluster that cannot move takes no slot and keeps no group open.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::approvals::{Approvals, Asked, has_anything};
use super::candidate::Candidate;
use super::checks::{Checked, is_under_way};
use super::direction::Direction;
use super::groups::Groups;
use super::hold_message::{Notice, listed};
use super::rolling::{Blocker, Rolling};
use crate::config::Effective;
use crate::install::{DecisionState, Missing, Selected};
use crate::settled::Others;
use crate::short_list::ShortList;
use crate::upgrade::by_label;
use ::model::engine::course;
use ::model::engine::{
    Breach, Counts, Course, DoneUnits, Group, Hold, StageCounts, Unit, UnitState, Unmet, Verdict, decide,
    decide_beside,
};
use model::Rest;
use store::{Instance, Name, PlacementUse, View, order};

/// The rollout over one placement.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// Its clusters, counted.
    pub counts: Counts,
    /// How many clusters it configures.
    pub configured: usize,
    /// Too many failures, when there are too many.
    pub breach: Option<Breach>,
    /// How many of its clusters wait for something outside of the rollout, such as another add-on, a freeze or a window.
    pub blocked: usize,
    /// The reasons of these waits.
    pub blocked_by: BTreeSet<&'static str>,
    /// Whether it is paused.
    pub paused: bool,
    /// The mandatory decision group with those failures, if it is one.
    pub mandatory: Option<Name>,
    /// Its clusters that failed or took too long.
    blamed: [ShortList; 2],
    /// What has to be approved, where changes wait for that.
    pub asked: Option<Asked>,
    /// The hash of the content that waits for checks, and when the first cluster started to update to it; absent without checks.
    pub started: Option<(Name, Timestamp)>,
    /// The checks that hold its clusters.
    pub unmet: Vec<Unmet>,
    /// The checks that count as failed clusters: name and message.
    pub failed_checks: Vec<(Name, Name)>,
    /// Whether every check has passed since the last cluster was updated.
    pub is_checked: bool,
    /// How many of its clusters wait for checks.
    pub unchecked: usize,
    /// Why changes cannot be rolled out, whichever clusters wait.
    pub blocker: Option<Blocker>,
    /// The clusters that failed.
    pub failed: ShortList,
    /// The clusters that took too long.
    pub late: ShortList,
    /// The clusters in progress.
    pub moving: ShortList,
    /// The clusters that must stay successful for some time yet.
    pub soaking: ShortList,
    /// The decision groups of those that are updating or soaking, where others wait for groups.
    open: ShortList,
    /// For each decision group those that go before it.
    before: Vec<ShortList>,
    /// The stages in which its clusters go, counted.
    pub stages: Vec<StageCounts>,
    /// Its decision groups as far as they tell turns: index, name, and the stage in which each goes.
    pub groups: Vec<(u32, Name, usize)>,
    /// How changes are rolled out over it.
    pub course: Option<Course>,
}

impl Placed {
    /// Returns the clusters that are waited for, by what they do.
    pub(crate) fn awaited(&self) -> String {
        let mut now = listed(&[(Some(&self.moving), "updating"), (Some(&self.soaking), "soaking")]);
        if !now.is_empty() && !self.open.is_empty() {
            now = format!("{now} of decision group {}", self.open);
        }
        now
    }

    /// Returns the clusters that have stopped the rollout, by what they did.
    pub(crate) fn culprits(&self) -> [(&ShortList, &'static str); 2] {
        let [failed, late] = &self.blamed;
        let (failed, late) = match &self.mandatory {
            Some(_) => (failed, late),
            None => (&self.failed, &self.late),
        };
        [(failed, "failed"), (late, "timed out")]
    }

    /// Returns whether checks have failed, one too many, although all clusters are updated.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.breach.is_some() && !self.failed_checks.is_empty() && self.counts.done == self.configured
    }

    /// Returns the decision groups that go before one.
    pub(super) fn before(&self, group: usize) -> ShortList {
        self.before.get(group).cloned().unwrap_or_default()
    }

    /// Notes the clusters of the mandatory group that has stopped the rollout.
    fn blame(&mut self, verdict: Verdict, cluster: &Name) {
        let [failed, late] = &mut self.blamed;
        match verdict {
            Verdict::Failed => failed.add(cluster),
            Verdict::TimedOut => late.add(cluster),
            Verdict::Start
            | Verdict::Going
            | Verdict::Soaking
            | Verdict::Wait(_)
            | Verdict::Done
            | Verdict::Skipped
            | Verdict::Held => {}
        }
    }

    /// Notes the clusters by their verdicts.
    fn name(&mut self, verdict: Verdict, cluster: &Name) {
        match verdict {
            Verdict::Start | Verdict::Going => self.moving.add(cluster),
            Verdict::Soaking => self.soaking.add(cluster),
            Verdict::Failed => self.failed.add(cluster),
            Verdict::TimedOut => self.late.add(cluster),
            Verdict::Wait(_) | Verdict::Done | Verdict::Skipped | Verdict::Held => {}
        }
    }
}

/// The clusters that get no slot in the rollout of `spec.configuration`.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    /// The places of candidates that would move by their placement, with what they wait for.
    pub waiting: BTreeMap<usize, Hold>,
    /// The clusters that have the slots.
    pub moving: ShortList,
}

/// The rollout over one placement before it is decided.
pub(super) struct Feed<'v> {
    /// What it is called in messages.
    pub what: String,
    /// How it goes.
    pub course: Course,
    /// Why no further cluster starts, apart from a pause.
    pub shut: Option<Notice>,
    /// Whether it is paused.
    pub paused: bool,
    /// The reason of the pause, "" if there is none.
    pub pause: &'v str,
    /// What is wrong with its strategy.
    pub fault: Option<Name>,
    direction: Direction,
    /// What is asked about changes, where they wait for an approval.
    approvals: Option<Approvals<'v>>,
    /// The hash of the content that waits for checks; absent without checks.
    content: Option<Name>,
    selected: &'v Selected<'v>,
    /// The clusters that have no instance yet.
    missing: &'v Missing<'v>,
    index: usize,
}

impl<'v> Feed<'v> {
    pub(super) fn of(
        view: &View<'v>,
        missing: &'v Missing<'v>,
        index: usize,
        selected: &'v Selected<'v>,
        direction: Direction,
        inherited: Option<&Effective>,
    ) -> Self {
        let by = selected.by;
        let what = format!("placement {}/{}", by.namespace, by.name);
        let per_group = view
            .placement(&by.namespace, &by.name)
            .and_then(|placement| placement.per_group);
        let (course, fault) = match view.strategy(by) {
            Ok(strategy) => (promoted(view, by, course(strategy, per_group)), None),
            Err(fault) => (Course::at_once(), Some(fault.clone())),
        };
        let approvals = Approvals::of(view, by, inherited);
        // A rollback needs no approval: its content is known to be good.
        let approvals = approvals.filter(|_| direction == Direction::Forth);
        // Where all clusters move at once the order of the clusters need not be known.
        let checked = Checked::of(view, by, inherited);
        let (checks, content) = checked.map(|one| (one.checks, one.content)).unzip();
        let course = Course { checks, ..course };
        let has_turns = course != Course::at_once() || approvals.is_some();
        let course = direction.course(course);
        let shut = match (&fault, selected.known) {
            (Some(fault), _) => Some(Notice::fault(&what, fault)),
            (None, DecisionState::NoPlacement) if has_turns => Some(Notice::missing(&what)),
            (None, DecisionState::NoDecision) if has_turns => Some(Notice::undecided(&what)),
            (None, DecisionState::NoPlacement | DecisionState::NoDecision | DecisionState::Decided) => None,
        };
        Self {
            paused: view.rollout().pause(&by.namespace, &by.name).is_some(),
            pause: view.rollout().pause(&by.namespace, &by.name).unwrap_or_default(),
            what,
            course,
            shut,
            fault,
            direction,
            approvals,
            content,
            selected,
            missing,
            index,
        }
    }

    /// Returns the entry of the install strategy.
    pub(super) fn by(&self) -> &'v PlacementUse {
        self.selected.by
    }

    /// Returns whether clusters that no placement seems to configure may be its own: it exists, it has turns, and it is not
    /// decided. A scheduler that writes its decisions again leaves such moments.
    pub(super) fn may_claim(&self) -> bool {
        self.selected.known == DecisionState::NoDecision && (self.paused || self.shut.is_some())
    }

    /// Returns whether a cluster is only believed to be the placement's own: the placement is not decided, and nothing but the
    /// configurations that a user's instance runs with says that it belongs here.
    pub(super) fn is_unsure_of(&self, view: &View<'_>, instance: &Instance) -> bool {
        let by = self.selected.by;
        let is_named = || view.decided(&by.namespace, &by.name).contains(&&instance.cluster);
        self.selected.known == DecisionState::NoDecision && instance.installed_by.is_empty() && !is_named()
    }

    /// Decides about the candidates of the placement, and writes each verdict down.
    pub(super) fn decide(
        &self,
        view: &View<'_>,
        candidates: &mut [Candidate<'_>],
        others: &Others,
        now: Timestamp,
    ) -> (Placed, Option<Timestamp>) {
        let groups = self.groups(view);
        let (mut units, mut places) = (Vec::new(), Vec::new());
        let done = others.configured(self.index);
        let mut configured: usize = done.values().map(|units| units.count).sum();
        let changing = self.changing(candidates, &groups);
        if let Some(approvals) = &self.approvals {
            approvals.mark(candidates, self.index, &groups, &done);
        }
        for (cluster, found) in self.in_order(view, candidates) {
            let known = found.and_then(|at| candidates.get(at));
            let at = found.filter(|_| known.is_some_and(Candidate::is_there));
            let standing = self.standing(known.filter(|one| one.is_there()));
            let is_awaited = at.is_none() && self.awaits(view, cluster, known);
            if standing != UnitState::Skipped || is_awaited {
                configured = configured.saturating_add(1);
            }
            let group = groups.of_cluster(cluster);
            let approved = known.is_none_or(|one| one.unapproved.is_none());
            let unchecked = known.is_none_or(|one| !has_anything(one.instance)) && !changing.contains(&group);
            units.push(Unit {
                group,
                standing,
                approved,
                unchecked,
            });
            if let Some(candidate) = found.and_then(|at| candidates.get_mut(at)) {
                candidate.note_selected(self.index, group);
            }
            places.push(at.filter(|_| standing != UnitState::Skipped));
        }
        let shut = self.paused || self.shut.is_some();
        let decision = decide_beside(&self.course, &groups.list, &units, &done, shut, now);
        let group = decision.breach.and_then(|breach| groups.list.get(breach.group?));
        let mut placed = Placed {
            counts: decision.counts,
            configured,
            breach: decision.breach,
            mandatory: group.map(Group::told),
            blocked: waiting(&decision.verdicts, Hold::Elsewhere),
            paused: self.paused,
            blocker: self.fault.as_ref().map(Blocker::fault),
            before: groups.before(&self.course),
            groups: groups.staged(&self.course),
            stages: decision.stages.clone(),
            course: Some(self.course.clone()),
            asked: self.asked(&groups, &units, &decision.verdicts),
            started: self.started(&decision.verdicts, now),
            unchecked: waiting(&decision.verdicts, Hold::Check),
            unmet: decision.unmet,
            failed_checks: decision.failed_checks,
            is_checked: decision.is_checked,
            ..Placed::default()
        };
        let blamed = decision.breach.and_then(|breach| breach.group);
        for ((at, verdict), unit) in places.iter().zip(&decision.verdicts).zip(&units) {
            if let Some(candidate) = at.and_then(|at| candidates.get_mut(at)) {
                candidate.verdict = *verdict;
                if *verdict == Verdict::Wait(Hold::Elsewhere) {
                    let notice = candidate.blocked.as_ref();
                    placed
                        .blocked_by
                        .extend(notice.map(|notice| notice.reason.as_str()));
                }
                placed.name(*verdict, &candidate.instance.cluster);
                if blamed == Some(unit.group) {
                    placed.blame(*verdict, &candidate.instance.cluster);
                }
            }
        }
        if decision.verdicts.contains(&Verdict::Wait(Hold::Group)) {
            placed.open = groups.open(&units, &decision.verdicts);
        }
        (placed, decision.recheck_at)
    }

    /// Returns since when the present content is being rolled out, with its hash.
    fn started(&self, verdicts: &[Verdict], now: Timestamp) -> Option<(Name, Timestamp)> {
        let known = self.course.checks.as_ref()?.started;
        let is_under_way = verdicts.iter().copied().any(is_under_way);
        let started = known.or_else(|| is_under_way.then_some(now))?;
        Some((self.content.clone()?, started))
    }

    /// Returns the decision groups with clusters that run with something else: one that joins them is given nothing that no check has
    /// seen.
    fn changing(&self, candidates: &[Candidate<'_>], groups: &Groups<'_>) -> BTreeSet<usize> {
        if self.course.checks.is_none() {
            return BTreeSet::new();
        }
        let is_changing = |one: &&Candidate<'_>| {
            one.home == Some(self.index) && one.waits_for_turn() && has_anything(one.instance)
        };
        let each = candidates.iter().filter(is_changing);
        each.map(|one| groups.of_cluster(&one.instance.cluster)).collect()
    }

    /// Returns the decision groups, where they tell who moves.
    fn groups<'g>(&self, view: &View<'g>) -> Groups<'g> {
        let has_stages = !self.course.mandatory.is_empty() || self.course.rest == Rest::GroupByGroup;
        Groups::of(view, self.selected, has_stages || self.approvals.is_some())
    }

    fn asked(&self, groups: &Groups<'_>, units: &[Unit], verdicts: &[Verdict]) -> Option<Asked> {
        let approvals = self.approvals.as_ref()?;
        Some(approvals.asked(groups, units, verdicts))
    }

    /// Returns the selected clusters in the order in which they go, each with the place of its candidate.
    fn in_order(&self, view: &View<'_>, candidates: &[Candidate<'_>]) -> Vec<(&'v Name, Option<usize>)> {
        let mut selected = joined(&self.selected.clusters, candidates);
        if let Some(key) = view.rollout().order_by() {
            let label = |cluster: &Name| view.cluster(cluster)?.labels.get(key).cloned();
            by_label(&mut selected, |(cluster, _)| label(cluster));
        }
        self.direction.arrange(&mut selected, candidates);
        selected
    }

    /// Clusters that another placement configures, and clusters that do not exist, are ignored for this placement.
    fn standing(&self, candidate: Option<&Candidate<'_>>) -> UnitState {
        let own = candidate.filter(|candidate| candidate.home == Some(self.index));
        own.map_or(UnitState::Skipped, Candidate::standing)
    }

    /// Returns whether a cluster without an instance, or with one that goes, will get one from this placement.
    fn awaits(&self, view: &View<'_>, cluster: &Name, candidate: Option<&Candidate<'_>>) -> bool {
        let missing = || self.missing.get(cluster).copied().flatten();
        candidate.map_or_else(missing, |one| one.home) == Some(self.index)
            && view.cluster(cluster).is_some_and(|found| !found.meta.deleting)
    }
}

/// How many wait for something.
fn waiting(verdicts: &[Verdict], hold: Hold) -> usize {
    verdicts
        .iter()
        .filter(|verdict| **verdict == Verdict::Wait(hold))
        .count()
}

/// Notes a promotion of soaks in a course. Where there is no soak it makes no difference, and is not noted.
fn promoted(view: &View<'_>, by: &PlacementUse, course: Course) -> Course {
    let promoted = view.rollout().promoted_at(&by.namespace, &by.name);
    Course {
        promoted: promoted.filter(|_| !course.soak.is_zero()),
        ..course
    }
}

/// Joins two lists that are sorted by cluster: every selected cluster with the place of its instance.
fn joined<'a>(clusters: &[&'a Name], candidates: &[Candidate<'_>]) -> Vec<(&'a Name, Option<usize>)> {
    let mut at = 0;
    let find = |cluster: &&'a Name| {
        while candidates
            .get(at)
            .is_some_and(|one| order(&one.instance.cluster, cluster).is_lt())
        {
            at = at.saturating_add(1);
        }
        let found = candidates
            .get(at)
            .is_some_and(|one| order(&one.instance.cluster, cluster).is_eq());
        (*cluster, found.then_some(at))
    };
    clusters.iter().map(find).collect()
}

/// Decides about the candidates that no course counts: those that no placement configures, and those whose cluster was deleted.
/// They move at once, unless that would be out of turn.
pub(super) fn decide_others(
    candidates: &mut [Candidate<'_>],
    feeds: &[Feed<'_>],
    paused: bool,
    now: Timestamp,
) {
    let course = Course::at_once();
    for candidate in candidates {
        let shut = match candidate.home.and_then(|home| feeds.get(home)) {
            Some(_) if candidate.is_there() => continue,
            Some(feed) if feed.course != course || feed.shut.is_some() || feed.approvals.is_some() => {
                continue;
            }
            Some(feed) => feed.paused,
            None => paused || feeds.iter().any(Feed::may_claim),
        };
        if candidate.instance.meta.deleting {
            continue;
        }
        let unit = Unit {
            group: 0,
            standing: candidate.standing(),
            approved: true,
            unchecked: true,
        };
        let decision = decide(&course, &[], &[unit], shut, now);
        candidate.verdict = decision.verdicts.first().copied().unwrap_or(Verdict::Skipped);
    }
}

/// Decides which of the candidates that may move by their placement also get a slot of `spec.configuration`; returns the
/// places of those that do not, with what they wait for, and who has the slots.
pub(super) fn decide_rolling(
    rolling: &Rolling<'_>,
    candidates: &[Candidate<'_>],
    others: &Others,
    now: Timestamp,
) -> Refusal {
    let (mut units, mut places) = (Vec::new(), Vec::new());
    for (at, candidate) in candidates.iter().enumerate() {
        if !candidate.is_there() || !rolling.may_reach(&candidate.instance.cluster) {
            continue;
        }
        let standing = match candidate.standing() {
            UnitState::ToApply if !candidate.is_governed || candidate.verdict != Verdict::Start => {
                UnitState::Held
            }
            // Two would wait for each other, one with the slot of its placement and one with that of `spec.configuration`.
            UnitState::Overtaken(_) if candidate.verdict != Verdict::Start && candidate.is_at_rest => {
                UnitState::Held
            }
            // A cluster in progress takes a slot, whatever holds the next step.
            UnitState::Overtaken(since) if !candidate.is_governed || candidate.verdict != Verdict::Start => {
                UnitState::InFlight(since)
            }
            UnitState::Blocked(Some(since)) => UnitState::InFlight(since),
            UnitState::Blocked(None) => UnitState::Held,
            standing @ (UnitState::ToApply
            | UnitState::Overtaken(_)
            | UnitState::InFlight(_)
            | UnitState::Failed(_)
            | UnitState::Succeeded(_)
            | UnitState::Skipped
            | UnitState::Held) => standing,
        };
        units.push(Unit {
            group: 0,
            standing,
            approved: true,
            unchecked: true,
        });
        places.push(at);
    }
    let done = DoneUnits {
        count: others.rolling(),
        latest: None,
    };
    let done = BTreeMap::from([(0, done)]);
    let shut = rolling.paused || rolling.unknown.is_some();
    let decision = decide_beside(&rolling.course, &[], &units, &done, shut, now);
    let mut refusal = Refusal::default();
    for (at, verdict) in places.into_iter().zip(decision.verdicts) {
        match verdict {
            Verdict::Wait(hold) => {
                refusal.waiting.insert(at, hold);
            }
            // A cluster that failed keeps its slot here.
            Verdict::Start | Verdict::Going | Verdict::Soaking | Verdict::Failed | Verdict::TimedOut => {
                if let Some(candidate) = candidates.get(at) {
                    refusal.moving.add(&candidate.instance.cluster);
                }
            }
            Verdict::Done | Verdict::Skipped | Verdict::Held => {}
        }
    }
    refusal
}
