//! The fleet by add-on: instances by state, how far a change has come, versions in use, and how long changes take to arrive.
//!
//! Decides names, labels and the only exception to "no names in labels": that of an add-on stands there, and never more than
//! [`MOST_ADDONS`] of them; what comes behind those in order is one line, `_other`. Never names a cluster. Counts what is in
//! statuses, so that every replica tells the same; only what arrives is counted where it is written, or it would count twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// So many add-ons have lines of their own: with ten versions each, five thousand lines.
const MOST_ADDONS: usize = 200;
/// So many versions of one add-on have.
const MOST_VERSIONS: usize = 10;
/// What the rest is called; no object can have this name.
const OTHER: &str = "_other";

/// What one add-on counts for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddOnCounts {
    /// Its instances by state, each state once.
    pub instances: Vec<(&'static str, usize)>,
    /// The clusters of its rollouts by how far they are, each once.
    pub rollout: Vec<(&'static str, usize)>,
    /// How many instances run each version.
    pub versions: Vec<(Arc<str>, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAddOn {
    addon: String,
}

/// From five seconds, an agent that is quick, to a day, a fleet of which a part sleeps.
fn buckets() -> Histogram {
    Histogram::new([
        5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14_400.0, 86_400.0,
    ])
}

/// The fleet by add-on. Clones tell into the same place.
#[derive(Clone, Debug)]
pub struct FleetMetrics {
    counts: Arc<Mutex<BTreeMap<String, AddOnCounts>>>,
    arrivals: Family<OfAddOn, Histogram, fn() -> Histogram>,
    /// The add-ons that have a histogram of their own: those that had something arrive first.
    measured: Arc<Mutex<BTreeSet<String>>>,
}

impl Default for FleetMetrics {
    fn default() -> Self {
        Self {
            counts: Arc::default(),
            arrivals: Family::new_with_constructor(buckets),
            measured: Arc::default(),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FleetMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register_with_unit(
            "addon_convergence_duration",
            "Time from the assignment of configurations to a cluster until its agent reports them as applied",
            Unit::Seconds,
            self.arrivals.clone(),
        );
        all.register_collector(Box::new(Gauges(Arc::clone(&self.counts))));
    }

    /// Notes what an add-on counts for; `None` for a deleted one.
    pub fn tell(&self, addon: &str, counts: Option<AddOnCounts>) {
        if let Some(counts) = counts {
            lock(&self.counts).insert(addon.to_owned(), counts);
            return;
        }
        lock(&self.counts).remove(addon);
        if lock(&self.measured).remove(addon) {
            let addon = addon.to_owned();
            self.arrivals.remove(&OfAddOn { addon });
        }
    }

    /// Counts configurations that an agent has confirmed, and how long after their assignment.
    pub fn arrived(&self, addon: &str, took: Duration) {
        let mut measured = lock(&self.measured);
        let has_own = measured.contains(addon) || measured.len() < MOST_ADDONS;
        if has_own && !measured.contains(addon) {
            measured.insert(addon.to_owned());
        }
        drop(measured);
        let addon = if has_own { addon } else { OTHER }.to_owned();
        self.arrivals
            .get_or_create(&OfAddOn { addon })
            .observe(took.as_secs_f64());
    }
}

/// The gauges, made again for every scrape.
#[derive(Debug)]
struct Gauges(Arc<Mutex<BTreeMap<String, AddOnCounts>>>);

/// Lines of one metric: the add-on, the other label's value, and the count.
type Lines = BTreeMap<(String, String), usize>;

impl Gauges {
    fn lines(&self) -> [Lines; 3] {
        let [mut instances, mut rollout, mut versions] = [Lines::new(), Lines::new(), Lines::new()];
        for (place, (addon, counts)) in lock(&self.0).iter().enumerate() {
            let addon = if place < MOST_ADDONS { addon } else { OTHER };
            let pairs = [
                (&mut instances, &counts.instances),
                (&mut rollout, &counts.rollout),
            ];
            for (lines, states) in pairs {
                for (state, count) in states {
                    add(lines, addon, state, *count);
                }
            }
            // Versions of the rest say nothing: each add-on counts its own.
            if addon == OTHER {
                continue;
            }
            let mut used = counts.versions.clone();
            used.sort_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
            for (rank, (version, count)) in used.iter().enumerate() {
                let version = if rank < MOST_VERSIONS { version } else { OTHER };
                add(&mut versions, addon, version, *count);
            }
        }
        [instances, rollout, versions]
    }
}

fn add(lines: &mut Lines, addon: &str, value: &str, count: usize) {
    let line = lines.entry((addon.to_owned(), value.to_owned())).or_default();
    *line = line.saturating_add(count);
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let [instances, rollout, versions] = self.lines();
        let families = [
            (
                "addon_instances",
                "Instances of an add-on (ManagedClusterAddOns), by the state in their status",
                "state",
                instances,
            ),
            (
                "addon_rollout_clusters",
                "Clusters of an add-on, by the progress of the rollout",
                "state",
                rollout,
            ),
            (
                "addon_versions",
                "Instances of an add-on, by installed version (status.currentVersion)",
                "version",
                versions,
            ),
        ];
        for (name, help, label, lines) in families {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for ((addon, value), count) in &lines {
                let labels = [("addon", addon.as_str()), (label, value.as_str())];
                let count = ConstGauge::new(i64::try_from(*count).unwrap_or(i64::MAX));
                count.encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    fn text(fleet: &FleetMetrics) -> String {
        let mut all = Registry::default();
        fleet.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        text
    }

    fn counts(ready: usize, versions: &[(&str, usize)]) -> AddOnCounts {
        AddOnCounts {
            instances: vec![("ready", ready), ("failed", 1)],
            rollout: vec![("done", ready), ("failed", 1)],
            versions: versions
                .iter()
                .map(|(version, count)| (Arc::from(*version), *count))
                .collect(),
        }
    }

    #[test]
    fn an_addon_is_counted_by_state_and_version_and_is_removed_when_it_is_deleted() {
        let fleet = FleetMetrics::default();
        fleet.tell("hello", Some(counts(3, &[("v1", 3), ("v\"2\"", 1)])));
        fleet.arrived("hello", Duration::from_secs(7));
        let found = text(&fleet);
        for line in [
            "addon_instances{addon=\"hello\",state=\"ready\"} 3",
            "addon_rollout_clusters{addon=\"hello\",state=\"failed\"} 1",
            "addon_versions{addon=\"hello\",version=\"v\\\"2\\\"\"} 1",
            "addon_convergence_duration_seconds_bucket{le=\"15.0\",addon=\"hello\"} 1",
        ] {
            assert!(found.lines().any(|one| one == line), "{line} in\n{found}");
        }
        fleet.tell("hello", None);
        assert!(!text(&fleet).contains("hello"), "{}", text(&fleet));
    }

    #[test]
    fn however_many_addons_and_versions_there_are_the_lines_end_somewhere() {
        let fleet = FleetMetrics::default();
        let versions: Vec<String> = (0..40).map(|number| format!("v{number:02}")).collect();
        let versions: Vec<(&str, usize)> = versions.iter().map(|version| (version.as_str(), 1)).collect();
        for number in 0..MOST_ADDONS + 3 {
            let name = format!("a{number:04}");
            fleet.tell(&name, Some(counts(2, &versions)));
            fleet.arrived(&name, Duration::from_secs(1));
        }
        let found = text(&fleet);
        let having = |words: &str| found.lines().filter(|line| line.starts_with(words)).count();
        assert_eq!(having("addon_instances{"), 2 * (MOST_ADDONS + 1));
        assert_eq!(having("addon_versions{"), MOST_ADDONS * (MOST_VERSIONS + 1));
        assert_eq!(
            having("addon_convergence_duration_seconds_count{"),
            MOST_ADDONS + 1
        );
        for line in [
            "addon_instances{addon=\"_other\",state=\"ready\"} 6",
            "addon_versions{addon=\"a0000\",version=\"_other\"} 30",
            "addon_convergence_duration_seconds_count{addon=\"_other\"} 3",
        ] {
            assert!(found.lines().any(|one| one == line), "{line}");
        }
    }
}
