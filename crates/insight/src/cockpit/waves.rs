//! The waves of an add-on's rollout: the stages of its placements, with their clusters.
//!
//! Decides names and states of waves. Which cluster goes in which stage is the plan's.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::approval::{WaveApproval, of_stage};
use super::cluster::{ClusterState, ClusterView, Counts};
use super::eta::Ends;
use super::wave::{Batches, Wave, WaveEta, WaveState};
use model::Rest;
use plan::{ClusterOutlook, GroupOutlook, Outlook, PlacementOutlook};

/// So many names are listed.
const NAMED: usize = 3;

/// The waves of a rollout, before its clusters are counted.
#[derive(Debug)]
pub(super) struct Waves {
    all: Vec<Wave>,
    /// For each placement, and for the clusters that none gives, the position of its first wave.
    first: Vec<usize>,
    /// For each placement how many clusters it holds because too many failed.
    breached: Vec<bool>,
    /// For each placement whether what it brought was undone.
    undone: Vec<bool>,
}

impl Waves {
    pub(super) fn of(outlook: &Outlook) -> Self {
        let mut waves = Self {
            all: Vec::new(),
            first: Vec::new(),
            breached: Vec::new(),
            undone: Vec::new(),
        };
        for placement in &outlook.placements {
            waves.first.push(waves.all.len());
            waves.breached.push(placement.breach.is_some());
            waves.undone.push(placement.undone.is_some());
            let stages = 0..placement.stages.len().max(1);
            waves.all.extend(stages.map(|stage| wave(placement, stage)));
        }
        waves.first.push(waves.all.len());
        waves.all.push(bare("clusters without a placement", ""));
        waves
    }

    /// Returns the wave of a cluster of a placement that goes with a decision group.
    pub(super) fn at(&self, outlook: &Outlook, seen: &ClusterOutlook) -> usize {
        let placement = seen.placement.and_then(|at| outlook.placements.get(at));
        let Some((placement, first)) = placement.zip(self.begin(seen.placement)) else {
            return self.all.len().saturating_sub(1);
        };
        let last = placement.stages.len().saturating_sub(1);
        let stage = placement.groups.get(seen.group).map_or(last, |group| group.stage);
        first.saturating_add(stage.min(last))
    }

    /// Returns the last wave of a placement: a cluster that has no instance yet has no turn either.
    pub(super) fn last_of(&self, placement: Option<usize>) -> usize {
        let next = placement.and_then(|at| self.first.get(at.saturating_add(1)));
        next.unwrap_or(&self.all.len()).saturating_sub(1)
    }

    fn begin(&self, placement: Option<usize>) -> Option<usize> {
        self.first.get(placement?).copied()
    }

    /// Returns the waves that have clusters, which then say where they are.
    pub(super) fn counted(
        mut self,
        outlook: &Outlook,
        clusters: &mut [ClusterView],
        ends: &Ends,
        now: Timestamp,
    ) -> Vec<Wave> {
        self.expect(outlook, ends, now);
        for cluster in clusters.iter() {
            if let Some(wave) = self.all.get_mut(cluster.wave) {
                wave.counts.add(cluster.state);
                let soaks = cluster.until.filter(|_| cluster.state == ClusterState::Soaking);
                wave.next_at = [wave.next_at, soaks].into_iter().flatten().min();
            }
        }
        let paused: Vec<bool> = outlook.placements.iter().map(|one| one.paused).collect();
        let mut moving = movers(clusters);
        let mut ahead: Option<(usize, String)> = None;
        for at in 0..self.all.len() {
            let owner = self.first.partition_point(|first| *first <= at).saturating_sub(1);
            let is = |list: &[bool]| list.get(owner).copied().unwrap_or_default();
            let (is_paused, is_breached, is_undone) = (is(&paused), is(&self.breached), is(&self.undone));
            let Some(wave) = self.all.get_mut(at) else {
                continue;
            };
            let brake = match (is_paused, is_breached) {
                _ if is_undone => Brake::Undone,
                (true, _) => Brake::Paused,
                (false, true) => Brake::Breached,
                (false, false) => Brake::None,
            };
            wave.state = state(&wave.counts, brake);
            if matches!(wave.state, WaveState::Open | WaveState::Waiting) && !is_moving(&wave.counts) {
                wave.state = match wave.approval {
                    Some(WaveApproval::Asked) => WaveState::Unapproved,
                    Some(WaveApproval::Rejected) => WaveState::Stopped,
                    Some(WaveApproval::Later | WaveApproval::Given) | None => wave.state,
                };
            }
            wave.batches = Batches::of(wave.limit, &wave.counts);
            let own = moving.remove(&at).unwrap_or_default();
            let before = ahead.take().filter(|(of, _)| *of == owner);
            wave.waits_for = match (wave.counts.waiting, &before) {
                (0, _) => String::new(),
                (_, Some((_, before))) if own.is_empty() => before.clone(),
                (_, _) => own.clone(),
            };
            let is_over = wave.state == WaveState::Done;
            let open = Some(own).filter(|own| !own.is_empty() && !is_over);
            ahead = open.map(|open| (owner, open)).or(before);
        }
        for wave in &mut self.all {
            wave.eta = wave.eta.filter(|_| wave.state != WaveState::Done);
        }
        compact(self.all, clusters)
    }

