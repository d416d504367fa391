//! Notifications, counted by what became of them.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::words::words;

/// What became of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// The receiver accepted it.
    Sent,
    /// The receiver did not accept it, or could not be reached.
    Failed,
    /// The queue was full.
    Dropped,
}

words!(Delivery {
    Sent => "sent",
    Failed => "failed",
    Dropped => "dropped",
});

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    r#type: &'static str,
    outcome: Delivery,
}

/// Counts of notifications. Clones count into the same place.
#[derive(Clone, Debug, Default)]
pub(super) struct NotificationMetrics(Family<Labels, Counter>);

impl NotificationMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "notifications",
            "Notifications by type of the CloudEvent and result",
            self.0.clone(),
        );
    }
}

impl Metrics {
    /// Counts a notification with this type of CloudEvent.
    pub fn notified(&self, r#type: &'static str, outcome: Delivery) {
        self.notifications
            .0
            .get_or_create(&Labels { r#type, outcome })
            .inc();
    }
}
