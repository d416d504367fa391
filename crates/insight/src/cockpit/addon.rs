//! The picture of an add-on's rollout.
//!
//! Decides words and order. Turns, budgets and ends are the plan's, made here as the controllers make it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::approval::asked;
use super::attention::Attention;
use super::cluster::{ClusterState, ClusterView, Counts, since, state};
use super::eta::{Ends, of_addon};
use super::health::{HealthState, RolloutHealth, Stated, SummaryConditions};
use super::picture::{API_VERSION, Change, Content, Next, Pause, Phase, Picture, Target, Undone};
use super::stopwatch::Stopwatch;
use super::summary::sentence;
use super::waves::Waves;
use api::names::conditions;
use api::reason::{Class, Reason};
use plan::upgrade::natural_order;
use plan::{ClusterOutlook, ConfigOutlook, Health, Outlook, Plan, Wait};
use store::{Applied, Condition, Instance, SetBy, Status, Store, View};

/// Returns the picture of an add-on's rollout; nothing where there is no such add-on.
pub fn addon(store: &Store, name: &str, watch: &Stopwatch, now: Timestamp) -> Option<Picture> {
    let is_there = store.addons().any(|addon| **addon == *name);
    let view = store
        .view(name)
        .filter(|view| is_there || view.all_instances().next().is_some())?;
    let (plan, outlook) = plan::addon_with_outlook(&view, now);
    let Some(outlook) = outlook else {
        return Some(unplanned(&view, &plan, now));
    };
    let waves = Waves::of(&outlook);
    let mut clusters = clusters(&view, &outlook, &waves, &plan);
    let counts = counted(&clusters);
    let pauses = pauses(&view, &outlook);
    let conditions = stated(&outlook);
    let health = conditions.health(&clusters);
    let phase = phase(&outlook, &counts, &conditions);
    let health = health.in_phase(phase);
    let ends = match phase {
        Phase::Progressing | Phase::Waiting if counts.done < counts.total => {
            of_addon(&outlook, watch.pace(), now)
        }
        Phase::Done
        | Phase::Progressing
        | Phase::Waiting
        | Phase::Paused
        | Phase::Unapproved
        | Phase::Stopped
        | Phase::Failed
        | Phase::Deleting
        | Phase::Empty
        | Phase::NotManaged => Ends::default(),
    };
    let waves = waves.counted(&outlook, &mut clusters, &ends, now);
    Some(Picture {
        next: next(&clusters, now).filter(|_| phase.goes_on()),
        message: told(&outlook, &counts, &health),
        undone: undone(&outlook),
        changes: changes(&outlook),
        notices: notices(&outlook, &plan, &health),
        attention: Attention::of(phase, health.state),
        health,
        eta: ends.rollout,
        eta_unknown: ends.unknown.map(str::to_owned),
        paused: paused(&pauses),
        pauses,
        approvals: asked(&outlook),
        waves,
        clusters,
        ..bare(&view, phase, counts, now)
    })
}

fn bare(view: &View<'_>, phase: Phase, counts: Counts, now: Timestamp) -> Picture {
    Picture {
        api_version: API_VERSION,
        kind: "Rollout",
        at: now,
        target: Target::addon(&*view.addon.name),
        phase,
        message: String::new(),
        health: RolloutHealth::unknown("", ""),
        attention: Attention::of(phase, HealthState::Unknown),
        counts,
        paused: None,
        pauses: Vec::new(),
        approvals: Vec::new(),
        next: None,
        eta: None,
        eta_unknown: None,
        undone: Vec::new(),
        changes: Vec::new(),
        waves: Vec::new(),
        clusters: Vec::new(),
        notices: Vec::new(),
    }
}

