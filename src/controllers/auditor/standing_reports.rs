//! The board: which reports stand on the hub, and which should.
//!
//! Decides what is written: a report that says something else than the one that stands there, and no other. One that another
//! field manager has written to is read before it is believed. A namespace is reported a turn after it was judged, so that what
//! comes together is reported together; and never while some of its objects still have to be judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::apply::{Put, apply_report};
use super::report_watch::{News, ObservedReport};
use super::start::AuditOptions;
use crate::controllers::runtime::apply_error::root;
use crate::telemetry::{Metrics, Written};
use audit::{Ledger, ObjectKey, ReportKind, content_of, report};
use store::Name;

/// The most reports that are written in one turn; the others wait for the next.
const MOST_AT_A_TURN: usize = 100;
/// Pause before a report that could not be written is tried again.
const PAUSE: Duration = Duration::from_secs(10);
/// Pause when none could be written, for longer each time: the hub refuses them, or is away.
const LONGEST: Duration = Duration::from_mins(5);

/// What is known of reports.
pub(super) struct StandingReports {
    client: Client,
    leading: watch::Receiver<bool>,
    metrics: Metrics,
    at_once: usize,
    /// The kinds that are served, with the reports of ours that stand there.
    standing: BTreeMap<ReportKind, BTreeMap<Name, ReportState>>,
    /// Namespaces whose report may have to change.
    marked: BTreeSet<Name>,
    /// Those that were marked before this turn.
    ripe: BTreeSet<Name>,
    /// Those whose report could not be written, and when to try again.
    failed: BTreeMap<Name, Instant>,
    closed_until: Instant,
    pause: Duration,
}

/// A report that stands there.
#[derive(Debug)]
struct ReportState {
    /// The hash of what it says, by its own account.
    content: String,
    /// The revision that was written or looked at last.
    version: String,
    /// Another field manager may have changed what it says.
    suspect: bool,
}

impl ReportState {
    fn of(seen: ObservedReport) -> Self {
        Self {
            content: seen.content,
            version: seen.version,
            suspect: seen.touched,
        }
    }

    /// Returns whether a revision was known before. A watch may return an older one late.
    fn knows(&self, version: &str) -> bool {
        match (self.version.parse::<u64>(), version.parse::<u64>()) {
            (Ok(known), Ok(seen)) => seen <= known,
            (Ok(_) | Err(_), Ok(_) | Err(_)) => self.version == version,
        }
    }
}

/// One report to be written, or to be taken away.
struct Job {
    form: ReportKind,
    namespace: Name,
    body: Option<Value>,
}

impl StandingReports {
    pub(super) fn new(client: Client, options: &AuditOptions) -> Self {
        Self {
            client,
            leading: options.leading.clone(),
            metrics: options.metrics.clone(),
            at_once: options.pace.writes_at_once.max(1),
            standing: BTreeMap::new(),
            marked: BTreeSet::new(),
            ripe: BTreeSet::new(),
            failed: BTreeMap::new(),
            closed_until: Instant::now(),
            pause: PAUSE,
        }
    }

    /// Notes that the report of a namespace may have to change.
    pub(super) fn mark(&mut self, namespace: &Name) {
        if !self.marked.contains(namespace) {
            self.marked.insert(namespace.clone());
        }
    }

    /// Notes what has happened to a kind of report.
    pub(super) fn take(&mut self, news: News, ledger: &Ledger) {
        match news {
            News::Absent(form) => {
                self.standing.remove(&form);
            }
            News::ReportState(form, reports) => {
                let reports = reports.into_iter();
                let standing = reports.map(|(namespace, seen)| (namespace, ReportState::of(seen)));
                self.standing.insert(form, standing.collect());
                self.check_all(ledger);
            }
            News::Written(form, namespace, seen) => {
                let leads = *self.leading.borrow();
                let Some(known) = self.standing.get_mut(&form) else {
                    return;
                };
                let is_known = known.get(&namespace).is_some_and(|one| one.knows(&seen.version));
                if !is_known {
                    let mut standing = ReportState::of(seen);
                    // While this replica leads, every other write is suspect: a client that takes a field away leaves no entry in
                    // `managedFields`.
                    standing.suspect |= leads;
                    known.insert(namespace.clone(), standing);
                    self.mark(&namespace);
                }
            }
            News::Removed(form, namespace) => {
                let known = self.standing.get_mut(&form);
                if known.is_some_and(|known| known.remove(&namespace).is_some()) {
                    self.mark(&namespace);
                }
            }
        }
    }

    /// Compares every report with what stands there.
    pub(super) fn check_all(&mut self, ledger: &Ledger) {
        self.marked.extend(ledger.faulty());
        let standing = self.standing.values().flat_map(BTreeMap::keys);
        self.marked.extend(standing.cloned());
    }

