//! Every instance with its next step.
//!
//! Decides what each instance is assigned after this plan, from the verdicts of the placements and then of
//! `spec.configuration`: a cluster moves when both let it. Placements are asked first, so that no slot is given to a cluster
//! that its placement does not let move.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::approvals::has_anything;
use super::candidate::{Candidate, OwnEdits};
use super::freezes::Frozen;
use super::hold_message::Notice;
use super::hold_messages::Notices;
use super::member::{Member, Rolled, Step, Trial};
use super::prerequisites::Prerequisites;
use super::references::{assign, is_exact, is_settled};
use super::rolling::{Rolling, is_deleted};
use super::unit_state::{Soak, UnitStanding, seen};
use super::units::{Feed, Placed, decide_others, decide_rolling};
use crate::conditions::assigned::confirmed_at;
use crate::conditions::progressing::{carries, reported};
use crate::conditions::state::Outcome;
use crate::config::{Configs, Desired, Effective};
use crate::install::{InstanceFate, Wanted};
use crate::settled::{Done, Others};
use crate::types::earliest;
use crate::work::is_deployed;
use ::model::engine::{Hold, UnitState, Verdict};
use model::RolloutWindows;
use model::upgrade::WindowState;
use store::{ClusterConfigs, Compat, ConfigType, Instance, Kind, Name, Reference, Site, View};

/// The rollout of one add-on.
#[derive(Debug)]
pub(crate) struct Rollout<'v> {
    /// Every instance, in order of clusters.
    pub members: Vec<Member<'v>>,
    /// Every placement, in the order of the spec.
    pub placed: Vec<Placed>,
    /// The next moment at which time alone changes something.
    pub recheck_at: Option<Timestamp>,
}

/// Returns every instance with its next step.
pub(crate) fn next<'v>(
    view: &View<'v>,
    wanted: &Wanted<'v>,
    configs: &Configs,
    others: &Others,
    now: Timestamp,
) -> Rollout<'v> {
    let rolling = Rolling::of(view);
    let feeds = feeds(view, wanted, configs);
    let frozen = Frozen::of(view, now);
    let candidate = |(stand, effective): (&InstanceFate<'v>, &Arc<Effective>)| {
        let feed = stand.home.and_then(|home| feeds.get(home));
        let instance = stand.site.instance;
        let kept = KeptConfigs::of(view, rolling.as_ref(), feed, instance, effective);
        let mut candidate = candidate(view, stand, effective, kept, feed, &frozen, now);
        if let (Some(counts), Some(rolling)) = (&mut candidate.counts, &rolling) {
            counts.rolling = rolling.clusters.contains(&instance.cluster);
        }
        candidate
    };
    let each = wanted.stands.iter().zip(&configs.instances);
    let mut candidates: Vec<Candidate<'v>> = each.map(candidate).collect();
    hold_without_content(&mut candidates);
    let thaws = frozen.hold(&mut candidates);
    let turns = hold_outside_windows(view, &feeds, &mut candidates, now);
    hold_without_settings(view, &mut candidates);
    block(view, &mut candidates);
    let mut recheck_at = candidates.iter().filter_map(|one| one.seen.recheck_at).min();
    recheck_at = earliest(earliest(recheck_at, turns), thaws);
    let mut placed = Vec::with_capacity(feeds.len());
    for feed in &feeds {
        let (done, at) = feed.decide(view, &mut candidates, others, now);
        recheck_at = earliest(recheck_at, at);
        placed.push(done);
    }
    refuse(&unsure(view, &feeds, &candidates), &mut candidates, &mut placed);
    decide_others(
        &mut candidates,
        &feeds,
        view.rollout().pause_of_all().is_some(),
        now,
    );
    let refusal = rolling
        .as_ref()
        .map(|rolling| decide_rolling(rolling, &candidates, others, now))
        .unwrap_or_default();
    if let Some(rolling) = &rolling {
        refuse(&refusal.waiting, &mut candidates, &mut placed);
        for (feed, one) in feeds.iter().zip(&mut placed) {
            let own = one.blocker.take();
            one.blocker = own.or_else(|| {
                rolling
                    .blocker
                    .clone()
                    .filter(|_| rolling.concerns(view.addon, feed.by()))
            });
        }
    }
    let pause = view.rollout().pause_of_all().unwrap_or_default();
    let mut notices = Notices::new(
        &feeds,
        &placed,
        rolling.as_ref().map(|one| (one, &refusal)),
        pause,
    );
    let members = candidates.into_iter().enumerate().map(|(at, candidate)| {
        let notice = notices.of(at, &candidate);
        member(candidate, notice, view.settings().compat)
    });
    let members = members.collect();
    Rollout {
        members,
        placed,
        recheck_at,
    }
}

