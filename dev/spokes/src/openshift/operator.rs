//! The version operator of a cluster: follows `spec` of the `ClusterVersion` and takes its time. Between two looks it has
//! done what it would have done meanwhile, so that it need not be looked at often.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use semver::Version;
use serde_json::Value;

use super::{
    Channel, Times,
    judge::{Measure, Target, Verdict},
    release::image_of,
};
use crate::fault::{Phase, Troubles};

/// Where an upgrade that is stuck stops, in hundredths.
const STUCK_AT: u32 = 84;

/// The version operator of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(super) times: Times,
    /// How many workers the cluster has.
    pub(super) workers: u32,
    /// What the cluster has been told to be, oldest first; never empty.
    pub(super) entries: Vec<Entry>,
    pub(super) wish: Wish,
    pub(super) asked: DesiredUpdate,
    pub(super) run: Option<Run>,
    pub(super) troubles: Troubles,
    /// When the wish was last judged.
    pub(super) judged: Timestamp,
    /// When the workers will have followed the control plane.
    pub(super) pools_at: Timestamp,
    /// The moment up to which everything has happened.
    pub(super) now: Timestamp,
    revision: u64,
}

/// One row of `status.history`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) version: Version,
    pub(super) image: String,
    pub(super) started: Timestamp,
    /// When it was complete, or given up for another one.
    pub(super) ended: Option<Timestamp>,
    pub(super) complete: bool,
}

/// What `spec` of the `ClusterVersion` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(super) generation: i64,
    pub(super) channel: Option<Channel>,
    pub(super) target: Option<Target>,
    /// Whether parts of the release are not managed: then no other minor version is accepted.
    pub(super) overridden: bool,
}

/// What becomes of a wish that has not been taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DesiredUpdate {
    Nothing,
    Weighing { since: Timestamp },
    Invalid { message: String },
    Refused { reason: &'static str, message: String },
}

/// An upgrade that is under way.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) done: Duration,
    at: Timestamp,
}

impl Wish {
    /// Reads `spec`.
    pub(crate) fn read(spec: Option<&Value>, generation: i64) -> Self {
        let at = |pointer: &str| spec.and_then(|spec| spec.pointer(pointer));
        let text = |pointer: &str| at(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let target = Target {
            version: text("/desiredUpdate/version"),
            image: text("/desiredUpdate/image"),
            force: at("/desiredUpdate/force")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
        };
        let overrides = at("/overrides").and_then(Value::as_array);
        let unmanaged = |row: &Value| row.get("unmanaged").and_then(Value::as_bool).unwrap_or_default();
        Self {
            generation,
            channel: Channel::parse(&text("/channel")),
            target: Some(target).filter(|target| !target.version.is_empty() || !target.image.is_empty()),
            overridden: overrides.is_some_and(|rows| rows.iter().any(unmanaged)),
        }
    }
}

impl Operator {
    /// Returns the operator of a cluster that was installed in this version, now.
    pub(crate) fn new(version: &Version, workers: u32, times: Times, now: Timestamp) -> Self {
        let installed = Entry {
            image: image_of(&version.to_string()),
            version: version.clone(),
            started: now,
            ended: Some(now),
            complete: true,
        };
        Self {
            times,
            workers,
            entries: vec![installed],
            wish: Wish::default(),
            asked: DesiredUpdate::Nothing,
            run: None,
            troubles: Troubles::default(),
            judged: now,
            pools_at: now,
            now,
            revision: 0,
        }
    }

    /// Returns whether no other version has been wanted yet.
    pub(crate) fn is_new(&self) -> bool {
        self.entries.len() == 1 && self.phase() == Phase::Idle
    }

    /// Returns how long things take here.
    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    /// Returns the generation of the spec that was last looked at.
    pub(crate) fn observed(&self) -> i64 {
        self.wish.generation
    }

    /// Returns a number that grows whenever something but progress has changed.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns how far the cluster is with its upgrade.
    pub(crate) fn phase(&self) -> Phase {
        match (&self.run, &self.asked) {
            (Some(_), _) => Phase::Moving,
            (None, DesiredUpdate::Nothing) => Phase::Idle,
            (
                None,
                DesiredUpdate::Weighing { .. }
                | DesiredUpdate::Invalid { .. }
                | DesiredUpdate::Refused { .. },
            ) => Phase::Asked,
        }
    }

    /// Returns the version that the cluster has: the last one that was complete.
    pub(crate) fn version(&self) -> Option<&Version> {
        let mut complete = self.entries.iter().rev().filter(|entry| entry.complete);
        complete.next().map(|entry| &entry.version)
    }

    /// Takes in what the spec says.
    pub(crate) fn observe(&mut self, wish: Wish) {
        let same = wish.target == self.wish.target && wish.channel == self.wish.channel;
        let asked = match &wish.target {
            None => DesiredUpdate::Nothing,
            Some(target) if self.is_newest(target) => DesiredUpdate::Nothing,
            Some(_) if same => self.asked.clone(),
            Some(_) => DesiredUpdate::Weighing { since: self.now },
        };
        self.revision += 1;
        self.asked = asked;
        self.wish = wish;
    }

