//! How an upgrade would go on if it were left alone: which clusters start when, which never do, and when it would be over.
//!
//! Decides nothing about an upgrade: `plan` plans, on a copy of what is known, where every cluster that was told succeeds after
//! as long as those took that have succeeded. Where none has, it is not known how long, and the course says so.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use api::reason::Reason;
use api::work::ManifestWork;
use model::Name;

use crate::upgrade::order::natural;
use crate::upgrade::pace::Hold;
use crate::upgrade::plan::{Plan, plan, plan_with_outlook};
use crate::upgrade::record::Phase;
use crate::upgrade::writes::Write;
use store::upgrade::Runs;
use store::upgrade::marks::Stage;
use store::upgrade::{Applied, Manifest, Mode, View, Work, WorksByName};

/// How long the upgrade of a cluster is taken to be where none was observed.
const ASSUMED: Duration = Duration::from_hours(1);
/// Maximum number of plans: of an upgrade with more steps, the rest is reported as a number.
const MOST_PLANS: usize = 600;

/// What a course rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    /// How many clusters of this upgrade were seen from the beginning of their upgrade to its end.
    pub observed: usize,
    /// How long one is taken to take: the mean of those, or an hour where there are none.
    pub each: Duration,
}

/// Clusters that start at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CourseWave {
    /// When.
    pub after: Duration,
    /// Name of their stage; empty where they are in none.
    pub stage: String,
    /// Which.
    pub clusters: Vec<Name>,
}

/// How an upgrade would go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// Who starts when.
    pub waves: Vec<CourseWave>,
    /// Who could start and never does, and what holds it.
    pub waiting: BTreeMap<Hold, Vec<Name>>,
    /// Who cannot, by reason and message.
    pub held: BTreeMap<(String, String), Vec<Name>>,
    /// Who does not go on until an administrator acts: when they end, and with them the upgrade, is not known.
    pub stalled: Vec<Name>,
    /// When the last cluster that starts has ended; absent when a cluster is stalled, or when there are more waves than were planned.
    pub ends_after: Option<Duration>,
    /// When each cluster has ended, those that have already after no time; absent for clusters that never do.
    pub cluster_ends: BTreeMap<Name, Duration>,
    /// When each stage is complete, with its soak time; absent for stages that never are.
    pub stage_ends: BTreeMap<String, Duration>,
    /// The value of `status.phase` at the end of the forecast.
    pub phase: String,
    /// What the times rest on.
    pub basis: Basis,
}

/// Returns how an upgrade would go on from now.
pub fn forecast(view: &View<'_>, now: Timestamp) -> Course {
    let (_, outlook) = plan_with_outlook(view, now);
    let stages: BTreeMap<Name, String> = outlook
        .iter()
        .map(|seen| (seen.cluster.clone(), seen.record.stage.clone()))
        .collect();
    let stalled: BTreeSet<Name> = outlook
        .into_iter()
        .filter(|seen| seen.record.needs_admin().is_some())
        .map(|seen| seen.cluster)
        .collect();
    let stalled: Vec<Name> = natural(&stalled).into_iter().cloned().collect();
    let mut world = World::of(view, now);
    let mut waves: Vec<CourseWave> = Vec::new();
    let mut last = Plan::default();
    let mut is_cut = true;
    let mut cluster_ends = BTreeMap::new();
    let mut stage_ends = BTreeMap::new();
    for _ in 0..MOST_PLANS {
        last = world.plan(view);
        let started = world.write(&last);
        if !started.is_empty() {
            note(&mut waves, &stages, world.passed(now), &started);
        }
        world.note_ends(world.passed(now), &mut cluster_ends, &mut stage_ends);
        let is_quiet = last.writes.is_empty() && last.status.is_none() && last.finalizer.is_none();
        if is_quiet && !world.pass(last.recheck_at) {
            is_cut = false;
            break;
        }
    }
    let mut waiting: BTreeMap<Hold, Vec<Name>> = BTreeMap::new();
    for wait in &last.waits {
        waiting
            .entry(wait.on.clone())
            .or_default()
            .push(wait.cluster.clone());
    }
    let mut held: BTreeMap<(String, String), Vec<Name>> = BTreeMap::new();
    for told in world.status.clusters.iter().filter(|told| told.phase == "Held") {
        let why = (told.reason.clone(), told.message.clone());
        held.entry(why).or_default().push(told.name.as_str().into());
    }
    Course {
        waves,
        waiting,
        held,
        ends_after: (!is_cut && stalled.is_empty()).then(|| world.passed(now)),
        stalled,
        cluster_ends,
        stage_ends,
        phase: world.status.phase.clone(),
        basis: world.basis,
    }
}

