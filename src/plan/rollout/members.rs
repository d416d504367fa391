//! Every instance with its next step.
//!
//! Decides what each instance is assigned after this plan, from the verdicts of the placements and then of
//! `spec.configuration`: a cluster moves when both let it. Placements are asked first, so that no slot is given to a cluster
//! that its placement does not let move.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::engine::{Hold, Standing, Verdict};
use super::feed::{Feed, Placed, decide_others, decide_rolling};
use super::notice::Notice;
use super::notices::Notices;
use super::references::{assign, is_exact, is_settled};
use super::rolling::{Rolling, is_gone};
use super::standing::{Seen, seen};
use crate::plan::config::{Configs, Desired, Effective};
use crate::plan::install::{Stand, Wanted};
use crate::plan::judge::{carries, is_deployed};
use crate::plan::quiet::{Done, Others};
use crate::plan::types::earliest;
use crate::snapshot::{Cluster, ClusterConfigs, Instance, Reference, Site, View, Work};

/// What the rollout says about one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Step {
    /// It has what it should have now.
    Settled,
    /// It may take what it should have now.
    Move,
    /// It keeps what it has.
    Hold,
}

/// How far the last change is after it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Trial {
    /// It has yet to stay successful, or has failed to.
    Runs,
    /// It is over, or has not begun.
    Over,
}

/// One instance on its way.
#[derive(Debug)]
pub(in crate::plan) struct Member<'v> {
    /// The instance.
    pub instance: &'v Instance,
    /// Its cluster, if it exists.
    pub cluster: Option<&'v Cluster>,
    /// The works for its cluster.
    pub works: &'v [Work],
    /// Whether it is on its way out.
    pub is_leaving: bool,
    /// What it should run with in the end.
    pub effective: Arc<Effective>,
    /// Whether it may move now.
    pub step: Step,
    /// Why it does not get the effective configuration, or not the whole of it.
    pub notice: Option<Arc<Notice>>,
    /// What it is assigned after this plan.
    pub assigned: Cow<'v, [Reference]>,
    /// The failure that counts in its rollout.
    pub failure: Option<String>,
    /// How long it must stay successful.
    pub soak: Duration,
    /// Whether it took longer than its rollout allows.
    pub timed_out: bool,
    /// Whether its last change has proved itself.
    pub trial: Trial,
    /// Set when the rollout is done with it, and time changes nothing.
    pub done: Option<Done>,
}

impl Member<'_> {
    /// Returns the first assigned configuration whose object cannot be used.
    pub(in crate::plan) fn missing(&self) -> Option<&Desired> {
        let mut refs = self.effective.refs.iter();
        refs.find(|desired| desired.fault.is_some() && self.is_assigned(desired))
    }

    /// Returns whether a configuration is what the instance is assigned.
    pub(in crate::plan) fn is_assigned(&self, desired: &Desired) -> bool {
        let mut assigned = self.assigned.iter();
        assigned.any(|one| one.config == desired.config && one.desired == desired.hash)
    }
}

/// The rollout of one add-on.
#[derive(Debug)]
pub(in crate::plan) struct Rollout<'v> {
    /// Every instance, in order of clusters.
    pub members: Vec<Member<'v>>,
    /// Every placement, in the order of the spec.
    pub placed: Vec<Placed>,
    /// The next moment at which time alone changes something.
    pub recheck_at: Option<Timestamp>,
}

/// What becomes of edits of an instance's own configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnEdits {
    /// They travel by its rollout.
    Travel,
    /// They pass its rollout by.
    Pass,
    /// They pass it by, and are all that the instance has to take.
    MoveAlone,
}

/// One instance before its step is decided.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(super) struct Candidate<'v> {
    pub instance: &'v Instance,
    site: Site<'v>,
    is_leaving: bool,
    effective: Arc<Effective>,
    /// The placement that configures it.
    pub home: Option<usize>,
    /// What it is to run with now, where that is not the effective configuration.
    pub kept: Option<Vec<Desired>>,
    /// Whether a change of `spec.configuration` is a part of its next step.
    pub is_governed: bool,
    is_there: bool,
    pub own: OwnEdits,
    pub settled: bool,
    /// Whether nobody can make anything of what it is assigned any more.
    is_lost: bool,
    soak: Duration,
    seen: Seen,
    pub verdict: Verdict,
    /// What it counts for once it is done; absent when that cannot be noted.
    counts: Option<Done>,
}

