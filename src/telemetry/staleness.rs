//! Signs of life of the watches: when each kind was last heard of, and which kinds the hub does not serve.
//!
//! Decides names and labels. An event, a page of a list and a bookmark are signs of life; an API server sends a bookmark about once
//! a minute where nothing happens. Never decides what a silent watch means.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

/// What is known of the watch of a kind.
#[derive(Clone, Copy, Debug, Default)]
struct WatchState {
    heard: Option<Instant>,
    /// The resource that the hub does not serve although it must.
    missing: Option<&'static str>,
}

type Seconds = Gauge<f64, AtomicU64>;

/// Signs of life of the watches. Clones note into the same place.
#[derive(Clone, Debug, Default)]
pub struct StalenessMetrics {
    states: Arc<Mutex<BTreeMap<&'static str, WatchState>>>,
    silence: Family<KindLabel, Seconds>,
    oldest: Seconds,
    missing: Gauge,
}

impl StalenessMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register_with_unit(
            "watch_silence",
            "Time since the last data of the watch of a kind: an event, a page of a list or a bookmark",
            Unit::Seconds,
            self.silence.clone(),
        );
        all.register_with_unit(
            "facts_age",
            "Maximum time since the last data of any watch: decisions use data of at most this age",
            Unit::Seconds,
            self.oldest.clone(),
        );
        all.register(
            "missing_kinds",
            "Required kinds of Open Cluster Management that the hub does not serve; nothing is reconciled",
            self.missing.clone(),
        );
    }

    /// Notes a sign of life of a kind.
    pub fn heard(&self, kind: &'static str) {
        let mut states = self.lock();
        let state = states.entry(kind).or_default();
        state.heard = Some(Instant::now());
    }

    /// Notes that a kind is not served that must be (the resource), or that it is.
    pub fn lacks(&self, kind: &'static str, resource: Option<&'static str>) {
        let mut states = self.lock();
        states.entry(kind).or_default().missing = resource;
        let missing = states.values().filter(|state| state.missing.is_some()).count();
        self.missing.set(i64::try_from(missing).unwrap_or(i64::MAX));
    }

    /// Returns the resources that the hub does not serve although it must.
    pub fn missing(&self) -> Vec<&'static str> {
        self.lock().values().filter_map(|state| state.missing).collect()
    }

    /// Returns the longest silence of any kind that was ever heard of.
    pub fn oldest(&self, now: Instant) -> Option<Duration> {
        let heard: Vec<Instant> = self.lock().values().filter_map(|state| state.heard).collect();
        heard
            .into_iter()
            .min()
            .map(|heard| now.saturating_duration_since(heard))
    }

    /// Measures: the figures are those of this moment.
    pub(super) fn measure(&self, now: Instant) {
        for (kind, state) in self.lock().iter() {
            if let Some(heard) = state.heard {
                let age = now.saturating_duration_since(heard);
                self.silence
                    .get_or_create(&KindLabel { kind })
                    .set(age.as_secs_f64());
            }
        }
        if let Some(oldest) = self.oldest(now) {
            self.oldest.set(oldest.as_secs_f64());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, WatchState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[tokio::test(start_paused = true)]
    async fn the_silence_of_each_kind_and_the_longest_are_reported() {
        let watches = StalenessMetrics::default();
        watches.heard("AddOn");
        tokio::time::advance(Duration::from_secs(40)).await;
        watches.heard("Work");
        tokio::time::advance(Duration::from_secs(2)).await;
        watches.lacks("Cluster", Some("managedclusters"));
        watches.measure(Instant::now());
        let mut all = Registry::default();
        watches.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        for line in [
            "watch_silence_seconds{kind=\"AddOn\"} 42.0",
            "watch_silence_seconds{kind=\"Work\"} 2.0",
            "facts_age_seconds 42.0",
            "missing_kinds 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(
            !text.contains("kind=\"Cluster\""),
            "what was never heard of is not silent"
        );
        assert_eq!(watches.missing(), ["managedclusters"]);
        watches.lacks("Cluster", None);
        assert!(watches.missing().is_empty());
    }
}
