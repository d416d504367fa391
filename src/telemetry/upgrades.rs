//! How many upgrades of clusters there are, by how far they are, and how far their clusters are.
//!
//! Decides names and labels. Counts what is in statuses, so that every replica tells the same.

use api::reason::Reason;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The states of `status.stateCounts`, in its order.
const STATES: [&str; 5] = ["NotStarted", "Initialized", "Partial", "Complete", "Failed"];
/// The words of `status.phase`. An upgrade that the controller has not looked at yet has no phase, and counts as pending.
const PHASES: [&str; 10] = [
    "Pending",
    "Preview",
    "Canary",
    "Upgrading",
    "Waiting",
    Reason::WaitingForApproval.as_str(),
    "Paused",
    "Halted",
    "Failed",
    "Complete",
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Phase {
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: &'static str,
}

/// Counts of upgrades. Clones tell into the same place.
#[derive(Clone, Debug, Default)]
pub struct UpgradeMetrics {
    upgrades: Family<Phase, Gauge>,
    clusters: Family<State, Gauge>,
}

impl UpgradeMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register("upgrades", "Cluster upgrades, by progress", self.upgrades.clone());
        all.register(
            "upgrade_clusters",
            "Clusters of all upgrades, by progress; a cluster is counted once per upgrade",
            self.clusters.clone(),
        );
    }

    /// Notes the phase of every upgrade that there is, and its `stateCounts`:
    /// not started, initialized, partial, complete, failed.
    pub fn tell<'s>(&self, upgrades: impl IntoIterator<Item = (&'s str, [i64; 5])>) {
        let mut phases = [0_i64; PHASES.len()];
        let mut states = [0_i64; STATES.len()];
        for (phase, counts) in upgrades {
            let known = PHASES.iter().position(|known| *known == phase);
            if let Some(count) = phases.get_mut(known.unwrap_or(0)) {
                *count = count.saturating_add(1);
            }
            for (sum, count) in states.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
        }
        for (phase, count) in PHASES.into_iter().zip(phases) {
            self.upgrades.get_or_create(&Phase { phase }).set(count);
        }
        for (state, count) in STATES.into_iter().zip(states) {
            self.clusters.get_or_create(&State { state }).set(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::telemetry::Metrics;

    #[test]
    fn every_upgrade_counts_in_one_phase_and_goes_when_it_is_deleted() {
        let metrics = Metrics::default();
        metrics.upgrades().tell([
            ("Upgrading", [2, 0, 1, 3, 0]),
            ("Halted", [0, 0, 0, 1, 2]),
            ("", [0; 5]),
        ]);
        let text = metrics.text();
        for line in [
            "tidegate_upgrades{phase=\"Upgrading\"} 1",
            "tidegate_upgrades{phase=\"Halted\"} 1",
            "tidegate_upgrades{phase=\"Pending\"} 1",
            "tidegate_upgrades{phase=\"Complete\"} 0",
            "tidegate_upgrade_clusters{state=\"Complete\"} 4",
            "tidegate_upgrade_clusters{state=\"Failed\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        metrics.upgrades().tell([]);
        let text = metrics.text();
        assert!(
            text.lines()
                .any(|found| found == "tidegate_upgrade_clusters{state=\"Failed\"} 0"),
            "{text}"
        );
    }
}