/// An add-on that is not rolled out: it is being deleted, or is not managed here.
fn unplanned(view: &View<'_>, plan: &Plan, now: Timestamp) -> Picture {
    let is_going = view.addon.meta.deleting;
    let waits = by_cluster(plan);
    let mut clusters: Vec<ClusterView> = view
        .all_instances()
        .filter(|_| is_going)
        .map(|instance| ClusterView {
            name: instance.cluster.to_string(),
            wave: 0,
            state: ClusterState::Leaving,
            reason: "Deleting".to_owned(),
            message: waits.get(&*instance.cluster).cloned().unwrap_or_default(),
            since: None,
            until: None,
            percent: None,
            version: instance.current_version.to_string(),
            healthy: !is_offline(view, &instance.cluster),
            offline: is_offline(view, &instance.cluster),
        })
        .collect();
    sort(&mut clusters);
    let counts = counted(&clusters);
    let (phase, message) = if is_going {
        let message = format!(
            "the add-on is being deleted, and parts of it are left on {}",
            kubernetes::field::counted(counts.total, "cluster")
        );
        (Phase::Deleting, message)
    } else {
        let message = "Tidegate does not manage the add-on here: nothing is rolled out".to_owned();
        (Phase::NotManaged, message)
    };
    let health = if is_going {
        RolloutHealth {
            state: HealthState::Progressing,
            ..RolloutHealth::unknown("Deleting", &message)
        }
    } else {
        RolloutHealth::unknown("NotManaged", &message)
    };
    Picture {
        message,
        attention: Attention::of(phase, health.state),
        health,
        clusters,
        ..bare(view, phase, counts, now)
    }
}

/// The conditions of the add-on as this plan writes them.
fn stated(outlook: &Outlook) -> SummaryConditions<'_> {
    SummaryConditions::of(outlook.conditions.iter().map(|one| Stated {
        kind: &one.kind,
        is_true: one.status == Status::True,
        reason: &one.reason,
        message: &one.message,
    }))
}

fn is_offline(view: &View<'_>, cluster: &str) -> bool {
    view.cluster(cluster).is_some_and(|found| found.unknown.is_some())
}

fn by_cluster(plan: &Plan) -> BTreeMap<&str, String> {
    let mut all = BTreeMap::new();
    for wait in &plan.waits {
        if let Some(cluster) = &wait.cluster {
            all.entry(&**cluster)
                .or_insert_with(|| Wait::addon(wait.on.clone()).to_string());
        }
    }
    all
}

fn sort(clusters: &mut [ClusterView]) {
    clusters.sort_by(|one, other| natural_order(&one.name, &other.name));
}

fn counted(clusters: &[ClusterView]) -> Counts {
    let mut counts = Counts::default();
    for cluster in clusters {
        counts.add(cluster.state);
    }
    counts
}

fn clusters(view: &View<'_>, outlook: &Outlook, waves: &Waves, plan: &Plan) -> Vec<ClusterView> {
    let waits = by_cluster(plan);
    let here = outlook.clusters.iter().map(|seen| {
        let (mut reason, mut message) = words(seen, waits.get(&*seen.cluster));
        let mut state = state(seen);
        let waits_for_agent = matches!(state, ClusterState::Moving | ClusterState::TimedOut)
            || seen.health == Health::Unavailable;
        let is_explained = seen.failure.is_some() || seen.notice.is_some();
        let fault = view.instance(&seen.cluster).and_then(agent_fault);
        if let Some(fault) = fault.filter(|_| waits_for_agent && !is_explained) {
            if reason.is_empty() {
                reason.push_str(&fault.reason);
            }
            message = fault.message.to_string();
        }
        // It runs the last known good configuration, not the desired one.
        if state == ClusterState::Done && is_back(outlook, seen) {
            state = ClusterState::Held;
            if reason.is_empty() {
                reason.push_str(Reason::RolledBack.as_str());
                message.push_str(
                    "the cluster runs the last known good configuration, because the rollout of its placement was rolled back",
                );
            }
        }
        let offline = seen.health == Health::Unreachable || is_offline(view, &seen.cluster);
        ClusterView {
            name: seen.cluster.to_string(),
            wave: waves.at(outlook, seen),
            state,
            reason,
            message,
            since: since(seen),
            until: seen.until,
            percent: None,
            version: seen.version.to_string(),
            healthy: !offline && is_well(seen, state),
            offline,
        }
    });
    let missing = outlook.missing.iter().map(|(cluster, placement)| {
        let wait = waits.get(&**cluster).cloned();
        ClusterView {
            name: cluster.to_string(),
            wave: waves.last_of(*placement),
            state: if wait.is_some() {
                ClusterState::Held
            } else {
                ClusterState::Moving
            },
            reason: "NotInstalled".to_owned(),
            message: wait.unwrap_or_else(|| "the ManagedClusterAddOn is being created".to_owned()),
            since: None,
            until: None,
            percent: None,
            version: String::new(),
            healthy: !is_offline(view, cluster),
            offline: is_offline(view, cluster),
        }
    });
    let mut all: Vec<ClusterView> = here.chain(missing).collect();
    sort(&mut all);
    all
}

