//! The audit loop: which objects have to be validated, and when.
//!
//! Decides that an object is judged when it has changed, when facts that it rests on have changed, when the rulebook has, and
//! when an exception ends; and never otherwise. Works in turns, judges away from the threads that serve, and reads whole kinds
//! only page by page. A replica that does not lead keeps names, and judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{info, warn};

use super::compliance_events::ComplianceEvents;
use super::fetch::{FEW, Text, page, some};
use super::report_watch::News;
use super::standing_reports::StandingReports;
use super::start::AuditOptions;
use super::watch_tap::{Carried, Sighting, Sightings, Spotted, seen};
use crate::controllers::runtime::apply_error::root;
use audit::{
    Asks, AuditedObject, Facts, Finding, Inputs, KINDS, Ledger, ObjectKey, Rulebook, Shift, Told, is_going,
    judge,
};
use store::Kind;

/// Objects that are judged in one go.
const BATCH: usize = 32;

/// Everything that the auditor keeps.
pub(super) struct JudgeLoop {
    client: Client,
    options: AuditOptions,
    ledger: Ledger,
    board: StandingReports,
    crier: ComplianceEvents,
    listed: BTreeSet<Kind>,
    /// Objects to be judged that must be read first.
    stale: BTreeSet<ObjectKey>,
    /// Objects to be judged that are here.
    carried: BTreeMap<ObjectKey, Carried>,
    facts: Arc<Facts>,
    rulebook: Arc<Rulebook>,
    /// When the next exception ends.
    excused_until: Option<Timestamp>,
    led: bool,
    /// When whole kinds may be read again.
    lists_from: Instant,
    /// Whether anything was said that the metrics do not show yet.
    news: bool,
}

/// What came of one object.
type Judged = (AuditedObject, Vec<Finding>, Inputs);

impl JudgeLoop {
    pub(super) fn new(client: Client, options: AuditOptions) -> Self {
        let board = StandingReports::new(client.clone(), &options);
        let crier = ComplianceEvents::new(options.events.clone());
        Self {
            client,
            board,
            crier,
            ledger: Ledger::default(),
            listed: BTreeSet::new(),
            stale: BTreeSet::new(),
            carried: BTreeMap::new(),
            facts: Arc::default(),
            rulebook: Arc::default(),
            excused_until: None,
            led: false,
            lists_from: Instant::now(),
            news: false,
            options,
        }
    }

