//! The picture of an upgrade of clusters.
//!
//! Decides words and order. Who starts, what holds the others and when it is over is what the planner of upgrades says.

use jiff::Timestamp;

use super::addon::authored;
use super::approval::AskedApproval;
use super::attention::Attention;
use super::cluster::{ClusterState, ClusterView, Counts};
use super::eta::{Eta, told};
use super::health::{RolloutHealth, Stated, SummaryConditions};
use super::picture::{API_VERSION, Change, Content, Next, Phase, Picture, Target};
use super::summary::sentence;
use super::wave::{Batches, Wave, WaveEta, WaveState};
use super::waves::{bare, few};
use api::Condition;
use api::cluster::UpgradeStageStatus;
use api::reason::{Class, Reason};
use kubernetes::field::{Path, counted};
use model::upgrade::{Stage, UpgradeSpec};
use plan::upgrade::{ClusterOutlook, Course, Hold, Record, State, natural_order};
use store::upgrade::View;
use store::{Owner, Store};

/// Of upgrades with more clusters no end is forecast here: it would be planned hundreds of times.
const MOST_FORECAST: usize = 200;

/// Returns the picture of an upgrade; nothing where there is no such upgrade.
pub fn upgrade(store: &Store, target: &Target, now: Timestamp) -> Option<Picture> {
    let is_it = |owner: &Owner| *owner.namespace == *target.namespace && *owner.name == *target.name;
    let owner = store.upgrades().find(is_it)?;
    let view = store.upgrade_view(&owner)?;
    let (plan, outlook) = plan::upgrade::plan_with_outlook(&view, now);
    let status = plan.status.as_ref().unwrap_or(view.upgrade.status);
    let spec = UpgradeSpec::parse(view.upgrade.spec, &Path::root().key("spec"));
    let stages: &[Stage] = spec.as_ref().map_or(&[], |spec| &spec.strategy.stages);
    let mut clusters: Vec<ClusterView> = outlook.iter().map(|seen| cluster(&view, stages, seen)).collect();
    soak(&mut clusters, stages, &status.stages);
    clusters.sort_by(|one, other| natural_order(&one.name, &other.name));
    let mut counts = Counts::default();
    for cluster in &clusters {
        counts.add(cluster.state);
    }
    let health = health(&view, &status.conditions, &clusters);
    let is_underway = outlook.iter().any(is_underway);
    let phase = phase(&view, &status.phase, &health, &counts, is_underway);
    let eta_unknown = eta_unknown(&clusters, phase);
    let is_open = eta_unknown.is_none() && matches!(phase, Phase::Progressing | Phase::Waiting);
    let course = (is_open && counts.total <= MOST_FORECAST).then(|| plan::upgrade::forecast(&view, now));
    let waves = waves(
        &spec,
        &mut clusters,
        phase,
        course.as_ref().map(|course| (course, now)),
    );
    let holds = || plan.waits.iter().map(|wait| &wait.on);
    let window = plan
        .recheck_at
        .filter(|_| holds().any(|hold| matches!(hold, Hold::Window | Hold::ClusterWindow)));
    let paused = holds()
        .find(|hold| matches!(hold, Hold::Paused | Hold::PausedByProfile(_) | Hold::Preview))
        .map(|hold| paused(store, &view, hold));
    Some(Picture {
        api_version: API_VERSION,
        kind: "Rollout",
        at: now,
        target: target.clone(),
        phase,
        message: sentence(&counts, &health),
        counts,
        paused,
        pauses: Vec::new(),
        approvals: plan
            .asked
            .iter()
            .flat_map(|asked| AskedApproval::now("", asked))
            .collect(),
        next: window.map(|at| Next {
            at,
            what: "the window opens or closes".to_owned(),
        }),
        eta: course.as_ref().and_then(|course| eta(course, now)),
        eta_unknown,
        undone: Vec::new(),
        changes: change(&spec).into_iter().collect(),
        waves,
        clusters,
        notices: notices(&view, &spec, &health),
        attention: Attention::of(phase, health.state),
        health,
    })
}

/// Returns what pauses an upgrade, and who set the pause of a RolloutProfile.
fn paused(store: &Store, view: &View<'_>, hold: &Hold) -> String {
    let profile = view.settings.pausing_profile();
    let profile = profile.filter(|_| matches!(hold, Hold::PausedByProfile(_)));
    let author = authored(profile.and_then(|name| store.profile_set_by(name)));
    format!("{}{author}", hold.sentence())
}

