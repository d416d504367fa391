//! Whether this process lives, and whether it may be asked.
//!
//! Decides the responses to probes, independent of port and thread, so that both listeners answer the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::telemetry::{Metrics, StalenessMetrics};
use admission::Facts;
use kubernetes::certificates::Validity;

/// How long every thread may be held by decisions that do not end, until the process counts as dead: nothing else heals it.
const WEDGED_FOR: Duration = Duration::from_secs(30);

/// What is known of the health of this process. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<State>);

#[derive(Debug, Default)]
struct State {
    draining: OnceLock<Instant>,
    facts: OnceLock<Arc<ArcSwap<Facts>>>,
    watches: OnceLock<StalenessMetrics>,
    /// How far the own clock is ahead of the hub.
    clock: OnceLock<Metrics>,
    validity: ArcSwapOption<Validity>,
    /// New files that cannot be used, and why.
    refused: Mutex<BTreeMap<&'static str, &'static str>>,
    wedged: Mutex<Option<Instant>>,
    /// What has to come before the gate can open.
    awaited: Mutex<Option<String>>,
    /// What is missing although the gate can open.
    lacking: Mutex<Option<String>>,
}

/// The response to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Yes(String),
    No(String),
}

impl Health {
    /// Reports from now on that no new request should be sent: before anything is stopped.
    pub fn drain(&self) {
        let _first = self.0.draining.get_or_init(Instant::now);
    }

    /// Returns whether that was said.
    pub(super) fn is_draining(&self) -> bool {
        self.0.draining.get().is_some()
    }

    /// Returns how long ago that was said.
    pub(super) fn drained_for(&self, now: Instant) -> Option<Duration> {
        let since = self.0.draining.get()?;
        Some(now.saturating_duration_since(*since))
    }

