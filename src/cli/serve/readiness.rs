//! When the program says that it is ready.
//!
//! Decides that it is ready when a probe would hear so, and that the log says once what it waits for. Never decides what
//! is missing; the watches do.

use std::time::Duration;

use jiff::Timestamp;
use tracing::{info, warn};

use crate::server::Health;
use crate::telemetry::StalenessMetrics;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a start may take until it is said what it waits for: a hub is read within this as a rule.
const SAID_AFTER: Duration = Duration::from_secs(2);

/// Waits until questions may come. Tells once which kinds the hub lacks, and once that they have come.
pub(super) async fn ready(health: &Health, watches: &StalenessMetrics) {
    let (mut waited, mut is_told) = (Duration::ZERO, false);
    while !health.is_ready(Timestamp::now()) {
        tokio::time::sleep(LOOK_EVERY).await;
        waited = waited.saturating_add(LOOK_EVERY);
        let missing = watches.missing();
        if missing.is_empty() || is_told || waited < SAID_AFTER {
            continue;
        }
        is_told = true;
        warn!(
            kinds = missing.join(", "),
            "the hub does not serve kinds of Open Cluster Management; waiting for them: install it, or for a trial without it \
             `tidegate crds --for-hub-without-ocm | kubectl apply -f -`; `tidegate doctor` says more"
        );
    }
    if is_told {
        info!("the kinds of Open Cluster Management have come");
    }
}