/// Holds candidates that would go back to content that is no longer on the hub: something else is never given in its place.
fn hold_without_content(candidates: &mut [Candidate<'_>]) {
    for candidate in candidates.iter_mut().filter(|one| one.waits_for_turn()) {
        let lost = candidate.effective.lost();
        let notice = lost.map(|lost| Arc::new(Notice::no_way_back(lost)));
        candidate.blocked = notice;
    }
}

fn feeds<'a>(view: &View<'a>, wanted: &'a Wanted<'a>, configs: &Configs) -> Vec<Feed<'a>> {
    let each = wanted.placements.iter().zip(&configs.back).enumerate();
    each.map(|(index, (selected, way))| {
        let inherited = configs.inherited.get(index).map(|inherited| &**inherited);
        Feed::of(view, &wanted.missing, index, selected, way.into(), inherited)
    })
    .collect()
}

/// How the windows of some clusters are at present.
enum Windows {
    /// There are none, or one is open until then.
    Open(Option<Timestamp>),
    /// None of them is open, and the next one opens then.
    Shut(Arc<Notice>, Option<Timestamp>),
}

impl Windows {
    /// Returns how they are, those of a placement if it is named.
    fn of(windows: Option<&RolloutWindows>, place: Option<(&Name, &Name)>, now: Timestamp) -> Self {
        let Some(windows) = windows else {
            return Self::Open(None);
        };
        match windows.at(now) {
            WindowState::Open(end) => Self::Open(Some(end)),
            WindowState::Shut(opens) => {
                let notice = Notice::window(&windows.to_string(), opens);
                let notice = match place {
                    Some(place) => notice.over(place),
                    None => notice,
                };
                Self::Shut(Arc::new(notice), opens)
            }
        }
    }
}

/// Holds changes while no window is open; what is installed for the first time is no change. Returns when the next window of a
/// candidate opens or ends: a candidate that still waits for something else then says that it waits for a window.
fn hold_outside_windows(
    view: &View<'_>,
    feeds: &[Feed<'_>],
    candidates: &mut [Candidate<'_>],
    now: Timestamp,
) -> Option<Timestamp> {
    let settings = view.rollout();
    let others = Windows::of(settings.windows_of_all(), None, now);
    let each: Vec<Windows> = feeds
        .iter()
        .map(|feed| {
            let (namespace, name) = (&feed.by().namespace, &feed.by().name);
            Windows::of(settings.windows(namespace, name), Some((namespace, name)), now)
        })
        .collect();
    let has_own = settings.has_cluster_windows();
    let is_absent = |windows: &Windows| matches!(windows, Windows::Open(None));
    if !has_own && is_absent(&others) && each.iter().all(is_absent) {
        return None;
    }
    let changes = |one: &&mut Candidate<'_>| {
        one.waits_for_turn() && one.blocked.is_none() && has_anything(one.instance)
    };
    let mut first = None;
    for candidate in candidates.iter_mut().filter(changes) {
        let of_home = candidate.home.and_then(|home| each.get(home));
        let cluster = candidate.site.cluster.filter(|_| has_own);
        let own = cluster.map(|cluster| {
            let windows = settings.cluster_windows(|key| cluster.labels.get(key).map(|value| &**value));
            Windows::of(windows, None, now)
        });
        for windows in std::iter::once(of_home.unwrap_or(&others)).chain(&own) {
            match windows {
                Windows::Open(end) => first = earliest(first, *end),
                Windows::Shut(notice, opens) => {
                    candidate.blocked = Some(Arc::clone(notice));
                    first = earliest(first, *opens);
                    break;
                }
            }
        }
    }
    first
}

/// Holds everything that would start while it is not known what is set for the rollouts of the add-on.
fn hold_without_settings(view: &View<'_>, candidates: &mut [Candidate<'_>]) {
    let Some(fault) = view.rollout_fault() else {
        return;
    };
    let notice = Arc::new(Notice::bad_settings(&fault));
    let held = candidates.iter_mut().filter(|one| one.waits_for_turn());
    held.for_each(|one| one.blocked = Some(Arc::clone(&notice)));
}