/// Whether the agent of a cluster works. One that has what it should have, and is not ready, is not well; of others the state of
/// the cluster says why.
fn is_well(seen: &ClusterOutlook, state: ClusterState) -> bool {
    let is_done = matches!(
        state,
        ClusterState::Done | ClusterState::Soaking | ClusterState::Kept
    );
    match seen.health {
        // The rollout keeps the cluster from starting; nothing is wrong with its agent.
        Health::Stalled(reason) if reason.is(Class::Turn) => true,
        Health::Unavailable | Health::Unreachable | Health::Stalled(_) => false,
        Health::Waiting(_) | Health::Moving => !is_done,
        Health::Ready | Health::Kept | Health::Leaving => true,
    }
}

/// Whether the rollout of the placement that configures a cluster was undone.
fn is_back(outlook: &Outlook, seen: &ClusterOutlook) -> bool {
    let placement = seen.placement.and_then(|at| outlook.placements.get(at));
    let undone = placement.and_then(|placement| placement.undone.as_ref());
    undone.is_some_and(|undone| undone.since.is_some())
}

/// What a cluster says: its failure, what it waits for, or what its agent has yet to do.
fn words(seen: &ClusterOutlook, wait: Option<&String>) -> (String, String) {
    if let Some(failure) = &seen.failure {
        return (Reason::Failed.to_string(), failure.clone());
    }
    if let Some((reason, message)) = &seen.notice {
        return (reason.to_string(), message.to_string());
    }
    let reason = match seen.health {
        Health::Stalled(reason) | Health::Waiting(reason) => reason.as_str(),
        Health::Unavailable => Reason::Unavailable.as_str(),
        Health::Unreachable => "Unreachable",
        Health::Ready | Health::Kept | Health::Moving | Health::Leaving => "",
    };
    (reason.to_owned(), wait.cloned().unwrap_or_default())
}

/// Returns the condition of an instance that reports why its agent does not work.
fn agent_fault(instance: &Instance) -> Option<&Condition> {
    let faults = [
        (conditions::AVAILABLE, Status::False),
        (conditions::DEGRADED, Status::True),
    ];
    faults.into_iter().find_map(|(kind, status)| {
        let found = instance.condition(kind);
        found.filter(|one| one.status == status && !one.message.is_empty())
    })
}

/// Returns the pause of all placements, or those of single ones.
fn pauses(view: &View<'_>, outlook: &Outlook) -> Vec<Pause> {
    let settings = view.rollout();
    let pause = |placement: String, reason: &str, set_by: Option<&SetBy>| Pause {
        placement,
        reason: reason.to_owned(),
        profile: None,
        user: set_by.and_then(|by| Some(by.user.as_ref()?.to_string())),
        manager: set_by.and_then(|by| Some(by.manager.as_ref()?.to_string())),
        since: set_by.map(|by| by.at),
    };
    if let Some(reason) = settings.pause_of_all() {
        return vec![Pause {
            profile: settings.pausing_profile().map(ToString::to_string),
            ..pause(String::new(), reason, view.pause_set_by(None))
        }];
    }
    let paused = outlook.placements.iter().filter(|one| one.paused);
    let each = paused.map(|one| {
        let reason = settings.pause(&one.namespace, &one.name).unwrap_or_default();
        let set_by = view.pause_set_by(Some((&one.namespace, &one.name)));
        pause(format!("{}/{}", one.namespace, one.name), reason, set_by)
    });
    each.collect()
}

