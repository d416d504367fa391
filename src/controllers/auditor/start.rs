//! Starts the auditor and ends it.
//!
//! Decides nothing. The auditor must end before the controllers do, while this replica still leads.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::judge_loop::JudgeLoop;
use super::report_watch::follow;
use super::watch_tap::Sightings;
use crate::controllers::EventRecorder;
use crate::telemetry::Metrics;
use audit::{Facts, ReportKind, Rulebook, Told};

/// Whether reports are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// Wherever the hub serves a kind of report.
    Written,
    /// Nowhere: findings are counted only.
    Unwritten,
}

/// How fast the auditor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditPace {
    /// How often it looks whether anything has changed; a look costs nothing.
    pub turn: Duration,
    /// Objects that are read at once when many have to be judged again.
    pub page: u32,
    /// Pause between such pages.
    pub between_pages: Duration,
    /// Pause between two readings of whole kinds.
    pub between_lists: Duration,
    /// Reports that are written at the same time.
    pub writes_at_once: usize,
}

impl Default for AuditPace {
    fn default() -> Self {
        Self {
            turn: Duration::from_secs(1),
            page: 100,
            between_pages: Duration::from_millis(50),
            between_lists: Duration::from_secs(10),
            writes_at_once: 4,
        }
    }
}

/// What the auditor works with.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// The facts that admission asks.
    pub facts: Arc<ArcSwap<Facts>>,
    /// What the gate decides by.
    pub rulebook: Arc<ArcSwap<Rulebook>>,
    /// Whether this replica is the one that writes.
    pub leading: watch::Receiver<bool>,
    /// Where findings are counted.
    pub metrics: Metrics,
    /// Whether reports are written.
    pub reports: Reports,
    /// The recorder of events that an object has begun or ceased to be at fault; absent where no such events are written.
    pub events: Option<EventRecorder>,
    /// Sender of findings to the web page; absent if no page is served.
    pub shows: Option<watch::Sender<Arc<Told>>>,
    /// How fast it goes.
    pub pace: AuditPace,
}

/// The running auditor; dropped, it stops at once.
#[derive(Debug)]
pub struct Auditor {
    tasks: JoinSet<()>,
}

impl Auditor {
    /// Starts to audit what the watches show.
    pub fn start(client: Client, options: AuditOptions, sightings: Sightings) -> Self {
        let (sender, news) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        if options.reports == Reports::Written {
            for form in ReportKind::ALL {
                tasks.spawn(follow(client.clone(), form, sender.clone()));
            }
        }
        let audit_loop = JudgeLoop::new(client, options);
        tasks.spawn(audit_loop.run(sightings, news));
        Self { tasks }
    }

    /// Ends it. A write that was begun may still arrive; it says what was true.
    pub async fn shutdown(mut self) {
        self.tasks.shutdown().await;
    }
}