impl Candidate<'_> {
    /// Returns whether it can move at all.
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Returns its decision group in the placement that configures it, as far as that is noted.
    pub(super) fn group(&self) -> Option<usize> {
        let counts = self.counts.filter(|counts| counts.home.is_some())?;
        usize::try_from(counts.group).ok()
    }

    /// Notes that a placement selects it, and in which decision group it is there.
    pub(super) fn note_selected(&mut self, placement: usize, group: usize) {
        let is_home = self.home == Some(placement);
        self.counts = self.counts.take().and_then(|mut counts| {
            if is_home {
                counts.home = Some(u32::try_from(placement).ok()?);
                counts.group = u32::try_from(group).ok()?;
            }
            counts.select(placement).then_some(counts)
        });
    }

    /// Returns what it counts for, if the rollout is done with it and time changes nothing.
    fn done(&self) -> Option<Done> {
        let is_done = self.is_there
            && self.settled
            && self.kept.is_none()
            && self.verdict == Verdict::Done
            && self.seen.failure.is_none()
            && self.seen.recheck_at.is_none();
        self.counts.filter(|_| is_done)
    }

    /// Returns its standing. What it is kept from by others than its placement takes no slot there.
    pub(super) fn standing(&self) -> Standing {
        match self.seen.standing {
            // What failed with content that a change has yet to replace says nothing about the change.
            Standing::Succeeded(_) | Standing::Failed(_) if self.kept.is_some() && self.settled => {
                Standing::Held
            }
            // It will not arrive: what it keeps was edited before anything was made of it.
            Standing::InFlight(_) if self.kept.is_some() && self.settled && self.is_lost => Standing::Held,
            standing @ (Standing::ToApply
            | Standing::Overtaken(_)
            | Standing::InFlight(_)
            | Standing::Failed(_)
            | Standing::Succeeded(_)
            | Standing::Skipped
            | Standing::Held) => standing,
        }
    }
}

/// Returns every instance with its next step.
pub(in crate::plan) fn next<'v>(
    view: &View<'v>,
    wanted: &Wanted<'v>,
    configs: &Configs,
    others: &Others,
    now: Timestamp,
) -> Rollout<'v> {
    let rolling = Rolling::of(view);
    let feeds: Vec<Feed<'_>> = wanted
        .placements
        .iter()
        .enumerate()
        .map(|(index, selected)| Feed::of(view, (&wanted.missing, index), selected))
        .collect();
    let candidate = |(stand, effective): (&Stand<'v>, &Arc<Effective>)| {
        let feed = stand.home.and_then(|home| feeds.get(home));
        let instance = stand.site.instance;
        let kept = Kept::of(view, rolling.as_ref(), feed, (instance, effective));
        let mut candidate = candidate(view, (stand, effective), kept, feed, now);
        if let (Some(counts), Some(rolling)) = (&mut candidate.counts, &rolling) {
            counts.rolling = rolling.clusters.contains(&instance.cluster);
        }
        candidate
    };
    let each = wanted.stands.iter().zip(&configs.instances);
    let mut candidates: Vec<Candidate<'v>> = each.map(candidate).collect();
    let mut recheck_at = candidates.iter().filter_map(|one| one.seen.recheck_at).min();
    let mut placed = Vec::with_capacity(feeds.len());
    for feed in &feeds {
        let (done, at) = feed.decide(view, &mut candidates, others, now);
        recheck_at = earliest(recheck_at, at);
        placed.push(done);
    }
    decide_others(&mut candidates, &feeds, view.addon.paused.everything(), now);
    let refusal = rolling
        .as_ref()
        .map(|rolling| decide_rolling(rolling, &candidates, others, now))
        .unwrap_or_default();
    if let Some(rolling) = &rolling {
        refuse(&refusal.waiting, &mut candidates, &mut placed);
        for (feed, one) in feeds.iter().zip(&mut placed) {
            let own = one.bar.take();
            one.bar = own.or_else(|| rolling.bar.clone().filter(|_| rolling.concerns(feed.by())));
        }
    }
    let mut notices = Notices::new((&feeds, &placed), rolling.as_ref().map(|one| (one, &refusal)));
    let members = candidates.into_iter().enumerate().map(|(at, candidate)| {
        let notice = notices.of(at, &candidate);
        member(candidate, notice)
    });
    let members = members.collect();
    Rollout {
        members,
        placed,
        recheck_at,
    }
}

/// Takes back what the placements let move but `spec.configuration` does not.
fn refuse(refused: &BTreeMap<usize, Hold>, candidates: &mut [Candidate<'_>], placed: &mut [Placed]) {
    for (at, hold) in refused {
        let Some(candidate) = candidates.get_mut(*at) else {
            continue;
        };
        candidate.verdict = Verdict::Wait(*hold);
        if let Some(one) = candidate.home.and_then(|home| placed.get_mut(home)) {
            one.moving.remove(&candidate.instance.cluster);
            one.counts.progressing = one.counts.progressing.saturating_sub(1);
            one.counts.waiting = one.counts.waiting.saturating_add(1);
        }
    }
}

/// What `spec.configuration` has an instance keep.
struct Kept {
    /// What it runs with until a change reaches it.
    target: Option<Vec<Desired>>,
    /// Whether there is a change, reached or not.
    is_governed: bool,
}

impl Kept {
    fn of<'v>(
        view: &View<'v>,
        rolling: Option<&Rolling<'v>>,
        feed: Option<&Feed<'_>>,
        (instance, effective): (&Instance, &Effective),
    ) -> Self {
        let by = feed.map(Feed::by);
        let target = rolling.and_then(|rolling| rolling.kept(view, by, instance, effective));
        let is_reached = rolling.is_none_or(|rolling| rolling.clusters.contains(&instance.cluster));
        Self {
            is_governed: target.is_some(),
            target: target.filter(|_| !is_reached),
        }
    }
}