/// Returns pauses in a sentence.
fn paused(pauses: &[Pause]) -> Option<String> {
    let why = |pause: &Pause| {
        let (user, manager) = (pause.user.as_deref(), pause.manager.as_deref());
        let author = pause.since.map(|at| author(user, manager, at));
        let author = author.map_or_else(String::new, |author| format!(", set by {author}"));
        format!("{}{author}", plan::for_reason(&pause.reason))
    };
    let first = pauses.first()?;
    if first.placement.is_empty() {
        let by = first.profile.as_ref();
        let by = by.map_or_else(String::new, |name| format!(" by the RolloutProfile {name}"));
        return Some(format!("all placements are paused{by}{}", why(first)));
    }
    if let [one] = pauses {
        return Some(format!("placement {} is paused{}", one.placement, why(one)));
    }
    let places: Vec<String> = pauses
        .iter()
        .map(|pause| format!("{}{}", pause.placement, why(pause)))
        .collect();
    Some(format!(
        "{} placements are paused: {}",
        places.len(),
        places.join("; ")
    ))
}

/// Returns who set something, and when, to follow a sentence.
pub(crate) fn authored(set_by: Option<&SetBy>) -> String {
    set_by.map_or_else(String::new, |by| format!(", set by {}", set_by_text(by)))
}

/// Returns who set something, and when.
pub fn set_by_text(set_by: &SetBy) -> String {
    author(set_by.user.as_deref(), set_by.manager.as_deref(), set_by.at)
}