/// The clusters of a stage that soaks are complete, and the next stage waits for the end of its minSuccessTime.
fn soak(clusters: &mut [ClusterView], stages: &[Stage], told: &[UpgradeStageStatus]) {
    let is_soaking = |wave: usize| {
        let stage = wave.checked_sub(1).and_then(|at| stages.get(at));
        let mut told = told.iter().filter(|one| one.phase == "Soaking");
        stage.is_some_and(|stage| told.any(|one| *one.name == *stage.name))
    };
    for cluster in clusters.iter_mut().filter(|cluster| is_soaking(cluster.wave)) {
        if cluster.state == ClusterState::Done {
            cluster.state = ClusterState::Soaking;
        }
    }
}

fn health(view: &View<'_>, conditions: &[Condition], clusters: &[ClusterView]) -> RolloutHealth {
    if view.upgrade.deleting {
        return RolloutHealth::unknown("Deleting", "the upgrade is being deleted");
    }
    let stated = conditions.iter().map(|one| Stated {
        kind: &one.type_,
        is_true: one.status == "True",
        reason: &one.reason,
        message: &one.message,
    });
    SummaryConditions::of(stated).health(clusters)
}

/// A cluster that cannot go on ends when an administrator has acted, or when its time is over.
fn eta_unknown(clusters: &[ClusterView], phase: Phase) -> Option<String> {
    let stalled = clusters
        .iter()
        .filter(|cluster| cluster.state == ClusterState::Stalled);
    let names: Vec<&str> = stalled.map(|cluster| cluster.name.as_str()).collect();
    let is_asked = matches!(phase, Phase::Progressing | Phase::Waiting) && !names.is_empty();
    is_asked.then(|| {
        let verb = if names.len() == 1 { "requires" } else { "require" };
        format!("{} {verb} an administrator", few(&names))
    })
}

fn is_underway(seen: &ClusterOutlook) -> bool {
    let record = &seen.record;
    matches!(record.state, State::Initialized | State::Partial)
        || (record.state == State::NotStarted && record.phase == plan::upgrade::Phase::PreAction)
}

fn cluster(view: &View<'_>, stages: &[Stage], seen: &ClusterOutlook) -> ClusterView {
    let record = &seen.record;
    let state = state(seen);
    let (reason, message) = match &seen.waits {
        Some(hold) if state == ClusterState::Waiting => (hold.word(), hold.sentence().into_owned()),
        Some(_) | None => {
            let reason = record.reason.map_or_else(|| record.phase.word(), Reason::as_str);
            (reason, record.message.clone())
        }
    };
    // The cause is that of the cluster's own report, under the name that OpenShift gives it.
    let message = if *reason == Reason::Failing {
        format!("Failing: {message}")
    } else {
        message
    };
    let known = view.clusters.get(&seen.cluster);
    ClusterView {
        name: seen.cluster.to_string(),
        wave: wave_of(stages, record),
        state,
        reason: reason.to_owned(),
        message,
        since: record.finished.or(record.started),
        until: seen.until.filter(|_| {
            matches!(
                state,
                ClusterState::Moving | ClusterState::Finishing | ClusterState::Stalled
            )
        }),
        percent: record.percent.filter(|_| state == ClusterState::Moving),
        version: known.map(|cluster| cluster.version.clone()).unwrap_or_default(),
        healthy: known.is_some_and(|cluster| cluster.available),
        offline: known.is_some_and(|cluster| !cluster.available),
    }
}

/// Canary clusters are in the first wave, then each stage is one, and the others are the last.
fn wave_of(stages: &[Stage], record: &Record) -> usize {
    if record.canary {
        return 0;
    }
    let stage = stages.iter().position(|stage| record.is_of_stage(&stage.name));
    stage.unwrap_or(stages.len()).saturating_add(1)
}