/// Holds back candidates that have something to take until the add-ons that this one depends on run on their clusters. What a
/// user asks for on the one cluster itself passes that by, as it passes the rollout.
fn block(view: &View<'_>, candidates: &mut [Candidate<'_>]) {
    let waits = |one: &&mut Candidate<'_>| one.waits_for_turn() && one.blocked.is_none();
    let mut open = candidates.iter_mut().filter(waits).peekable();
    if view.depends_on().is_empty() || open.peek().is_none() {
        return;
    }
    let mut prerequisites = Prerequisites::of(view);
    for candidate in open {
        candidate.blocked = prerequisites.notice(&candidate.instance.cluster);
    }
}

/// The places of candidates that would move with a placement to which they may not belong.
fn unsure(view: &View<'_>, feeds: &[Feed<'_>], candidates: &[Candidate<'_>]) -> BTreeMap<usize, Hold> {
    let starts = candidates
        .iter()
        .enumerate()
        .filter(|(_, one)| one.verdict == Verdict::Start);
    let unsure = starts.filter(|(_, one)| {
        let home = one.home.and_then(|home| feeds.get(home));
        home.is_some_and(|feed| feed.is_unsure_of(view, one.instance))
    });
    unsure.map(|(at, _)| (at, Hold::Paused)).collect()
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
struct KeptConfigs {
    /// What it runs with until a change reaches it.
    target: Option<Vec<Desired>>,
    /// Whether there is a change, reached or not.
    is_governed: bool,
}

impl KeptConfigs {
    fn of<'v>(
        view: &View<'v>,
        rolling: Option<&Rolling<'v>>,
        feed: Option<&Feed<'_>>,
        instance: &Instance,
        effective: &Effective,
    ) -> Self {
        let by = feed.map(Feed::by);
        let target = rolling.and_then(|rolling| rolling.kept(view, by, instance, effective));
        let is_reached = rolling.is_none_or(|rolling| rolling.may_reach(&instance.cluster));
        Self {
            is_governed: target.is_some(),
            target: target.filter(|_| !is_reached),
        }
    }
}

fn candidate<'v>(
    view: &View<'v>,
    stand: &InstanceFate<'v>,
    effective: &Arc<Effective>,
    kept: KeptConfigs,
    feed: Option<&Feed<'_>>,
    frozen: &Frozen<'_>,
    now: Timestamp,
) -> Candidate<'v> {
    let Site {
        instance, cluster, ..
    } = stand.site;
    let is_there = !instance.meta.deleting
        && !stand.is_leaving()
        && cluster.is_some_and(|cluster| !cluster.meta.deleting);
    let target = kept.target.as_deref().unwrap_or(&effective.refs);
    let layering = match &kept.target {
        Some(kept) if keeps_deployment_configs(instance, kept) => instance.layering(),
        Some(_) | None => effective.layering,
    };
    let settled = is_settled(&instance.references, target) && layering == instance.layering();
    let soak = feed.map_or_else(Soak::default, |feed| Soak {
        length: feed.course.soak,
        promoted: feed.course.promoted,
    });
    let paused = feed.map_or_else(|| view.rollout().pause_of_all().is_some(), |feed| feed.paused)
        || frozen.of_cluster(cluster).is_some();
    let own = match view.settings().cluster_configs {
        ClusterConfigs::AtOnce if paused => OwnEdits::Travel,
        ClusterConfigs::AtOnce if !settled && effective.moves_at_once(&instance.references) => {
            OwnEdits::MoveAlone
        }
        ClusterConfigs::AtOnce => OwnEdits::Pass,
        ClusterConfigs::Rollout => OwnEdits::Travel,
    };
    let seen = if settled {
        seen(view, instance, effective.deployed, &soak, now)
    } else if own == OwnEdits::MoveAlone {
        UnitStanding::at(UnitState::InFlight(now))
    } else {
        overtaken(seen(view, instance, effective.deployed, &soak, now))
    };
    Candidate {
        own,
        instance,
        site: stand.site,
        is_leaving: stand.is_leaving(),
        effective: Arc::clone(effective),
        home: stand.home,
        kept: kept.target,
        layering,
        is_governed: kept.is_governed,
        is_there,
        settled,
        is_lost: is_lost(view, stand.site),
        is_at_rest: is_at_rest(stand.site)
            || (effective.deployed && is_lost(view, stand.site) && is_idle(stand.site)),
        soak: soak.of(confirmed_at(instance), now),
        is_checked: feed
            .map(Feed::by)
            .is_some_and(|by| !view.rollout().checks(&by.namespace, &by.name).is_empty()),
        blocked: None,
        unapproved: None,
        seen,
        verdict: Verdict::Skipped,
        counts: Some(Done::default()),
    }
}