fn note(
    waves: &mut Vec<CourseWave>,
    stages: &BTreeMap<Name, String>,
    after: Duration,
    started: &BTreeSet<Name>,
) {
    for name in natural(started) {
        let stage = stages.get(name).map_or("", String::as_str);
        let last = waves.last_mut();
        match last.filter(|wave| wave.after == after && wave.stage == stage) {
            Some(wave) => wave.clusters.push(name.clone()),
            None => waves.push(CourseWave {
                after,
                stage: stage.to_owned(),
                clusters: vec![name.clone()],
            }),
        }
    }
}

/// What is known, and goes on.
struct World {
    status: api::cluster::ManagedClustersUpgradeStatus,
    works: BTreeMap<Name, WorksByName>,
    begun: BTreeSet<Name>,
    now: Timestamp,
    basis: Basis,
    revision: u64,
}

impl World {
    fn of(view: &View<'_>, now: Timestamp) -> Self {
        let works = view.works.clone().into_owned();
        let has_ours = |works: &WorksByName| works.values().any(|work| work.owner == view.upgrade.uid);
        Self {
            status: view.upgrade.status.clone(),
            begun: works
                .iter()
                .filter(|(_, works)| has_ours(works))
                .map(|(name, _)| name.clone())
                .collect(),
            works,
            now,
            basis: basis(view),
            revision: 0,
        }
    }

    fn plan(&self, view: &View<'_>) -> Plan {
        let view = View {
            upgrade: store::upgrade::Upgrade {
                held: true,
                status: &self.status,
                ..view.upgrade
            },
            works: Cow::Borrowed(&self.works),
            clusters: Cow::Borrowed(&view.clusters),
            ..view.clone_sources()
        };
        plan(&view, self.now)
    }

    fn passed(&self, since: Timestamp) -> Duration {
        Duration::try_from(self.now.duration_since(since)).unwrap_or_default()
    }

    /// Notes which clusters and stages have ended by now.
    fn note_ends(
        &self,
        passed: Duration,
        clusters: &mut BTreeMap<Name, Duration>,
        stages: &mut BTreeMap<String, Duration>,
    ) {
        for told in self
            .status
            .clusters
            .iter()
            .filter(|told| told.phase == Phase::Done.word())
        {
            clusters.entry(told.name.as_str().into()).or_insert(passed);
        }
        for told in &self.status.stages {
            let is_over = told.complete.saturating_add(told.failed) >= told.total;
            if is_over && *told.phase == Reason::Complete {
                stages.entry(told.name.clone()).or_insert(passed);
            }
        }
    }

    /// Writes a plan; returns the clusters that begin with it.
    fn write(&mut self, plan: &Plan) -> BTreeSet<Name> {
        let mut started = BTreeSet::new();
        for write in &plan.writes {
            let (cluster, name) = write.place();
            self.revision = self.revision.saturating_add(1);
            match write {
                Write::Create { body, .. } => {
                    if self.begun.insert(cluster.clone()) {
                        started.insert(cluster.clone());
                    }
                    let work = self.created(body);
                    let works = self.works.entry(cluster.clone()).or_default();
                    works.extend(work.map(|work| (name.to_owned(), work)));
                }
                Write::Update { patch, mode, .. } => {
                    let works = self.works.get_mut(cluster);
                    let Some(work) = works.and_then(|works| works.get_mut(name)) else {
                        continue;
                    };
                    let version = "/spec/workload/manifests/0/spec/desiredUpdate/version";
                    let version = patch.pointer(version).and_then(serde_json::Value::as_str);
                    work.mode = *mode;
                    if *mode == Mode::Apply {
                        // The upgrade, or its next hop, takes as long again.
                        version.unwrap_or_default().clone_into(&mut work.target.0);
                        work.created = self.now;
                        work.manifests.clear();
                    }
                }
                Write::Delete { .. } => {
                    if let Some(works) = self.works.get_mut(cluster) {
                        works.remove(name);
                    }
                }
            }
        }
        if let Some(status) = &plan.status {
            self.status = status.clone();
        }
        started
    }

