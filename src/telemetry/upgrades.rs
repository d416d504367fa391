//! How many upgrades of clusters there are, by how far they are, and how far their clusters are.
//!
//! Decides names and labels. Counts what stands in statuses, so that every replica tells the same.

use api::cluster::ManagedClustersUpgradeStatus;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The words of `status.phase`. An upgrade that nobody has looked at yet is pending.
const PHASES: [&str; 9] = [
    "Pending",
    "Preview",
    "Canary",
    "Upgrading",
    "Waiting",
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
        all.register(
            "upgrades",
            "Upgrades of clusters, by how far they are",
            self.upgrades.clone(),
        );
        all.register(
            "upgrade_clusters",
            "Clusters of all upgrades, by how far they are; a cluster counts once in each upgrade",
            self.clusters.clone(),
        );
    }

    /// Notes the statuses of all upgrades that there are.
    pub fn tell<'s>(&self, statuses: impl IntoIterator<Item = &'s ManagedClustersUpgradeStatus>) {
        let mut phases = [0_i64; PHASES.len()];
        let mut states = [0_i64; 5];
        for status in statuses {
            let known = PHASES.iter().position(|phase| *phase == status.phase);
            if let Some(count) = phases.get_mut(known.unwrap_or(0)) {
                *count = count.saturating_add(1);
            }
            let counts = status.state_counts.unwrap_or_default();
            let each = [
                counts.not_started,
                counts.initialized,
                counts.partial,
                counts.complete,
                counts.failed,
            ];
            for (sum, count) in states.iter_mut().zip(each) {
                *sum = sum.saturating_add(count);
            }
        }
        for (phase, count) in PHASES.into_iter().zip(phases) {
            self.upgrades.get_or_create(&Phase { phase }).set(count);
        }
        let names = ["NotStarted", "Initialized", "Partial", "Complete", "Failed"];
        for (state, count) in names.into_iter().zip(states) {
            self.clusters.get_or_create(&State { state }).set(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::cluster::UpgradeStateCounts;
    use crate::telemetry::Metrics;

    fn status(phase: &str, complete: i64, failed: i64) -> ManagedClustersUpgradeStatus {
        ManagedClustersUpgradeStatus {
            phase: phase.to_owned(),
            state_counts: Some(UpgradeStateCounts {
                complete,
                failed,
                ..UpgradeStateCounts::default()
            }),
            ..ManagedClustersUpgradeStatus::default()
        }
    }

    #[test]
    fn every_upgrade_counts_in_one_phase_and_goes_when_it_is_deleted() {
        let metrics = Metrics::default();
        let all = [status("Upgrading", 3, 0), status("Halted", 1, 2), status("", 0, 0)];
        metrics.upgrades().tell(&all);
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
