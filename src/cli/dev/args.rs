//! What `tidegate dev` may be asked.
//!
//! Decides only how words become values. Never does what is asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::DevCommand;
use crate::cli::{AuditArgs, EndpointsArgs, GateArgs, GivenWords, LogArgs, NotifyArgs, RightsArgs, TideArgs};

/// Demo objects to create on start.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demo {
    /// An add-on that is installed on every cluster (`manifests/examples/`).
    #[value(name = "addon")]
    AddOn,
    /// An upgrade of all clusters to OpenShift 4.12 (`manifests/examples/upgrade/`).
    Upgrade,
    /// Nothing.
    None,
}

impl DevArgs {
    /// Returns the objects to create on start.
    pub(super) fn demo(&self) -> Demo {
        if self.no_demo { Demo::None } else { self.demo }
    }
}

/// Run a whole hub on loopback, in memory: for demos, development and tests. Not for production.
///
/// Prints one line `READY kubeconfig=<path> hub=<url>` when everything is ready, then the events on the clusters. Exits cleanly
/// on SIGINT or SIGTERM. While it runs, `tidegate dev fault` and `tidegate dev heal` inject faults into simulated clusters and
/// remove them.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DevArgs {
    /// Settings of the controllers that are published on the hub.
    #[command(flatten)]
    pub words: GivenWords,
    /// Control a running hub instead of starting one.
    #[command(subcommand)]
    pub then: Option<DevCommand>,
    /// Number of managed clusters to simulate (at most 5000).
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(0..=5000))]
    pub clusters: u16,
    /// Folder for the kubeconfig and the certificates; created if it does not exist.
    #[arg(long, value_name = "DIR", default_value = ".tidegate")]
    pub dir: PathBuf,
    /// Port of the hub on 127.0.0.1; 0 uses any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Loopback address of the web page (`docs/web.md`); port 0 uses any free port. The in-memory hub requires no token.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    pub ui: SocketAddr,
    /// Disable the web page.
    #[arg(long, conflicts_with = "ui")]
    pub no_ui: bool,
    /// Use this hub instead of an in-memory one; no other manager may manage its add-ons at the same time.
    ///
    /// Missing CRDs are added and not removed at exit; the webhook is registered while the command runs. The hub must be able
    /// to reach the loopback address of this machine.
    #[arg(long, value_name = "KUBECONFIG", conflicts_with = "port")]
    pub hub: Option<PathBuf>,
    /// Demo objects to create on start.
    #[arg(long, value_enum, value_name = "DEMO", default_value_t = Demo::AddOn)]
    pub demo: Demo,
    /// Start without demo objects: same as `--demo none`.
    #[arg(long, conflicts_with = "demo")]
    pub no_demo: bool,
    /// OpenShift version of the clusters, for example `4.11.9`; `cluster3=4.12.0` sets it for one cluster, `cluster*=none`
    /// removes it. Repeatable, the last match wins. With `--demo upgrade`, the default is 4.11.9.
    #[arg(long = "openshift", value_name = "[CLUSTER=]VERSION")]
    pub openshift: Vec<String>,
    /// Duration of an OpenShift upgrade on a simulated cluster; its other steps take proportional times.
    #[arg(long, value_name = "DURATION", default_value = "8s")]
    pub upgrade_time: String,
    /// Inject a fault into a simulated cluster, for example `cluster3=apply-failure:quota exceeded`. Repeatable.
    ///
    /// Faults: `delay:<duration>`, `apply-failure:<message>`, `unavailable:<message>`, `hook-failure:<message>`, `hook-hang`,
    /// `offline`; for OpenShift clusters also `upgrade-stall`, `upgrade-fail:<message>`, `upgrade-rejected:<message>`,
    /// `upgrade-slow:<duration>`, `not-upgradeable:<message>`, `pools-lag:<duration>`, `offline-during-upgrade`, and `job-`,
    /// `pre-`, `post-` or `operators-` with `fail:<message>`, `slow:<duration>`, `hang` or `retry`.
    #[arg(long = "fault", value_name = "CLUSTER=FAULT")]
    pub faults: Vec<String>,
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
    /// Log options.
    #[command(flatten)]
    pub logs: LogArgs,
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = text
        .parse::<SocketAddr>()
        .ok()
        .filter(|address| address.ip().is_loopback());
    address.ok_or_else(|| "must be a loopback address with a port, such as 127.0.0.1:8090".to_owned())
}
