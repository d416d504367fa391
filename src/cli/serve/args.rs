//! The flags of `tidegate serve`.
//!
//! Decides only how words become values.

use std::net::SocketAddr;

use clap::Args;

use super::EndpointArgs;
use crate::cli::options::{STOCK_LEASE, stock_lease};
use crate::cli::words::{LeasePlace, lease};
use crate::cli::{
    AuditArgs, CliError, ControllersMode, EndpointsArgs, GateArgs, GivenWords, HubArgs, LogArgs, NotifyArgs,
    Only, RightsArgs, StockArg, TideArgs, UiArgs,
};
use crate::telemetry::{Collector, Metrics, Ratio, Sending};

/// Run the webhook and the controllers: validate add-ons at admission (TLS) and manage them.
///
/// Uses the hub of the kubeconfig (flag, else KUBECONFIG, else the service account of the pod). The hub needs the CRDs of
/// `tidegate crds` in addition to OCM's own, and the webhook configurations of `tidegate reference webhooks`. With more than
/// one replica, set `--elect`, so that only the leader writes. On SIGINT or SIGTERM, the program completes the requests in
/// progress and exits.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Settings of the controllers that are published on the hub.
    #[command(flatten)]
    pub words: GivenWords,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Run only one component, with its own service account (`docs/operate/replicas.md`).
    ///
    /// `gate`: the webhook; it writes nothing except the first signing key of records. `controllers`: needs no certificate and
    /// listens only on the address of `--metrics`, which then also serves the health endpoints. `certificates`: creates and
    /// renews the certificate of the webhook; it needs one replica and no Lease.
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Option<Only>,
    /// Mode of the controllers: `off` (same as `--only gate`), `observe` (plan only: report what would be written in the log,
    /// in metrics and on the page `/pending` of the address of `--metrics`) or `on`.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = ControllersMode::On)]
    pub controllers: ControllersMode,
    /// Listen address of the webhook.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub bind: SocketAddr,
    /// Certificate, clients, probes and metrics.
    #[command(flatten)]
    pub endpoint: EndpointArgs,
    /// Leader election Lease: only the leader writes; every replica serves admission.
    ///
    /// The Lease is created if it does not exist; the namespace must exist. Without the flag, there is no leader election and
    /// this replica writes.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub elect: Option<LeasePlace>,
    /// Leader election Lease of OCM's add-on manager. While a manager holds it, Tidegate does not write the add-ons of that
    /// manager: those whose annotation `addon.open-cluster-management.io/lifecycle` is absent or `addon-manager`. `none`
    /// disables the check.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = STOCK_LEASE, value_parser = stock_lease)]
    pub stock_lease: StockArg,
    /// Secret with the keys that sign the records in objects, such as that the author of an upgrade may use its placements. All
    /// replicas of the webhook and of the controllers must use the same Secret.
    ///
    /// Each entry is one key of at least 32 bytes. The last key by name signs; every key verifies. The webhook creates the
    /// first key in an empty Secret; changes are applied at once. Without the flag, the process generates its own key: other
    /// replicas do not accept its records, and they are invalid after a restart (`docs/operate/replicas.md`).
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub record_keys: Option<LeasePlace>,
    /// Settings of the webhook.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Settings of the controllers.
    #[command(flatten)]
    pub tide: TideArgs,
    /// What RolloutChecks may query.
    #[command(flatten)]
    pub checks: EndpointsArgs,
    /// Permissions that agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
    /// Notifications.
    #[command(flatten)]
    pub notify: NotifyArgs,
    /// Audit of stored objects.
    #[command(flatten)]
    pub audit: AuditArgs,
    /// Web page.
    #[command(flatten)]
    pub ui: UiArgs,
    /// Log options.
    #[command(flatten)]
    pub logs: LogArgs,
    /// Trace options.
    #[command(flatten)]
    pub traces: TraceArgs,
    /// Run the checks of `tidegate doctor` before the start, log the findings, and exit on an error.
    ///
    /// Without the flag, the program starts and waits for missing prerequisites; `/readyz` lists them.
    #[arg(long)]
    pub preflight: bool,
    /// Seconds to continue serving after a termination signal, until no endpoint routes to this server.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=300))]
    pub linger: u64,
}

impl ServeArgs {
    /// Returns the component that runs alone, if `--only` is set.
    pub(in crate::cli) fn half(&self) -> Option<Only> {
        match self.controllers {
            ControllersMode::Off => Some(Only::Gate),
            ControllersMode::Observe | ControllersMode::On => self.only,
        }
    }
}

/// Trace options.
#[derive(Args, Clone, Debug)]
pub struct TraceArgs {
    /// OTLP/HTTP endpoint (protobuf) for traces of admission requests and of plans, such as `http://collector:4318` (default:
    /// no traces).
    #[arg(long, value_name = "URL", value_parser = Collector::parse)]
    pub otlp: Option<Collector>,
    /// Sampling ratio (0 to 1) of traces that start in this process; for admission requests that the API server traces, the API
    /// server decides.
    #[arg(long, value_name = "RATIO", default_value = "1", requires = "otlp", value_parser = Ratio::parse)]
    pub otlp_ratio: Ratio,
}

impl TraceArgs {
    /// Starts the trace exporter, if `--otlp` is set.
    pub(super) fn start(&self, metrics: &Metrics) -> Result<Option<Sending>, CliError> {
        let Some(collector) = &self.otlp else {
            return Ok(None);
        };
        let started = Sending::start(collector.clone(), self.otlp_ratio, metrics.traces());
        started
            .map(Some)
            .map_err(CliError::starting("the trace exporter"))
    }
}