    /// Sets the estimated ends. A wave with a cluster whose end is unknown has none.
    fn expect(&mut self, outlook: &Outlook, ends: &Ends, now: Timestamp) {
        let mut of_waves: BTreeMap<usize, Vec<Option<Duration>>> = BTreeMap::new();
        for (seen, end) in outlook.clusters.iter().zip(&ends.clusters) {
            of_waves.entry(self.at(outlook, seen)).or_default().push(*end);
        }
        for placement in outlook.missing.values() {
            of_waves.entry(self.last_of(*placement)).or_default().push(None);
        }
        for (at, own) in of_waves {
            if let Some(wave) = self.all.get_mut(at) {
                wave.eta = WaveEta::of(own.into_iter(), ends.at_least, now);
            }
        }
    }
}

/// Takes out the waves without clusters.
fn compact(waves: Vec<Wave>, clusters: &mut [ClusterView]) -> Vec<Wave> {
    let mut places = Vec::with_capacity(waves.len());
    let mut kept = Vec::with_capacity(waves.len());
    for wave in waves {
        places.push(kept.len());
        if wave.counts.total > 0 {
            kept.push(wave);
        }
    }
    for cluster in clusters {
        cluster.wave = places.get(cluster.wave).copied().unwrap_or_default();
    }
    kept
}

/// The clusters that are updated or soaking, by wave: the first of them by name.
fn movers(clusters: &[ClusterView]) -> BTreeMap<usize, String> {
    let mut found: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for cluster in clusters {
        if matches!(cluster.state, ClusterState::Moving | ClusterState::Soaking) {
            found.entry(cluster.wave).or_default().push(&cluster.name);
        }
    }
    found
        .into_iter()
        .map(|(wave, names)| (wave, few(&names)))
        .collect()
}

/// Returns the first of some names, and how many more there are.
pub(super) fn few(names: &[&str]) -> String {
    let named: Vec<&str> = names.iter().take(NAMED).copied().collect();
    match names.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What stops a placement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brake {
    None,
    Paused,
    Breached,
    Undone,
}

fn is_moving(counts: &Counts) -> bool {
    counts.moving > 0 || counts.soaking > 0
}

fn state(counts: &Counts, brake: Brake) -> WaveState {
    let Counts {
        total,
        done,
        moving,
        soaking,
        waiting,
        held,
        leaving,
        ..
    } = *counts;
    // A cluster that is back has not got what the wave was to bring.
    if brake == Brake::Undone {
        return if moving > 0 {
            WaveState::Open
        } else {
            WaveState::Stopped
        };
    }
    if done == total {
        return WaveState::Done;
    }
    if waiting > 0 && brake == Brake::Paused {
        return WaveState::Paused;
    }
    if brake == Brake::Breached && moving == 0 && soaking == 0 {
        return WaveState::Stopped;
    }
    if waiting == 0 && moving == 0 && soaking == 0 && held == 0 && leaving == 0 {
        return WaveState::Done;
    }
    if waiting > 0 && moving == 0 && soaking == 0 && done == 0 && counts.failures() == 0 {
        return WaveState::Waiting;
    }
    WaveState::Open
}

fn wave(placement: &PlacementOutlook, stage: usize) -> Wave {
    let own: Vec<&GroupOutlook> = placement
        .groups
        .iter()
        .filter(|group| group.stage == stage)
        .collect();
    let is_mandatory = |group: &&&GroupOutlook| {
        let mut mandatory = placement.course.mandatory.iter();
        mandatory.any(|one| one.means(group.index, &group.name))
    };
    let mandatory = own.iter().find(is_mandatory).is_some();
    let by_group = placement.course.rest == Rest::GroupByGroup;
    let name = match own.first() {
        Some(group) if mandatory || by_group => called(group),
        Some(_) | None if stage == 0 => "all clusters".to_owned(),
        Some(_) | None => "the other clusters".to_owned(),
    };
    let counts = placement.stages.get(stage).copied().unwrap_or_default();
    // While a rollout is rolled back, maxFailures and progressDeadline of its strategy do not apply.
    let applies = placement
        .undone
        .as_ref()
        .is_none_or(|undone| undone.since.is_none());
    let deadline = placement.course.deadline.filter(|_| applies);
    Wave {
        mandatory,
        approval: of_stage(placement, stage),
        limit: counts.limit.filter(|limit| *limit < counts.all),
        tolerated: counts.tolerated.filter(|_| applies),
        failures: counts.failures,
        soak_seconds: placement.course.soak.as_secs(),
        deadline_seconds: deadline.map(|length| length.as_secs()),
        ..bare(&name, &format!("{}/{}", placement.namespace, placement.name))
    }
}

fn called(group: &GroupOutlook) -> String {
    if group.name.is_empty() {
        return format!("group {}", group.index);
    }
    group.name.to_string()
}

pub(super) fn bare(name: &str, placement: &str) -> Wave {
    Wave {
        name: name.to_owned(),
        placement: placement.to_owned(),
        mandatory: false,
        state: WaveState::Done,
        counts: Counts::default(),
        limit: None,
        batches: None,
        tolerated: None,
        failures: 0,
        soak_seconds: 0,
        deadline_seconds: None,
        approval: None,
        waits_for: String::new(),
        next_at: None,
        eta: None,
    }
}
