//! The audit of stored objects, as `serve` and `dev` run it.
//!
//! Decides only what the flag means. What is wrong with an object is decided by the audit room.

use std::sync::Arc;

use arc_swap::ArcSwap;
use clap::Args;
use kube::Client;
use tokio::sync::watch;

use crate::controllers::{
    AuditOptions, AuditPace, Auditor, Reports, Sightings, Tide, TideOptions, WatchTap, tap,
};
use crate::telemetry::Metrics;
use admission::Rulebook;
use audit::Told;

/// Whether stored objects are audited.
#[derive(Args, Clone, Copy, Debug)]
pub struct AuditArgs {
    /// Whether stored objects are judged as if they were created now, and where that is told (`docs/audit.md`).
    ///
    /// Reports are written only where the hub serves PolicyReport or OpenReports, by the replica that writes, and only when they
    /// change; an object that begins or ceases to be at fault gets an Event. A hub at rest costs nothing but memory.
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = AuditTo::Reports)]
    pub audit: AuditTo,
}

/// Where findings about stored objects are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AuditTo {
    /// In reports and events on the hub, and in metrics.
    Reports,
    /// In metrics only: nothing is written.
    Metrics,
    /// Nowhere: stored objects are not judged.
    Off,
}

impl AuditArgs {
    /// Returns options of the tide by which an audit hears what the watches show, if there is to be one.
    pub(super) fn hear(self, options: TideOptions) -> (TideOptions, Option<Sightings>) {
        if self.audit == AuditTo::Off {
            return (options, None);
        }
        let (tap, sightings): (WatchTap, Sightings) = tap();
        let tap = Some(tap);
        (TideOptions { tap, ..options }, Some(sightings))
    }

    /// Starts the audit, if there is to be one.
    pub(super) fn start(
        self,
        client: Client,
        tide: &Tide,
        sightings: Option<Sightings>,
        rulebook: &Arc<ArcSwap<Rulebook>>,
        metrics: Metrics,
        shows: Option<watch::Sender<Arc<Told>>>,
    ) -> Option<Auditor> {
        let options = AuditOptions {
            facts: tide.facts(),
            rulebook: Arc::clone(rulebook),
            leading: tide.leading(),
            metrics,
            reports: match self.audit {
                AuditTo::Reports => Reports::Written,
                AuditTo::Metrics | AuditTo::Off => Reports::Unwritten,
            },
            events: (self.audit == AuditTo::Reports).then(|| tide.recorder()),
            shows,
            pace: AuditPace::default(),
        };
        sightings.map(|sightings| Auditor::start(client, options, sightings))
    }
}

/// Ends the audit, if there is one.
pub(super) async fn end(auditor: Option<Auditor>) {
    if let Some(auditor) = auditor {
        auditor.shutdown().await;
    }
}
