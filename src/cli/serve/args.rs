//! The flags of `tidegate serve`.
//!
//! Decides only how words become values.

use std::net::SocketAddr;

use clap::Args;

use super::EndpointArgs;
use crate::cli::options::{STOCK_LEASE, stock_lease};
use crate::cli::words::{LeasePlace, lease};
use crate::cli::{
    AuditArgs, CliError, ControllersMode, GateArgs, GivenWords, HubArgs, LogArgs, Only, RightsArgs, StockArg,
    TideArgs, UiArgs,
};
use crate::telemetry::{Collector, Metrics, Ratio, Sending};

/// Guard and drive a hub: serve admission over TLS and run the controllers.
///
/// The hub is the one of the kubeconfig (flag, else KUBECONFIG, else the service account of the pod). It must have the
/// definitions of `tidegate crds` beside OCM's own, and be told to ask the gate: `tidegate reference webhooks`.
/// Several replicas need `--elect`, so that only one of them writes. Ends on SIGINT or SIGTERM after the requests under way.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// What is told on the hub of how the controllers behave.
    #[command(flatten)]
    pub words: GivenWords,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Run one part alone, with an account of its own (`docs/operate/replicas.md`).
    ///
    /// The gate alone writes nothing but the first key of records. The controllers alone open no port but that of `--metrics`, which then tells their health
    /// too, and need no certificate. `certificates` keeps the certificate of the gate: one replica is enough, and it needs no Lease.
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Option<Only>,
    /// What the controllers do: nothing, which is `--only gate`; observe, which plans and tells what would be written (log,
    /// metrics, and the page `/pending` on the address of `--metrics`) and writes nothing; or write.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = ControllersMode::On)]
    pub controllers: ControllersMode,
    /// Address to serve admission on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub bind: SocketAddr,
    /// Certificate, callers, probes and metrics.
    #[command(flatten)]
    pub endpoint: EndpointArgs,
    /// Lease by which several replicas elect the one that writes; every replica answers admission.
    ///
    /// The Lease is made if it is not there; the namespace is not. Without the flag this replica writes by itself.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub elect: Option<LeasePlace>,
    /// Lease of OCM's add-on manager. While it is held, add-ons that are that manager's are not written: those whose
    /// annotation `addon.open-cluster-management.io/lifecycle` is absent or `addon-manager`. `none` looks at nothing.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = STOCK_LEASE, value_parser = stock_lease)]
    pub stock_lease: StockArg,
    /// Secret with the keys by which replicas recognise what one of them has recorded in an object, such as that the author of an
    /// upgrade may use its placements. The same Secret for all replicas of the webhook and of the controllers.
    ///
    /// One entry is one key of at least 32 bytes: the last one by name signs, every one verifies. The webhook puts a first key into an
    /// empty Secret; a change is applied at once. Without the flag this process makes a key of its own: no other replica accepts its
    /// records, and they are not valid after a restart (`docs/operate/replicas.md`).
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub record_keys: Option<LeasePlace>,
    /// What the gate decides by.
    #[command(flatten)]
    pub gate: GateArgs,
    /// How the controllers behave.
    #[command(flatten)]
    pub tide: TideArgs,
    /// What agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
    /// Whether stored objects are audited.
    #[command(flatten)]
    pub audit: AuditArgs,
    /// Whether a web page is served.
    #[command(flatten)]
    pub ui: UiArgs,
    /// How the log is written.
    #[command(flatten)]
    pub logs: LogArgs,
    /// Whether spans are sent.
    #[command(flatten)]
    pub traces: TraceArgs,
    /// Look at the hub as `tidegate doctor` does before anything starts, tell what is found, and do not start over an error.
    ///
    /// Without it the program starts and waits for what is missing, which `/readyz` names.
    #[arg(long)]
    pub preflight: bool,
    /// How many seconds to go on serving after a signal, until routes to this server are withdrawn.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=300))]
    pub linger: u64,
}

impl ServeArgs {
    /// Returns the half that runs alone, if one does.
    pub(in crate::cli) fn half(&self) -> Option<Only> {
        match self.controllers {
            ControllersMode::Off => Some(Only::Gate),
            ControllersMode::Observe | ControllersMode::On => self.only,
        }
    }
}

/// Whether spans are sent.
#[derive(Args, Clone, Debug)]
pub struct TraceArgs {
    /// Send traces of admission requests and of plans to this collector: OTLP over HTTP in the binary form, such as
    /// `http://collector:4318`. Off without it.
    #[arg(long, value_name = "URL", value_parser = Collector::parse)]
    pub otlp: Option<Collector>,
    /// The part of the traces that begin here which is kept, from 0 to 1; where the API server traces its requests, it decides.
    #[arg(long, value_name = "RATIO", default_value = "1", requires = "otlp", value_parser = Ratio::parse)]
    pub otlp_ratio: Ratio,
}

impl TraceArgs {
    /// Starts to send spans where that is asked for.
    pub(super) fn start(&self, metrics: &Metrics) -> Result<Option<Sending>, CliError> {
        let Some(collector) = &self.otlp else {
            return Ok(None);
        };
        let started = Sending::start(collector.clone(), self.otlp_ratio, metrics.traces());
        started
            .map(Some)
            .map_err(CliError::starting("the sender of traces"))
    }
}