    fn created(&self, body: &serde_json::Value) -> Option<Work> {
        let mut body = body.clone();
        let made = json!({"uid": format!("forecast {}", self.revision), "resourceVersion": self.revision.to_string(),
            "creationTimestamp": self.now.to_string()});
        let metadata = body
            .get_mut("metadata")
            .and_then(serde_json::Value::as_object_mut)?;
        metadata.extend(made.as_object().cloned().into_iter().flatten());
        let object: ManifestWork = serde_json::from_value(body).ok()?;
        Some(Work::of(&object))
    }

    /// Lets time pass until the next cluster answers, or until something else changes; returns whether anything will.
    fn pass(&mut self, recheck: Option<Timestamp>) -> bool {
        let due = |work: &Work| ends(work, self.basis.each);
        let open = self.works.values().flat_map(BTreeMap::values);
        let next = open.filter(|work| is_open(work)).filter_map(due).min();
        let recheck = recheck.filter(|at| *at > self.now);
        let Some(next) = next.into_iter().chain(recheck).min() else {
            return false;
        };
        self.now = self.now.max(next);
        let (now, each) = (self.now, self.basis.each);
        for work in self.works.values_mut().flat_map(BTreeMap::values_mut) {
            if is_open(work) && ends(work, each).is_some_and(|end| end <= now) {
                succeed(work);
            }
        }
        true
    }
}

/// Whether a cluster has still to answer.
fn is_open(work: &Work) -> bool {
    !work.deleting && work.stage.is_some() && !is_answered(work)
}

fn is_answered(work: &Work) -> bool {
    match work.stage {
        Some(Stage::Platform) => {
            crate::upgrade::judge::platform(work) == crate::upgrade::judge::Platform::Done
        }
        Some(Stage::Operators) => {
            crate::upgrade::judge::approver(work) == crate::upgrade::record::ActionState::Available
        }
        Some(Stage::Pre | Stage::Post) => {
            crate::upgrade::judge::action(work) == crate::upgrade::record::ActionState::Available
        }
        None => true,
    }
}

/// The time of a cluster is that of its own upgrade; what goes before and after it is in the mean of those that were seen.
fn ends(work: &Work, each: Duration) -> Option<Timestamp> {
    let is_asked = work.mode == Mode::ReadOnly && work.manifests.is_empty();
    let length = match work.stage {
        Some(Stage::Platform) if !is_asked => each,
        Some(_) | None => Duration::ZERO,
    };
    work.created
        .checked_add(SignedDuration::try_from(length).ok()?)
        .ok()
}

fn succeed(work: &mut Work) {
    work.applied = Applied::Yes;
    let (version, image) = work.target.clone();
    let count = work.count.max(1);
    let feedback: BTreeMap<String, String> = match work.stage {
        Some(Stage::Platform) => [
            ("version", version),
            ("image", image),
            ("state", "Completed".to_owned()),
            ("poolUpdated", "True".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
        Some(_) | None => BTreeMap::from([("jobComplete".to_owned(), "True".to_owned())]),
    };
    let runs = (work.stage != Some(Stage::Platform)).then_some(Runs::Job);
    let manifest = Manifest {
        runs,
        conditions: BTreeMap::new(),
        feedback,
    };
    work.manifests = vec![manifest; count];
}

/// How long the clusters of this upgrade took that have succeeded.
fn basis(view: &View<'_>) -> Basis {
    let seen = view
        .upgrade
        .status
        .clusters
        .iter()
        .filter(|told| told.state == "Complete");
    let lengths: Vec<Duration> = seen
        .filter_map(|told| {
            let (from, to) = (told.started_at.as_ref()?.0, told.finished_at.as_ref()?.0);
            Duration::try_from(to.duration_since(from)).ok()
        })
        .collect();
    let sum: Duration = lengths.iter().sum();
    let mean = u32::try_from(lengths.len())
        .ok()
        .and_then(|count| sum.checked_div(count));
    Basis {
        observed: lengths.len(),
        each: mean.unwrap_or(ASSUMED),
    }
}