/// Returns the user with the field manager behind it, and the time.
fn author(user: Option<&str>, manager: Option<&str>, at: Timestamp) -> String {
    let author = match (user, manager) {
        (Some(user), Some(manager)) => format!("{user} ({manager})"),
        (one, other) => one.or(other).unwrap_or_default().to_owned(),
    };
    format!("{author} at {}", at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

fn phase(outlook: &Outlook, counts: &Counts, conditions: &SummaryConditions<'_>) -> Phase {
    let has_paused = outlook
        .placements
        .iter()
        .any(|one| one.paused && one.counts.waiting > 0);
    let has_stopped = outlook
        .placements
        .iter()
        .any(|one| one.breach.is_some() && one.counts.waiting > 0);
    let has_undone = outlook.placements.iter().any(|one| one.undone.is_some());
    let has_bar = outlook.placements.iter().any(|one| {
        let barred = one.barred.as_ref();
        barred.is_some_and(|(reason, _)| *reason != Reason::PlacementNotDecided) && one.counts.waiting > 0
    });
    let stalled = outlook
        .clusters
        .iter()
        .any(|seen| state(seen) == ClusterState::Stalled);
    let is_placement_missing = conditions
        .stalled()
        .is_some_and(|one| *one.reason == Reason::PlacementNotFound);
    let Counts {
        total,
        done,
        moving,
        soaking,
        waiting,
        ..
    } = *counts;
    match () {
        // Which clusters a missing placement gives is not known, whatever the others have.
        () if is_placement_missing && waiting > 0 => Phase::Stopped,
        () if is_placement_missing => Phase::Failed,
        () if total == 0 && conditions.stalled().is_some() => Phase::Failed,
        () if total == 0 && conditions.reconciling().is_some() => Phase::Waiting,
        () if total == 0 => Phase::Empty,
        // Rolled back: the clusters run the last known good configuration, not the one in the specs.
        () if has_undone => Phase::Stopped,
        // Every cluster has had its turn, and the add-on as a whole is not ready.
        () if done == total && conditions.stalled().is_some() => Phase::Failed,
        () if done == total
            && conditions
                .reconciling()
                .is_some_and(|one| *one.reason == Reason::Progressing) =>
        {
            Phase::Progressing
        }
        () if done == total && conditions.reconciling().is_some() => Phase::Waiting,
        () if done == total => Phase::Done,
        () if has_paused => Phase::Paused,
        () if has_stopped || has_bar => Phase::Stopped,
        () if moving > 0 || soaking > 0 => Phase::Progressing,
        () if asked(outlook).iter().any(|one| one.rejected) => Phase::Stopped,
        () if !asked(outlook).is_empty() => Phase::Unapproved,
        () if counts.failures() > 0 && waiting == 0 => Phase::Failed,
        () if stalled || conditions.stalled().is_some() => Phase::Failed,
        () => Phase::Waiting,
    }
}

/// The next end of a soak time, of a rollout that continues then. Deadlines are shown only with their clusters: an update may complete at any time before.
fn next(clusters: &[ClusterView], now: Timestamp) -> Option<Next> {
    let soaking = clusters
        .iter()
        .filter(|cluster| cluster.state == ClusterState::Soaking);
    let ending = soaking.filter_map(|cluster| Some((cluster.until.filter(|until| *until > now)?, cluster)));
    let (at, cluster) = ending.min_by_key(|(until, _)| *until)?;
    Some(Next {
        at,
        what: format!("minSuccessTime of {} ends", cluster.name),
    })
}

fn changes(outlook: &Outlook) -> Vec<Change> {
    let each = outlook.placements.iter().flat_map(|placement| {
        let place = format!("{}/{}", placement.namespace, placement.name);
        let changed = placement.configs.iter().filter(|config| is_new(config));
        changed.map(move |config| Change {
            placement: place.clone(),
            what: config.config.of.to_string(),
            from: config
                .known_good
                .as_ref()
                .map(|known| known_content(known, config)),
            to: Content {
                object: object(&config.config.namespace, &config.config.name),
                hash: config.hash.to_string(),
                version: config.version.as_deref().unwrap_or_default().to_owned(),
            },
        })
    });
    each.collect()
}

fn is_new(config: &ConfigOutlook) -> bool {
    config.known_good.as_ref().is_none_or(|known| {
        known.name != config.config.name
            || known.namespace != config.config.namespace
            || known.hash != config.hash
    })
}

fn known_content(known: &Applied, config: &ConfigOutlook) -> Content {
    Content {
        object: object(&known.namespace, &known.name),
        hash: known.hash.to_string(),
        version: config.known_version.as_deref().unwrap_or_default().to_owned(),
    }
}

fn object(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        return name.to_owned();
    }
    format!("{namespace}/{name}")
}

fn told(outlook: &Outlook, counts: &Counts, health: &RolloutHealth) -> String {
    let mut reasons = outlook.placements.iter().filter_map(|one| one.undone.as_ref());
    match reasons.next() {
        Some(undone) => format!("{}: {}", undone.reason, sentence(counts, health)),
        None => sentence(counts, health),
    }
}

fn undone(outlook: &Outlook) -> Vec<Undone> {
    let each = outlook.placements.iter().filter_map(|one| {
        let undone = one.undone.as_ref()?;
        Some(Undone {
            placement: format!("{}/{}", one.namespace, one.name),
            reason: undone.reason.as_str(),
            message: undone.message.to_string(),
            since: undone.since,
        })
    });
    each.collect()
}

fn notices(outlook: &Outlook, plan: &Plan, health: &RolloutHealth) -> Vec<String> {
    let barred = outlook.placements.iter().filter_map(|one| one.barred.as_ref());
    let mut all: Vec<String> = barred
        .map(|(reason, message)| format!("{reason}: {message}"))
        .collect();
    all.extend(
        undone(outlook)
            .iter()
            .map(|one| format!("{}: placement {}: {}", one.reason, one.placement, one.message)),
    );
    let whole = plan.waits.iter().filter(|wait| wait.cluster.is_none());
    all.extend(whole.map(ToString::to_string));
    all.sort();
    all.dedup();
    // What the health or a longer notice says, is said once.
    let is_said = |text: &String| {
        let others = all.iter().filter(|other| *other != text);
        let mut longer = others.filter(|other| other.ends_with(text.as_str()));
        longer.next().is_some()
            || health.told().contains(text.as_str())
            || *text == format!("{}: {}", health.reason, health.message)
    };
    let news: Vec<bool> = all.iter().map(|text| !is_said(text)).collect();
    let mut news = news.into_iter();
    all.retain(|_| news.next().unwrap_or(true));
    all
}
