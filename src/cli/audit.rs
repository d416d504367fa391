//! The audit of stored objects, as `serve` and `dev` run it.
//!
//! Decides only what the flag means. The crate `audit` decides what is wrong with an object.

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
    /// Validate stored objects as if they were created now, and report the findings (`docs/audit.md`).
    ///
    /// Reports are written if the hub serves PolicyReport or OpenReports, only by the leader, and only on change. An object
    /// that becomes invalid or valid gets an Event. An idle hub needs only memory for the audit.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = AuditTo::Reports)]
    pub audit: AuditTo,
}

/// Where findings about stored objects are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AuditTo {
    /// Reports and Events on the hub, and metrics.
    Reports,
    /// Metrics only; write nothing to the hub.
    Metrics,
    /// Do not validate stored objects.
    Off,
}

impl AuditArgs {
    /// Adds a tap on the watches to the options of the controllers, if the audit is on.
    pub(super) fn hear(self, options: TideOptions) -> (TideOptions, Option<Sightings>) {
        if self.audit == AuditTo::Off {
            return (options, None);
        }
        let (tap, sightings): (WatchTap, Sightings) = tap();
        let tap = Some(tap);
        (TideOptions { tap, ..options }, Some(sightings))
    }

    /// Starts the audit, if it is on.
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
