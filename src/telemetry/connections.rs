//! What is counted at the gate's webhook: connections, decisions that take too long, certificates.
//!
//! Decides names and labels. Never counts by caller: an attacker may come as any number of callers.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::words::words;

/// Why the gate ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Closed {
    /// Its place was needed: for a newcomer, or because the system had run out of descriptors.
    Evicted,
    /// Every place was needed for a decision.
    NoPlace,
    /// It did not shake hands, or not in time.
    NoHandshake,
    /// Its certificate is not for a name that may ask.
    WrongName,
    /// It rested for too long.
    Rested,
    /// It did not take its answers.
    SlowReader,
    /// It sent more than its requests explain.
    Noise,
}

words!(Closed {
    Evicted => "evicted",
    NoPlace => "no_place",
    NoHandshake => "no_handshake",
    WrongName => "wrong_name",
    Rested => "rested",
    SlowReader => "slow_reader",
    Noise => "noise",
});

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    reason: Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    reason: &'static str,
}

/// What is counted of connections. Clones count into the same place.
#[derive(Clone, Debug, Default)]
pub struct ConnectionMetrics {
    connections: Gauge,
    closed: Family<Ending, Counter>,
    wrong_paths: Counter,
    stopped: Counter,
    overdue: Gauge,
    expiry: Gauge<f64, AtomicU64>,
    refused: Family<Refusal, Counter>,
}

impl ConnectionMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register("connections", "Open connections", self.connections.clone());
        all.register(
            "connections_closed",
            "Connections that the webhook closed, by reason",
            self.closed.clone(),
        );
        all.register(
            "wrong_paths",
            "Requests without the path secret",
            self.wrong_paths.clone(),
        );
        all.register(
            "decisions_stopped",
            "Admission decisions that were stopped at their timeout",
            self.stopped.clone(),
        );
        all.register(
            "decisions_overdue",
            "Admission decisions that still run after their timeout; each occupies a thread",
            self.overdue.clone(),
        );
        all.register_with_unit(
            "certificate_expiry_timestamp",
            "Expiry of the serving certificate, in seconds since 1970",
            Unit::Seconds,
            self.expiry.clone(),
        );
        all.register(
            "certificate_refusals",
            "New certificates, CA bundles and path secrets that were rejected, by reason",
            self.refused.clone(),
        );
    }

    /// Counts a connection that was opened.
    pub fn opened(&self) {
        self.connections.inc();
    }

    /// Counts a connection that has ended, by whomever.
    pub fn ended(&self) {
        self.connections.dec();
    }

    /// Counts a connection that the gate ends.
    pub fn closes(&self, reason: Closed) {
        self.closed.get_or_create(&Ending { reason }).inc();
    }

    /// Counts a request without the secret of the path.
    pub fn wrong_path(&self) {
        self.wrong_paths.inc();
    }

    /// Counts a decision whose time was up.
    pub fn stops(&self) {
        self.stopped.inc();
    }

    /// Notes how many decisions go on although they were stopped.
    pub fn overdue(&self, count: usize) {
        self.overdue.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Notes when the certificate ends that is shown from now on.
    pub fn shows_until(&self, second: i64) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "seconds since 1970 fit for millions of years"
        )]
        self.expiry.set(second as f64);
    }

    /// Counts a certificate, an authority or a secret that was not taken.
    pub fn refuses(&self, reason: &'static str) {
        self.refused.get_or_create(&Refusal { reason }).inc();
    }
}
