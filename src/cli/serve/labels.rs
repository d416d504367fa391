//! Who labels the clusters with their add-ons.
//!
//! Decides that OCM's registration controller does where OCM's operator runs the hub: it writes the same labels, at once, so that
//! ours would be written twice. Where the flag says what is wanted, the hub is not asked.

use kube::Client;
use tracing::{debug, info};

use crate::cli::{Only, ServeArgs};
use store::{DiscoveryLabels, Settings};

/// The group of `ClusterManager`: a hub that serves it has OCM's operator, which always runs the registration controller.
const OPERATOR: &str = "operator.open-cluster-management.io";

/// Turns the labels off where OCM writes them and the flag says nothing. Looked at once, when the program starts.
pub(super) async fn leave_to_ocm(client: &Client, args: &ServeArgs, settings: &mut Settings) {
    let is_told = args.tide.discovery_labels.is_some() || settings.discovery_labels == DiscoveryLabels::Off;
    if is_told || args.half() == Some(Only::Gate) {
        return;
    }
    match client.list_api_groups().await {
        Ok(served) if served.groups.iter().any(|group| group.name == OPERATOR) => {
            settings.discovery_labels = DiscoveryLabels::Off;
            info!(
                "OCM's operator runs this hub, and its registration controller labels the clusters; with `--discovery-labels on` they are written here as well"
            );
        }
        Ok(_) => {}
        Err(error) => debug!(
            error = &error as &dyn std::error::Error,
            "cannot ask which groups the hub serves; clusters are labelled here"
        ),
    }
}