fn candidate<'v>(
    view: &View<'v>,
    (stand, effective): (&Stand<'v>, &Arc<Effective>),
    kept: Kept,
    feed: Option<&Feed<'_>>,
    now: Timestamp,
) -> Candidate<'v> {
    let Site {
        instance, cluster, ..
    } = stand.site;
    let is_there = !instance.meta.deleting
        && !stand.is_leaving()
        && cluster.is_some_and(|cluster| !cluster.meta.deleting);
    let target = kept.target.as_deref().unwrap_or(&effective.refs);
    let settled = is_settled(&instance.references, target);
    let soak = feed.map_or(Duration::ZERO, |feed| feed.course.soak);
    let paused = feed.map_or_else(|| view.addon.paused.everything(), |feed| feed.paused);
    let own = match view.settings().cluster_configs {
        ClusterConfigs::AtOnce if paused => OwnEdits::Travel,
        ClusterConfigs::AtOnce if !settled && effective.moves_at_once(&instance.references) => {
            OwnEdits::MoveAlone
        }
        ClusterConfigs::AtOnce => OwnEdits::Pass,
        ClusterConfigs::Rollout => OwnEdits::Travel,
    };
    let seen = if settled {
        seen(view, instance, effective.deployed, soak, now)
    } else if own == OwnEdits::MoveAlone {
        Seen::at(Standing::InFlight(now))
    } else {
        overtaken(seen(view, instance, effective.deployed, soak, now))
    };
    Candidate {
        own,
        instance,
        site: stand.site,
        is_leaving: stand.is_leaving(),
        effective: Arc::clone(effective),
        home: stand.home,
        kept: kept.target,
        is_governed: kept.is_governed,
        is_there,
        settled,
        is_lost: is_lost(view, stand.site),
        soak,
        seen,
        verdict: Verdict::Skipped,
        counts: Some(Done::default()),
    }
}

/// Whether some content that an instance is assigned is no longer on the hub, and no work carries it.
fn is_lost(view: &View<'_>, site: Site<'_>) -> bool {
    let references = &site.instance.references;
    let mut works = site.works.iter().filter(|work| is_deployed(site.instance, work));
    references.iter().any(|one| is_gone(view, one)) && !works.any(|work| carries(work, references))
}

/// Whoever is on the way to what it was assigned before goes on taking a slot, until it has a newer assignment.
fn overtaken(seen: Seen) -> Seen {
    match seen.standing {
        Standing::InFlight(since) => Seen {
            standing: Standing::Overtaken(since),
            ..seen
        },
        Standing::ToApply
        | Standing::Overtaken(_)
        | Standing::Failed(_)
        | Standing::Succeeded(_)
        | Standing::Skipped
        | Standing::Held => Seen::at(Standing::ToApply),
    }
}

fn member(candidate: Candidate<'_>, notice: Option<Arc<Notice>>) -> Member<'_> {
    let done = candidate.done().filter(|_| notice.is_none());
    let old = &candidate.instance.references;
    let target = candidate.kept.as_deref().unwrap_or(&candidate.effective.refs);
    let step = match candidate.verdict {
        _ if candidate.settled => Step::Settled,
        _ if candidate.own == OwnEdits::MoveAlone => Step::Move,
        Verdict::Start => Step::Move,
        Verdict::Wait(_)
        | Verdict::Going
        | Verdict::Soaking
        | Verdict::Failed
        | Verdict::TimedOut
        | Verdict::Done
        | Verdict::Skipped
        | Verdict::Held => Step::Hold,
    };
    let assigned = match step {
        Step::Settled if is_exact(old, target) => Cow::Borrowed(&**old),
        Step::Settled | Step::Move => Cow::Owned(assign(old, target)),
        // Who waits keeps what it has; the content of its own configurations may have changed all the same.
        Step::Hold => {
            let passes = candidate.own != OwnEdits::Travel;
            let refreshed = passes.then(|| candidate.effective.refreshed(old)).flatten();
            refreshed.map_or(Cow::Borrowed(&**old), Cow::Owned)
        }
    };
    Member {
        instance: candidate.instance,
        cluster: candidate.site.cluster,
        works: candidate.site.works,
        is_leaving: candidate.is_leaving,
        step,
        notice,
        assigned,
        trial: if candidate.verdict == Verdict::Soaking || candidate.seen.failure.is_some() {
            Trial::Runs
        } else {
            Trial::Over
        },
        failure: candidate.seen.failure,
        soak: candidate.soak,
        timed_out: candidate.verdict == Verdict::TimedOut,
        done,
        effective: candidate.effective,
    }
}