fn state(seen: &ClusterOutlook) -> ClusterState {
    use plan::upgrade::Phase as Step;
    let record = &seen.record;
    let is_late = record.reason.is_some_and(|reason| reason.is(Class::TimedOut));
    match (record.state, record.phase) {
        (State::Failed, _) if is_late => ClusterState::TimedOut,
        (State::Failed, _) => ClusterState::Failed,
        (State::Complete, Step::Done) => ClusterState::Done,
        (State::Complete, Step::PostAction) if record.needs_admin().is_none() => ClusterState::Finishing,
        (State::NotStarted | State::Initialized | State::Partial | State::Complete, _)
            if record.needs_admin().is_some() =>
        {
            ClusterState::Stalled
        }
        (State::NotStarted, Step::Held) => ClusterState::Held,
        (State::NotStarted, Step::Queued) if !seen.starts => ClusterState::Waiting,
        (State::NotStarted, Step::PreAction) if seen.waits.is_some() => ClusterState::Waiting,
        (
            State::NotStarted | State::Initialized | State::Partial | State::Complete,
            Step::Queued
            | Step::Held
            | Step::PreAction
            | Step::Platform
            | Step::Operators
            | Step::PostAction
            | Step::Done,
        ) => ClusterState::Moving,
    }
}

/// From the word of `status.phase`.
fn phase(view: &View<'_>, word: &str, health: &RolloutHealth, counts: &Counts, is_underway: bool) -> Phase {
    let is_moving = counts.moving > 0 || counts.finishing > 0 || counts.soaking > 0 || is_underway;
    // A placement that may still arrive is `Progressing`, unless a cluster is not well.
    let is_placement_missing = health.stalled && *health.reason == Reason::PlacementNotFound;
    match word {
        _ if view.upgrade.deleting => Phase::Deleting,
        _ if is_placement_missing => Phase::Stopped,
        "Complete" => Phase::Done,
        "Failed" => Phase::Failed,
        "Halted" => Phase::Stopped,
        "Paused" | "Preview" => Phase::Paused,
        word if word == Reason::WaitingForApproval.as_str() => Phase::Unapproved,
        _ if counts.total == 0 => Phase::Empty,
        _ if is_moving => Phase::Progressing,
        _ => Phase::Waiting,
    }
}

fn eta(course: &Course, now: Timestamp) -> Option<Eta> {
    let after = course.ends_after?;
    let each = told(course.basis.each);
    let is_over = course.waiting.is_empty() && course.phase == "Complete";
    let basis = match course.basis.observed {
        0 => format!("no cluster upgrade has completed yet; each is assumed to take {each}"),
        1 => format!("1 cluster of this upgrade took {each}"),
        count => format!(
            "{} of this upgrade took {each} on average",
            counted(count, "cluster")
        ),
    };
    Eta::after(after, false, basis, now).filter(|_| is_over)
}

fn change<E>(spec: &Result<UpgradeSpec, E>) -> Option<Change> {
    let target = spec.as_ref().ok()?.target.as_ref()?;
    let version = target.version()?.to_string();
    Some(Change {
        placement: String::new(),
        what: "OpenShift".to_owned(),
        from: None,
        to: Content {
            version,
            ..Content::default()
        },
    })
}

fn notices<E: std::fmt::Display>(
    view: &View<'_>,
    spec: &Result<UpgradeSpec, Vec<E>>,
    health: &RolloutHealth,
) -> Vec<String> {
    let faults = spec.as_ref().err().into_iter().flatten().map(ToString::to_string);
    let refused = view
        .unwritten
        .iter()
        .map(|why| format!("the hub rejects the change of the upgrade: {why}"));
    // What the health says, is said once.
    let told = health.told();
    faults
        .chain(refused)
        .filter(|text| !told.contains(text.as_str()))
        .collect()
}