    fn is_newest(&self, target: &Target) -> bool {
        self.entries.last().is_some_and(|newest| {
            let version = target.version.is_empty() || newest.version.to_string() == target.version;
            version && (target.image.is_empty() || newest.image == target.image)
        })
    }

    /// Lets time pass until now, and lets these faults be in force from then on. A verdict ends the look: what its upgrade
    /// meets depends on faults that only count from then on.
    pub(crate) fn live(&mut self, now: Timestamp, troubles: Troubles) {
        let weighed = self.weighed_at().filter(|end| *end <= now);
        self.step(weighed.unwrap_or(now));
        if troubles != self.troubles {
            self.revision += 1;
            self.troubles = troubles;
            if matches!(self.asked, DesiredUpdate::Refused { .. }) {
                self.asked = DesiredUpdate::Weighing { since: self.now };
            }
        }
        if weighed.is_some() {
            self.judge();
        }
    }

    fn weighed_at(&self) -> Option<Timestamp> {
        match self.asked {
            DesiredUpdate::Weighing { since } => Some(later(since, self.times.accept)),
            DesiredUpdate::Nothing | DesiredUpdate::Invalid { .. } | DesiredUpdate::Refused { .. } => None,
        }
    }

    fn step(&mut self, to: Timestamp) {
        self.now = self.now.max(to);
        let (needed, limit) = (self.needed(), self.limit());
        let Some(run) = &mut self.run else {
            return;
        };
        let spent = between(run.at, to);
        run.done = run.done.max(run.done.saturating_add(spent).min(limit));
        run.at = run.at.max(to);
        if run.done < needed {
            return;
        }
        let ended = earlier(run.at, run.done.saturating_sub(needed));
        self.run = None;
        self.revision += 1;
        self.pools_at = later(ended, self.troubles.pools_lag.unwrap_or(self.times.pools));
        if let Some(newest) = self.entries.last_mut() {
            newest.ended = Some(ended);
            newest.complete = true;
        }
    }

    fn judge(&mut self) {
        let (Some(target), Some(newest)) = (&self.wish.target, self.entries.last()) else {
            return;
        };
        let before: Vec<_> = self
            .entries
            .iter()
            .rev()
            .skip(1)
            .map(|entry| &entry.version)
            .collect();
        let measure = Measure {
            channel: self.wish.channel.as_ref(),
            current: &newest.version,
            before: &before,
            not_upgradeable: self.not_upgradeable(),
            rejected: self.troubles.rejected.as_deref(),
        };
        let verdict = measure.judge(target);
        self.judged = self.now;
        self.revision += 1;
        self.asked = match verdict {
            Verdict::Accepted { version, image } => {
                self.begin(version, image);
                DesiredUpdate::Nothing
            }
            Verdict::Invalid { message } => DesiredUpdate::Invalid { message },
            Verdict::Refused { reason, message } => DesiredUpdate::Refused { reason, message },
        };
    }

    fn begin(&mut self, version: Version, image: String) {
        if let Some(newest) = self.entries.last_mut().filter(|newest| newest.ended.is_none()) {
            newest.ended = Some(self.now);
        }
        self.entries.push(Entry {
            version,
            image,
            started: self.now,
            ended: None,
            complete: false,
        });
        self.run = Some(Run {
            done: Duration::ZERO,
            at: self.now,
        });
    }

    /// Returns why the cluster takes no other minor version.
    pub(super) fn not_upgradeable(&self) -> Option<&str> {
        let overridden = "Disabling ownership via cluster version overrides prevents upgrades.";
        let trouble = self.troubles.not_upgradeable.as_deref();
        trouble.or_else(|| self.wish.overridden.then_some(overridden))
    }

    /// Returns how long an upgrade takes.
    pub(super) fn needed(&self) -> Duration {
        self.troubles.takes.unwrap_or(self.times.upgrade)
    }

    /// Returns how far an upgrade can come now.
    fn limit(&self) -> Duration {
        match self.troubles.stuck {
            Some(_) => self.needed().saturating_mul(STUCK_AT) / 100,
            None => Duration::MAX,
        }
    }

    /// Returns whether the cluster looks different from one moment to the next, or soon will.
    pub(crate) fn is_moving(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.done < self.limit()) || self.next().is_some()
    }

    /// Returns the next moment at which something happens by itself.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let stuck = self.troubles.stuck.is_some();
        let run = self.run.as_ref().filter(|_| !stuck);
        let ends = run.map(|run| later(run.at, self.needed().saturating_sub(run.done)));
        let pools = Some(self.pools_at).filter(|at| *at > self.now);
        [self.weighed_at(), ends, pools].into_iter().flatten().min()
    }
}

fn later(moment: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    moment.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn earlier(moment: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    moment.saturating_sub(by).unwrap_or(Timestamp::MIN)
}

fn between(one: Timestamp, other: Timestamp) -> Duration {
    Duration::try_from(other.duration_since(one)).unwrap_or_default()
}

#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;
