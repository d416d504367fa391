//! What the store counts of the fleet, on its way to the metrics.
//!
//! Decides nothing: what changed since the last look is told, and nothing is told twice.

use std::sync::Arc;

use crate::telemetry::{AddOnCounts, FleetMetrics};
use store::{Store, Tally};

/// Whether what arrives is counted here: every replica sees it, and it must count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrivals {
    Counted,
    LeftToOthers,
}

impl From<bool> for Arrivals {
    fn from(leads: bool) -> Self {
        if leads { Self::Counted } else { Self::LeftToOthers }
    }
}

/// Tells how the add-ons stand whose instances have changed.
pub(super) fn tell(store: &mut Store, fleet: &FleetMetrics, arrivals: Arrivals) {
    for (addon, tally) in store.take_tallies() {
        fleet.tell(&addon, tally.as_ref().map(counts));
    }
    for one in store.take_arrivals() {
        if arrivals == Arrivals::Counted {
            fleet.arrived(&one.addon, one.took);
        }
    }
}

fn counts(tally: &Tally) -> AddOnCounts {
    let standings = tally.standings();
    let versions = tally.versions();
    AddOnCounts {
        instances: standings
            .map(|(standing, count)| (standing.word(), count))
            .collect(),
        rollout: tally
            .headway()
            .map(|(headway, count)| (headway.word(), count))
            .collect(),
        versions: versions
            .map(|(version, count)| (Arc::from(&**version), count))
            .collect(),
    }
}
