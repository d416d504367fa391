//! What the watches show and suffer, and how far behind they are.
//!
//! Decides names, labels and buckets. A resource is a row of the kinds that are watched, never a word of the hub.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::words::words;

/// What a watch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shown {
    /// An object of a list.
    Listed,
    /// An object that is new or has changed.
    Applied,
    /// A deleted object.
    Deleted,
}

words!(Shown {
    Listed => "listed",
    Applied => "applied",
    Deleted => "deleted",
});

/// Why a watch begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Restart {
    /// The hub no longer has the events since the last one (410): everything is listed again.
    Expired,
    /// The connection, or the hub, failed.
    Interrupted,
    /// The controllers doubted the last list.
    Doubted,
    /// The hub does not serve the kind, or does not show it.
    Withheld,
}

words!(Restart {
    Expired => "expired",
    Interrupted => "interrupted",
    Doubted => "doubted",
    Withheld => "withheld",
});

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Event {
    resource: &'static str,
    event: Shown,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Begun {
    resource: &'static str,
    reason: Restart,
}

/// What is counted of the watches. Clones count into the same place.
#[derive(Clone, Debug)]
pub struct WatchMetrics {
    events: Family<Event, Counter>,
    restarts: Family<Begun, Counter>,
    lag: Histogram,
}

impl Default for WatchMetrics {
    fn default() -> Self {
        Self {
            events: Family::default(),
            restarts: Family::default(),
            lag: Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]),
        }
    }
}

impl WatchMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register("watch_events", "Objects received by watches", self.events.clone());
        all.register(
            "watch_restarts",
            "Restarts of watches, by reason",
            self.restarts.clone(),
        );
        all.register_with_unit(
            "watch_lag",
            "Time from the response to the writes for an owner until the watches return all of them",
            Unit::Seconds,
            self.lag.clone(),
        );
    }

    /// Counts what a watch of a resource (plural) shows.
    pub fn shows(&self, resource: &'static str, event: Shown) {
        self.events.get_or_create(&Event { resource, event }).inc();
    }

    /// Counts a watch that begins again.
    pub fn restarts(&self, resource: &'static str, reason: Restart) {
        self.restarts.get_or_create(&Begun { resource, reason }).inc();
    }

    /// Counts own writes that the watches have shown, and how long after they were answered.
    pub fn lags(&self, behind: Duration) {
        self.lag.observe(behind.as_secs_f64());
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FaultLabel {
    fault: &'static str,
}

/// What is wrong with the webhooks. Clones note into the same place.
#[derive(Clone, Debug, Default)]
pub struct WebhookMetrics {
    faults: Family<FaultLabel, Gauge>,
}

impl WebhookMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "webhook_faults",
            "Webhooks that are not registered as expected, and mutating webhooks of other programs that receive add-ons",
            self.faults.clone(),
        );
    }

    /// Notes how many faults of each sort there are; sorts without any count 0.
    pub fn told(&self, faults: impl IntoIterator<Item = (&'static str, usize)>) {
        for (fault, count) in faults {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.faults.get_or_create(&FaultLabel { fault }).set(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[test]
    fn each_sort_of_fault_is_counted() {
        let webhooks = WebhookMetrics::default();
        webhooks.told([("missing", 2), ("foreign", 1)]);
        webhooks.told([("missing", 0), ("foreign", 1)]);
        let mut all = Registry::default();
        webhooks.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        for line in [
            "webhook_faults{fault=\"missing\"} 0",
            "webhook_faults{fault=\"foreign\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
