//! What is looked at once when the program starts: how old the hub is, who labels its clusters, and when it is ready.
//!
//! OCM's registration controller labels clusters where OCM's operator runs the hub: it writes the same labels, at once, so that ours
//! would be written twice. Where the flag says what is wanted, the hub is not asked.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tracing::{debug, info, warn};

use crate::cli::{Only, ServeArgs};
use crate::server::Health;
use crate::telemetry::StalenessMetrics;
use admission::CONDITIONS_SINCE_MINOR;
use kubernetes::server_version::minor_version;
use store::{DiscoveryLabels, Settings};

/// Logs that a hub drops a part of the webhook configurations; returns whether it does. One that does not tell its
/// version counts as new.
pub(super) async fn tell_of_old_hub(client: &Client) -> bool {
    let Ok(version) = client.apiserver_version().await else {
        return false;
    };
    let minor = minor_version(&version.major, &version.minor);
    let is_old = minor.is_some_and(|minor| minor < CONDITIONS_SINCE_MINOR);
    if is_old {
        warn!(
            kubernetes = version.git_version,
            "the hub drops match conditions of webhooks; register the webhooks without them; `tidegate doctor` prints the command"
        );
    }
    is_old
}

/// The group of `ClusterManager`: a hub that serves it has OCM's operator, which always runs the registration controller.
const OPERATOR: &str = "operator.open-cluster-management.io";

/// Turns the labels off where OCM writes them and the flag says nothing. Looked at once, when the program starts.
pub(super) async fn leave_to_ocm(client: &Client, args: &ServeArgs, settings: &mut Settings) {
    let is_reported =
        args.tide.discovery_labels.is_some() || settings.discovery_labels == DiscoveryLabels::Off;
    if is_reported || args.half() == Some(Only::Gate) {
        return;
    }
    match client.list_api_groups().await {
        Ok(served) if served.groups.iter().any(|group| group.name == OPERATOR) => {
            settings.discovery_labels = DiscoveryLabels::Off;
            info!(
                "the hub is managed by OCM's operator, and OCM's registration controller labels the clusters; set `--discovery-labels \
                 on` to label them here, too"
            );
        }
        Ok(_) => {}
        Err(error) => debug!(
            error = &error as &dyn std::error::Error,
            "cannot list the API groups of the hub; labelling clusters"
        ),
    }
}

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a start may take before its missing prerequisites are logged: a hub is usually read within this time.
const SAID_AFTER: Duration = Duration::from_secs(2);

/// Waits until questions may come. Tells once which kinds the hub lacks, and once that they have come.
pub(super) async fn ready(health: &Health, watches: &StalenessMetrics) {
    let (mut waited, mut is_reported) = (Duration::ZERO, false);
    while !health.is_ready(Timestamp::now()) {
        tokio::time::sleep(LOOK_EVERY).await;
        waited = waited.saturating_add(LOOK_EVERY);
        let missing = watches.missing();
        if missing.is_empty() || is_reported || waited < SAID_AFTER {
            continue;
        }
        is_reported = true;
        warn!(
            kinds = missing.join(", "),
            "the hub does not serve kinds of Open Cluster Management; waiting for them: install it, or, to try Tidegate without it, run \
             `tidegate crds --for-hub-without-ocm | kubectl apply -f -`; run `tidegate doctor` for details"
        );
    }
    if is_reported {
        info!("the kinds of Open Cluster Management are available");
    }
}