/// Canary clusters, the stages, and the others. A wave without clusters is left out.
fn waves<E>(
    spec: &Result<UpgradeSpec, E>,
    clusters: &mut [ClusterView],
    phase: Phase,
    forecast: Option<(&Course, Timestamp)>,
) -> Vec<Wave> {
    let strategy = spec.as_ref().ok().map(|spec| &spec.strategy);
    let stages: &[Stage] = strategy.map_or(&[], |strategy| &strategy.stages);
    let last = stages.len().saturating_add(1);
    let others = if clusters.iter().any(|cluster| cluster.wave < last) {
        "the other clusters"
    } else {
        "all clusters"
    };
    let mut waves = vec![bare("canary clusters", "")];
    waves.extend(
        stages
            .iter()
            .map(|stage| bare(&format!("stage {}", stage.name), "")),
    );
    waves.push(bare(others, ""));
    for cluster in clusters.iter() {
        if let Some(wave) = waves.get_mut(cluster.wave) {
            wave.counts.add(cluster.state);
        }
    }
    let total = clusters.len();
    let mut ahead = String::new();
    for (at, wave) in waves.iter_mut().enumerate() {
        wave.mandatory = at == 0;
        let stage = at.checked_sub(1).and_then(|at| stages.get(at));
        let limit = stage.and_then(|stage| stage.at_once.map(|limit| limit.of(wave.counts.total)));
        wave.limit = limit
            .or_else(|| strategy.map(|strategy| strategy.at_once.of(total)))
            .map(|limit| limit.max(1))
            .filter(|limit| *limit < wave.counts.total);
        wave.soak_seconds = stage.map_or(0, |stage| stage.soak.as_secs());
        wave.batches = Batches::of(wave.limit, &wave.counts);
        wave.tolerated = strategy.map(|strategy| match (at, stages.is_empty()) {
            (0, _) => 0,
            (_, true) => strategy.failures.of(total),
            (_, false) => strategy.failures.of(wave.counts.total),
        });
        wave.failures = wave.counts.failures();
        wave.deadline_seconds = strategy.map(|strategy| strategy.platform.as_secs());
        let mut own = clusters.iter().filter(|cluster| cluster.wave == at);
        let waits_for_stage = own.any(|cluster| *cluster.reason == Reason::WaitingForStage);
        wave.state = wave_state(&wave.counts, phase, waits_for_stage || !ahead.is_empty());
        let names: Vec<&str> = clusters
            .iter()
            .filter(|cluster| cluster.wave == at && is_updating(cluster))
            .map(|cluster| cluster.name.as_str())
            .collect();
        let own = few(&names);
        if wave.counts.waiting > 0 {
            wave.waits_for = if own.is_empty() {
                ahead.clone()
            } else {
                own.clone()
            };
        }
        if wave.state != WaveState::Done {
            ahead = own;
            let own = clusters.iter().filter(|cluster| cluster.wave == at);
            wave.eta = forecast.and_then(|(course, now)| wave_eta(course, stage, own, now));
        }
    }
    // A cluster has the index of its wave among those that are shown.
    let shown: Vec<bool> = waves.iter().map(|wave| wave.counts.total > 0).collect();
    for cluster in clusters.iter_mut() {
        let before = shown.iter().take(cluster.wave);
        cluster.wave = before.filter(|is_shown| **is_shown).count();
    }
    waves.retain(|wave| wave.counts.total > 0);
    waves
}

/// A stage ends with its soak time, other waves with their last cluster.
fn wave_eta<'a>(
    course: &Course,
    stage: Option<&Stage>,
    own: impl Iterator<Item = &'a ClusterView>,
    now: Timestamp,
) -> Option<WaveEta> {
    let of_cluster = |cluster: &ClusterView| course.cluster_ends.get(cluster.name.as_str()).copied();
    match stage {
        Some(stage) => WaveEta::of(
            std::iter::once(course.stage_ends.get(&*stage.name).copied()),
            false,
            now,
        ),
        None => WaveEta::of(own.map(of_cluster), false, now),
    }
}

/// One that has started and cannot go on keeps its slot.
fn is_updating(cluster: &ClusterView) -> bool {
    let has_started = cluster.since.is_some();
    matches!(cluster.state, ClusterState::Moving | ClusterState::Finishing)
        || (cluster.state == ClusterState::Stalled && has_started)
}

fn wave_state(counts: &Counts, phase: Phase, is_behind: bool) -> WaveState {
    let is_moving = counts.moving > 0 || counts.finishing > 0;
    let is_over = !is_moving && counts.soaking == 0 && counts.waiting == 0 && counts.held == 0;
    match phase {
        Phase::Unapproved if !is_behind && counts.waiting > 0 => WaveState::Unapproved,
        _ if counts.done == counts.total || is_over => WaveState::Done,
        Phase::Paused if counts.waiting > 0 => WaveState::Paused,
        Phase::Stopped if !is_moving => WaveState::Stopped,
        _ if is_behind && !is_moving && counts.done == 0 => WaveState::Waiting,
        Phase::Done
        | Phase::Progressing
        | Phase::Waiting
        | Phase::Paused
        | Phase::Unapproved
        | Phase::Stopped
        | Phase::Failed
        | Phase::Deleting
        | Phase::Empty
        | Phase::NotManaged => WaveState::Open,
    }
}
