//! What `tidegate dev` may be asked.
//!
//! Decides only how words become values. Never does what is asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::DevCommand;
use crate::cli::{AuditArgs, GateArgs, GivenWords, LogArgs, RightsArgs, TideArgs};

/// What a dev hub begins with.
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
    /// Returns what is stored at the start.
    pub(super) fn demo(&self) -> Demo {
        if self.no_demo { Demo::None } else { self.demo }
    }
}

/// Run a whole hub on loopback, in memory: for trying, demonstrating and testing. Not for production.
///
/// Prints one line `READY kubeconfig=<path> hub=<url>` when everything serves, then what happens on the clusters.
/// Ends cleanly on SIGINT or SIGTERM. While it runs, `tidegate dev fault` and `tidegate dev heal` let simulated clusters misbehave and
/// recover.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DevArgs {
    /// What is told on the hub of how the controllers behave.
    #[command(flatten)]
    pub words: GivenWords,
    /// Tell a hub that runs, instead of starting one.
    #[command(subcommand)]
    pub then: Option<DevCommand>,
    /// How many managed clusters to simulate (at most 5000).
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(0..=5000))]
    pub clusters: u16,
    /// Folder for the kubeconfig and the certificates; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = ".tidegate")]
    pub dir: PathBuf,
    /// Port of the hub on 127.0.0.1; 0 takes any free one.
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub port: u16,
    /// Loopback address of the web page (`docs/web.md`); port 0 takes any free one. On a hub of our own it asks for no token.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    pub ui: SocketAddr,
    /// Serve no web page.
    #[arg(long, conflicts_with = "ui")]
    pub no_ui: bool,
    /// Use this hub instead of one of our own: no other manager should drive its add-ons meanwhile.
    ///
    /// Definitions that it lacks are added and stay; the gate is registered while this runs. The hub has to reach
    /// this machine's loopback address.
    #[arg(long, value_name = "KUBECONFIG", conflicts_with = "port")]
    pub hub: Option<PathBuf>,
    /// What is stored at the start to be looked at.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Demo::AddOn)]
    pub demo: Demo,
    /// Start without a demo: the same as `--demo none`.
    #[arg(long, conflicts_with = "demo")]
    pub no_demo: bool,
    /// Let the clusters be OpenShift of a version, for instance `4.11.9`; `cluster3=4.12.0` says it of one, `cluster*=none` takes it
    /// away again. Repeatable, the last one wins. With `--demo upgrade` all are 4.11.9 unless this says otherwise.
    #[arg(long = "openshift", value_name = "[CLUSTER=]VERSION")]
    pub openshift: Vec<String>,
    /// How long an upgrade of OpenShift takes on a simulated cluster; everything around it goes in proportion.
    #[arg(long, value_name = "DURATION", default_value = "8s")]
    pub upgrade_time: String,
    /// Make a simulated cluster misbehave, for instance `cluster3=apply-failure:quota exceeded`. Repeatable.
    ///
    /// Faults: `delay:<duration>`, `apply-failure:<message>`, `unavailable:<message>`, `hook-failure:<message>`,
    /// `hook-hang`, `offline`; and of clusters that are OpenShift `upgrade-stall`, `upgrade-fail:<message>`, `upgrade-rejected:<message>`,
    /// `upgrade-slow:<duration>`, `not-upgradeable:<message>`, `pools-lag:<duration>`, `offline-during-upgrade`, and `job-`, `pre-`,
    /// `post-` or `operators-` with `fail:<message>`, `slow:<duration>`, `hang` or `retry`.
    #[arg(long = "fault", value_name = "CLUSTER=FAULT")]
    pub faults: Vec<String>,
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
    /// How the log is written.
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