/// Whether an instance that keeps a part of what it has keeps its deployment configurations, and with them how they count.
fn keeps_deployment_configs(instance: &Instance, kept: &[Desired]) -> bool {
    let is_one = |of: &ConfigType| Kind::of_config(&of.group, &of.resource) == Some(Kind::DeploymentConfig);
    let has = instance.references.iter().map(|one| &one.config);
    let keeps = kept.iter().map(|one| &one.config);
    has.filter(|one| is_one(&one.of))
        .eq(keeps.filter(|one| is_one(&one.of)))
}

/// Whether some content that an instance is assigned is no longer on the hub, and no work carries it.
fn is_lost(view: &View<'_>, site: Site<'_>) -> bool {
    let references = &site.instance.references;
    let mut works = site.works.iter().filter(|work| is_deployed(site.instance, work));
    references.iter().any(|one| is_deleted(view, one)) && !works.any(|work| carries(work, references))
}

/// Whether agents have done all that the works of an instance ask for.
fn is_idle(site: Site<'_>) -> bool {
    let mut works = site.works.iter().filter(|work| is_deployed(site.instance, work));
    works.all(|work| reported(work) == Outcome::Succeeded)
}

/// Whether an instance is assigned content that does not exist: nothing was rendered from it, and its works
/// are what its agent has confirmed.
fn is_at_rest(site: Site<'_>) -> bool {
    let references = &site.instance.references;
    if references.iter().all(|one| !one.desired.is_empty()) {
        return false;
    }
    let confirmed: Option<Vec<Reference>> = references
        .iter()
        .map(|one| {
            let applied = one.applied.as_ref()?;
            let mut before = one.clone();
            before.desired = applied.hash.clone();
            before.config.namespace = applied.namespace.clone();
            before.config.name = applied.name.clone();
            Some(before)
        })
        .collect();
    let mut works = site.works.iter().filter(|work| is_deployed(site.instance, work));
    confirmed.is_some_and(|confirmed| works.all(|work| carries(work, &confirmed)))
}

/// A cluster being updated to what it was assigned before goes on taking a slot, until it has a newer assignment.
fn overtaken(seen: UnitStanding) -> UnitStanding {
    match seen.standing {
        UnitState::InFlight(since) => UnitStanding {
            standing: UnitState::Overtaken(since),
            ..seen
        },
        UnitState::ToApply
        | UnitState::Overtaken(_)
        | UnitState::Failed(_)
        | UnitState::Succeeded(_)
        | UnitState::Skipped
        | UnitState::Held
        | UnitState::Blocked(_) => UnitStanding::at(UnitState::ToApply),
    }
}

fn member(candidate: Candidate<'_>, notice: Option<Arc<Notice>>, compat: Compat) -> Member<'_> {
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
        Step::Settled | Step::Move => Cow::Owned(assign(old, target, compat)),
        // Who waits keeps its current configuration; the content of its own configurations may have changed all the same.
        Step::Hold => {
            let passes = candidate.own != OwnEdits::Travel;
            let refreshed = passes.then(|| candidate.effective.refreshed(old)).flatten();
            refreshed.map_or(Cow::Borrowed(&**old), Cow::Owned)
        }
    };
    let layering = match step {
        Step::Settled | Step::Move => candidate.layering,
        Step::Hold => candidate.instance.layering(),
    };
    let rolled = Rolled {
        home: candidate.home,
        group: candidate.group().unwrap_or_default(),
        standing: candidate.standing(),
        verdict: candidate.verdict,
        approved: candidate.unapproved.is_none(),
    };
    Member {
        rolled,
        instance: candidate.instance,
        cluster: candidate.site.cluster,
        works: candidate.site.works,
        is_leaving: candidate.is_leaving,
        step,
        notice,
        assigned,
        layering,
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