    /// Notes what has to come before the gate can open; `None` when it has come.
    pub fn waits_for(&self, what: Option<String>) {
        *self.0.awaited.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Notes what is missing although the gate can open; `None` when it has come.
    pub fn lacks(&self, what: Option<String>) {
        *self.0.lacking.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Is ready as soon as these facts are complete.
    pub fn rests_on(&self, facts: Arc<ArcSwap<Facts>>) {
        let _again = self.0.facts.set(facts);
    }

    /// Receives from now on which kinds the hub does not serve, and how far the own clock is ahead of the hub's, by which
    /// certificates are judged.
    pub fn hears(&self, metrics: &Metrics) {
        let _again = self.0.watches.set(metrics.staleness().clone());
        let _again = self.0.clock.set(metrics.clone());
    }

    /// Returns what time it is on the hub.
    fn on_hub(&self, now: Timestamp) -> Timestamp {
        self.0.clock.get().map_or(now, |metrics| metrics.on_hub(now))
    }

    /// Returns whether a probe would report ready.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        matches!(self.ready(now), Word::Yes(_))
    }

    /// Returns the response to a probe.
    pub fn words(&self, now: Timestamp) -> String {
        match self.ready(now) {
            Word::Yes(text) | Word::No(text) => text,
        }
    }

    /// Notes until when the certificate holds that is shown.
    pub(super) fn shows(&self, validity: Validity) {
        self.0.validity.store(Some(Arc::new(validity)));
    }

    /// Notes why a new file of this kind cannot be used, so that what was taken before stays; `None` when it is over.
    pub(super) fn keeps(&self, what: &'static str, refused: Option<&'static str>) {
        let mut all = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refused {
            Some(reason) => all.insert(what, reason),
            None => all.remove(what),
        };
    }

    /// Returns which new files cannot be used, and why.
    pub fn refused(&self) -> BTreeMap<&'static str, &'static str> {
        let all = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    /// Notes whether every thread that decides is held by a decision that does not end.
    pub(super) fn wedged(&self, wedged: bool, now: Instant) {
        let mut since = self.0.wedged.lock().unwrap_or_else(PoisonError::into_inner);
        *since = wedged.then(|| since.unwrap_or(now));
    }

    pub(super) fn alive(&self, now: Instant) -> Word {
        let since = *self.0.wedged.lock().unwrap_or_else(PoisonError::into_inner);
        match since {
            Some(since) if now.saturating_duration_since(since) > WEDGED_FOR => {
                Word::No("all worker threads are stuck".to_owned())
            }
            Some(_) | None => Word::Yes("ok".to_owned()),
        }
    }

    /// Kinds that the hub does not serve are distinguished from kinds that are still being read: an administrator has to install them.
    fn unread_words(&self, unread: &[&'static str]) -> String {
        let missing = self
            .0
            .watches
            .get()
            .map(StalenessMetrics::missing)
            .unwrap_or_default();
        let reading: Vec<&str> = unread
            .iter()
            .copied()
            .filter(|kind| !missing.contains(kind))
            .collect();
        let mut parts = Vec::new();
        if !missing.is_empty() {
            let kinds = missing.join(", ");
            parts.push(format!(
                "the hub does not serve {kinds}: install Open Cluster Management (run `tidegate doctor` for details)"
            ));
        }
        if !reading.is_empty() {
            parts.push(format!("initial lists are not complete: {}", reading.join(", ")));
        }
        parts.join("; ")
    }

    pub(super) fn ready(&self, now: Timestamp) -> Word {
        let no = |text: &str| Word::No(text.to_owned());
        if self.0.draining.get().is_some() {
            return no("shutting down");
        }
        let awaited = self
            .0
            .awaited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(awaited) = awaited {
            return Word::No(format!("waiting for {awaited}"));
        }
        let Some(facts) = self.0.facts.get() else {
            return no("starting");
        };
        let unread = facts.load().unread();
        if !unread.is_empty() {
            return Word::No(self.unread_words(&unread));
        }
        let mut notes: Vec<String> = self
            .refused()
            .iter()
            .map(|(what, why)| {
                format!("the new {what} cannot be used ({why}); the previous one remains in use")
            })
            .collect();
        let missing = self.0.watches.get().map(StalenessMetrics::missing);
        let missing = missing.filter(|kinds| !kinds.is_empty());
        notes.extend(missing.map(|kinds| format!("the hub no longer serves {}", kinds.join(", "))));
        notes.extend(
            self.0
                .lacking
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        );
        let validity = self.0.validity.load_full();
        let now = self.on_hub(now);
        if let Some(fault) = validity.as_ref().and_then(|validity| validity.fault(now)) {
            notes.insert(0, format!("the serving certificate is not valid: {fault}"));
            return Word::No(notes.join("; "));
        }
        if let Some(validity) = validity.filter(|validity| validity.ends_soon(now)) {
            notes.insert(0, format!("the certificate expires at {}", validity.not_after));
        }
        if notes.is_empty() {
            return Word::Yes("ok".to_owned());
        }
        Word::Yes(format!("ok, but {}", notes.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    /// A node whose clock is wrong must not take a sound gate out of service: the hub is who accepts the certificate.
    #[test]
    fn a_certificate_is_judged_by_the_clock_of_the_hub() {
        let (health, metrics) = (Health::default(), Metrics::default());
        health.rests_on(Arc::new(ArcSwap::from_pointee(Facts::default().completed())));
        health.hears(&metrics);
        health.shows(validity("2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"));
        let (inside, after) = ("2030-06-01T00:00:00Z", "2031-06-01T00:00:00Z");
        assert!(health.is_ready(at(inside)));
        assert!(!health.is_ready(at(after)), "nothing is known of the hub's clock");
        let year = 365.0 * 24.0 * 3600.0;
        metrics.clock(year, true);
        assert!(health.is_ready(at(after)), "here a year ahead");
        metrics.clock(-year, true);
        assert!(
            !health.is_ready(at(inside)),
            "here a year behind: the hub takes it for ended"
        );
    }

    fn validity(not_before: &str, not_after: &str) -> Validity {
        Validity {
            not_before: at(not_before),
            not_after: at(not_after),
            names: ["gate.example".to_owned()].into(),
            serves: true,
        }
    }

    fn ready(health: &Health, now: &str) -> Word {
        health.ready(at(now))
    }

    fn serving() -> Health {
        let health = Health::default();
        health.rests_on(Arc::new(ArcSwap::from_pointee(Facts::default().completed())));
        health
    }

    #[test]
    fn a_certificate_is_reported_before_and_after_its_end() {
        let health = serving();
        health.shows(validity("2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z"));
        assert_eq!(ready(&health, "2026-03-01T00:00:00Z"), Word::Yes("ok".to_owned()));
        assert_eq!(
            ready(&health, "2026-03-30T00:00:00Z"),
            Word::Yes("ok, but the certificate expires at 2026-04-01T00:00:00Z".to_owned())
        );
        for (now, told) in [
            ("2026-04-01T00:00:01Z", "it expired at 2026-04-01T00:00:00Z"),
            ("2025-12-31T23:59:59Z", "it begins at 2026-01-01T00:00:00Z"),
        ] {
            let said = format!("the serving certificate is not valid: {told}");
            assert_eq!(ready(&health, now), Word::No(said));
        }
    }

    #[test]
    fn a_new_file_that_is_refused_is_reported_until_it_is_over() {
        let health = serving();
        health.shows(validity("2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z"));
        health.keeps("certificate", Some("expired"));
        let kept = "the new certificate cannot be used (expired); the previous one remains in use";
        assert_eq!(
            ready(&health, "2026-03-01T00:00:00Z"),
            Word::Yes(format!("ok, but {kept}"))
        );
        assert_eq!(
            ready(&health, "2026-03-30T00:00:00Z"),
            Word::Yes(format!(
                "ok, but the certificate expires at 2026-04-01T00:00:00Z; {kept}"
            ))
        );
        let ended = "the serving certificate is not valid: it expired at 2026-04-01T00:00:00Z";
        assert_eq!(
            ready(&health, "2026-04-01T00:00:01Z"),
            Word::No(format!("{ended}; {kept}"))
        );
        health.keeps("certificate", None);
        assert_eq!(ready(&health, "2026-03-01T00:00:00Z"), Word::Yes("ok".to_owned()));
    }

    #[test]
    fn kinds_that_the_hub_does_not_serve_are_distinguished_from_those_that_are_read() {
        let health = Health::default();
        let metrics = Metrics::default();
        health.hears(&metrics);
        let watches = metrics.staleness().clone();
        health.rests_on(Arc::default());
        let now = "2026-03-01T00:00:00Z";
        let Word::No(reading) = ready(&health, now) else {
            panic!("nothing is read yet");
        };
        assert!(
            reading.starts_with("initial lists are not complete: managedclusters, "),
            "{reading}"
        );
        watches.lacks("Cluster", Some("managedclusters"));
        let Word::No(missing) = ready(&health, now) else {
            panic!("a kind is missing");
        };
        let expected = "the hub does not serve managedclusters: install Open Cluster Management";
        assert!(missing.starts_with(expected), "{missing}");
        assert!(
            missing.contains("; initial lists are not complete: placements, "),
            "{missing}"
        );
        assert!(!health.is_ready(at(now)));
        assert_eq!(health.words(at(now)), missing);
    }

    #[test]
    fn it_is_not_ready_before_the_start_or_after_the_end() {
        let now = "2026-03-01T00:00:00Z";
        let early = Health::default();
        assert_eq!(ready(&early, now), Word::No("starting".to_owned()));
        early.waits_for(Some("a certificate in Secret a/b: there is none".to_owned()));
        assert_eq!(
            ready(&early, now),
            Word::No("waiting for a certificate in Secret a/b: there is none".to_owned())
        );
        early.waits_for(None);
        assert_eq!(ready(&early, now), Word::No("starting".to_owned()));
        let health = serving();
        assert_eq!(ready(&health, now), Word::Yes("ok".to_owned()));
        health.drain();
        assert_eq!(ready(&health, now), Word::No("shutting down".to_owned()));
    }

    #[test]
    fn threads_that_are_all_stuck_for_long_end_the_process() {
        let (health, now) = (serving(), Instant::now());
        health.wedged(true, now);
        health.wedged(true, now + WEDGED_FOR / 2);
        assert_eq!(health.alive(now + WEDGED_FOR), Word::Yes("ok".to_owned()));
        let late = now + WEDGED_FOR + Duration::from_secs(1);
        assert!(matches!(health.alive(late), Word::No(_)));
        health.wedged(false, late);
        assert_eq!(health.alive(late), Word::Yes("ok".to_owned()));
    }
}