    /// Forgets what there was to do: this replica no longer leads.
    pub(super) fn forget(&mut self) {
        self.marked.clear();
        self.ripe.clear();
        self.failed.clear();
    }

    /// Writes the reports that are due.
    pub(super) async fn write(&mut self, ledger: &Ledger, stale: &BTreeSet<ObjectKey>) {
        let now = Instant::now();
        if now < self.closed_until {
            return;
        }
        let again = self.failed.extract_if(.., |_, at| *at <= now);
        self.ripe.extend(again.map(|(namespace, _)| namespace));
        let due = std::mem::replace(&mut self.ripe, std::mem::take(&mut self.marked));
        if due.is_empty() || self.standing.is_empty() {
            return;
        }
        let open: BTreeSet<&Name> = stale.iter().map(|key| &key.namespace).collect();
        let mut jobs = Vec::new();
        for namespace in due {
            if open.contains(&namespace) || jobs.len() >= MOST_AT_A_TURN {
                self.ripe.insert(namespace);
            } else {
                jobs.extend(self.jobs(&namespace, ledger));
            }
        }
        let writes = jobs.into_iter().map(|job| self.write_one(job));
        let done: Vec<(Job, Option<Put>)> = stream::iter(writes)
            .buffer_unordered(self.at_once)
            .collect()
            .await;
        let is_failure = |(_, put): &&(Job, Option<Put>)| matches!(put, Some(Put::Failed(_)));
        let (tried, failed) = (done.len(), done.iter().filter(is_failure).count());
        for (job, put) in done {
            self.settle(job, put);
        }
        self.rest(tried, failed);
    }

    /// A hub that takes no report at all is left alone for a while.
    fn rest(&mut self, tried: usize, failed: usize) {
        if tried == 0 {
            return;
        }
        if failed < tried {
            self.pause = PAUSE;
            return;
        }
        self.closed_until = Instant::now() + self.pause;
        self.pause = self.pause.saturating_mul(2).min(LONGEST);
    }

    fn jobs(&self, namespace: &Name, ledger: &Ledger) -> Vec<Job> {
        let sheet = ledger.sheet(namespace);
        let forms = self.standing.iter();
        let forms = forms.filter(|(form, _)| form.is_namespaced() != namespace.is_empty());
        forms
            .filter_map(|(form, known)| {
                let body = (!sheet.is_empty()).then(|| report(*form, namespace, &sheet));
                let wanted = body.as_ref().and_then(content_of);
                let standing = known.get(namespace);
                let is_suspect = standing.is_some_and(|one| one.suspect);
                let differs = wanted != standing.map(|one| one.content.as_str());
                (differs || is_suspect).then(|| Job {
                    form: *form,
                    namespace: namespace.clone(),
                    body,
                })
            })
            .collect()
    }

    async fn write_one(&self, job: Job) -> (Job, Option<Put>) {
        if !*self.leading.borrow() {
            return (job, None);
        }
        let now = Timestamp::now();
        let put = apply_report(&self.client, job.form, &job.namespace, job.body.clone(), now).await;
        (job, Some(put))
    }

    fn settle(&mut self, job: Job, put: Option<Put>) {
        let Job {
            form,
            namespace,
            body,
        } = job;
        let Some(put) = put else { return };
        let outcome = match &put {
            Put::Unchanged(_) | Put::Done(_) => Written::Done,
            Put::Conflict => Written::Conflict,
            Put::Failed(_) => Written::Failed,
        };
        if !matches!(put, Put::Unchanged(_)) {
            self.metrics.wrote(form.resource(), outcome);
        }
        if matches!(put, Put::Done(_)) {
            info!(kind = form.kind(), %namespace, deleted = body.is_none(), "report written");
        }
        match put {
            Put::Done(version) | Put::Unchanged(version) => {
                let content = body.as_ref().and_then(content_of);
                let Some(known) = self.standing.get_mut(&form) else {
                    return;
                };
                match content {
                    Some(content) => {
                        let standing = ReportState {
                            content: content.to_owned(),
                            version,
                            suspect: false,
                        };
                        known.insert(namespace, standing)
                    }
                    None => known.remove(&namespace),
                };
            }
            Put::Conflict => {
                debug!(kind = form.kind(), %namespace, "the report was changed by another client");
                self.mark(&namespace);
            }
            Put::Failed(error) => {
                // One line tells of all that fail together.
                if self.failed.is_empty() {
                    warn!(kind = form.kind(), %namespace, error = %root(&error), "cannot write reports");
                }
                self.failed.insert(namespace, Instant::now() + PAUSE);
            }
        }
    }
}