    /// Audits until the watches have ended and no sighting comes any more.
    pub(super) async fn run(mut self, mut sightings: Sightings, mut news: mpsc::UnboundedReceiver<News>) {
        let mut turns = interval(self.options.pace.turn);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                sighting = sightings.0.recv() => match sighting {
                    Some(sighting) => self.take(sighting),
                    None => return,
                },
                Some(news) = news.recv() => self.board.take(news, &self.ledger),
                _ = turns.tick() => self.turn().await,
            }
        }
    }

    fn take(&mut self, sighting: Sighting) {
        match sighting {
            Sighting::Shown(spotted) => self.note(spotted),
            Sighting::Gone(key) => self.remove(&key),
            Sighting::Listed(kind, all) => {
                self.listed.insert(kind);
                for key in self.ledger.lost(kind, &all) {
                    self.remove(&key);
                }
            }
        }
    }

    fn note(&mut self, Spotted { seen, object }: Spotted) {
        if !self.ledger.see(&seen) {
            return;
        }
        if let Some(object) = object.filter(|_| self.leads()) {
            self.stale.remove(&seen.key);
            self.carried.insert(seen.key, object);
        } else {
            self.carried.remove(&seen.key);
            self.stale.insert(seen.key);
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.stale.remove(key);
        self.carried.remove(key);
        self.crier.remove(key);
        if self.ledger.remove(key) {
            self.board.mark(&key.namespace);
            self.news = true;
        }
    }

    fn leads(&self) -> bool {
        *self.options.leading.borrow()
    }

    async fn turn(&mut self) {
        if !self.leads() {
            self.stand_down();
            return;
        }
        if self.listed.len() < KINDS.len() || !self.options.facts.load().is_complete() {
            return;
        }
        if !std::mem::replace(&mut self.led, true) {
            self.begin();
        }
        self.look_around();
        let begun = Instant::now();
        let waiting = self.stale.len() + self.carried.len();
        self.judge_carried().await;
        self.judge_stale().await;
        let judged = waiting.saturating_sub(self.stale.len());
        if judged > 0 {
            self.options.metrics.audit_pass(judged, begun.elapsed());
        }
        if std::mem::take(&mut self.news) {
            self.count();
        }
        if self.leads() {
            self.crier.tell(&self.ledger, &self.stale);
        }
        self.board.write(&self.ledger, &self.stale).await;
    }

    fn stand_down(&mut self) {
        self.stale.extend(std::mem::take(&mut self.carried).into_keys());
        if std::mem::take(&mut self.led) {
            self.ledger.forget();
            self.stale.extend(self.ledger.keys().cloned());
            self.board.forget();
            self.crier.forget();
            self.count();
        }
    }

    /// What others have judged meanwhile is judged again: the reports tell what was written.
    fn begin(&mut self) {
        self.facts = self.options.facts.load_full();
        self.take_rulebook();
        let all = self.ledger.keys().filter(|key| !self.carried.contains_key(*key));
        self.stale.extend(all.cloned());
        self.board.check_all(&self.ledger);
        self.ledger.begin();
        info!(objects = self.ledger.keys().count(), "audit started");
    }

    fn take_rulebook(&mut self) {
        self.rulebook = self.options.rulebook.load_full();
        self.excused_until = self.rulebook.policies.next_end(Timestamp::now());
    }

    /// Finds out whom the changes since the last turn concern.
    fn look_around(&mut self) {
        let is_over = self.excused_until.is_some_and(|end| end <= Timestamp::now());
        if is_over || !Arc::ptr_eq(&self.rulebook, &self.options.rulebook.load()) {
            self.take_rulebook();
            self.stale.extend(self.ledger.keys().cloned());
        }
        let facts = self.options.facts.load_full();
        if !Arc::ptr_eq(&self.facts, &facts) {
            let shift = Shift::between(&self.facts, &facts, Asks::of(&self.rulebook));
            self.stale.extend(self.ledger.concerned(&shift));
            self.facts = facts;
        }
    }

    async fn judge_carried(&mut self) {
        let carried = std::mem::take(&mut self.carried);
        let mut batch = Vec::new();
        for (key, carried) in carried {
            batch.push((key, carried.into_text()));
            if batch.len() == BATCH {
                self.judge(std::mem::take(&mut batch)).await;
            }
        }
        self.judge(batch).await;
    }

    /// A few objects are read one by one, many page by page.
    async fn judge_stale(&mut self) {
        if self.stale.is_empty() || (self.stale.len() > FEW && Instant::now() < self.lists_from) {
            return;
        }
        for kind in KINDS {
            let due: Vec<ObjectKey> = self
                .stale
                .iter()
                .filter(|key| key.kind == kind)
                .cloned()
                .collect();
            let read = match due.len() {
                0 => continue,
                count if count <= FEW => self.read_some(due).await,
                _ => self.read_all(kind).await,
            };
            if let Err(error) = read {
                warn!(kind = kind.address().kind, error = %root(&error), "cannot read the objects to audit");
                self.lists_from = Instant::now() + self.options.pace.between_lists;
                return;
            }
        }
    }

    async fn read_some(&mut self, due: Vec<ObjectKey>) -> kube::Result<()> {
        let found = some(&self.client, due.clone()).await?;
        self.judge(found).await;
        // The watch reports what was deleted.
        for key in due {
            self.stale.remove(&key);
        }
        Ok(())
    }

    async fn read_all(&mut self, kind: Kind) -> kube::Result<()> {
        let pace = self.options.pace;
        self.lists_from = Instant::now() + pace.between_lists;
        let mut next = None;
        loop {
            let (found, more) = page(&self.client, kind, pace.page, next.as_deref()).await?;
            if !self.leads() {
                return Ok(());
            }
            let mut batch = Vec::new();
            for (key, raw) in found {
                if self.stale.contains(&key) {
                    batch.push((key, raw.into_text()));
                }
                if batch.len() == BATCH {
                    self.judge(std::mem::take(&mut batch)).await;
                }
            }
            self.judge(batch).await;
            // The pages behind the last object that is due hold nothing new.
            let is_over = !self.stale.iter().any(|key| key.kind == kind);
            if more.is_none() || is_over {
                break;
            }
            next = more;
            tokio::time::sleep(pace.between_pages).await;
        }
        self.stale.retain(|key| key.kind != kind);
        Ok(())
    }

    /// Judges away from the threads that answer the API server. One object at a time is more than its text.
    async fn judge(&mut self, objects: Vec<Text>) {
        for (key, _) in &objects {
            self.stale.remove(key);
        }
        if objects.is_empty() {
            return;
        }
        let (facts, rulebook) = (Arc::clone(&self.facts), Arc::clone(&self.rulebook));
        let judging = tokio::task::spawn_blocking(move || {
            let now = Timestamp::now();
            let one = |(key, text): Text| -> Option<Judged> {
                let object: Value = serde_json::from_str(&text).ok()?;
                // It may have changed, or begun to go, since it was told of.
                (!is_going(&object)).then(|| {
                    let findings = judge(key.kind, &object, &facts, &rulebook, now);
                    let inputs = Inputs::of(&key, &object, &facts);
                    (seen(key.kind, &object), findings, inputs)
                })
            };
            objects.into_iter().filter_map(one).collect::<Vec<Judged>>()
        });
        let Ok(judged) = judging.await else {
            tracing::error!(
                "the audit of stored objects panicked; these objects are skipped until they change"
            );
            return;
        };
        for (seen, findings, inputs) in judged {
            self.ledger.see(&seen);
            let key = seen.key;
            let was = self.ledger.bearing(&key);
            if self.ledger.judge(&key, &findings, inputs) {
                self.crier.note(&key, was);
                self.board.mark(&key.namespace);
                self.news = true;
            }
        }
    }

    fn count(&self) {
        let objects = KINDS.map(|kind| (kind.address().resource, self.ledger.objects(kind)));
        let findings = self.ledger.tally().iter();
        let findings = findings.map(|((rule, severity), count)| (&**rule, *severity, *count));
        self.options.metrics.audited(objects, findings);
        if let Some(shows) = &self.options.shows {
            shows.send_modify(|told| *told = Arc::new(Told::of(&self.ledger, told.revision.wrapping_add(1))));
        }
    }
}
