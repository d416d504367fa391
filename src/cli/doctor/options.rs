//! What may be asked of `tidegate doctor`.
//!
//! Decides only how words become values.

use clap::Args;

use crate::cli::format::FormatParser;
use crate::cli::words::lease;
use crate::cli::{BehaviourArgs, ConnectionArgs, ControllersMode, LeasePlace, Only, OutputFormat};

/// Check the hub and the installation for problems, and print how to fix them.
///
/// Checks the version, clock and APIs of the hub, other managers of add-ons, the permissions of the account, the Lease, the
/// webhook configurations, the certificate of the webhook, programs that conflict with Tidegate, and add-ons that make no
/// progress. Every finding has an id, the observation, a fix and a command (`docs/operate/doctor.md`). Changes nothing: to test
/// the webhook, it sends an invalid ClusterManagementAddOn with dryRun=All.
/// Exit status: 0 no action needed, 1 action needed, 2 the hub or one of its APIs cannot be read.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Which hub.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Account whose permissions are checked, such as `system:serviceaccount:tidegate:tidegate-controllers`; by default your
    /// own.
    ///
    /// Requires the permission `impersonate`. All other requests use your own account.
    #[arg(long = "as", value_name = "USER")]
    pub account: Option<String>,
    /// Check only the permissions of one component, as with `serve --only`.
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Option<Only>,
    /// Mode of the controllers, as in `serve --controllers`.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = ControllersMode::On)]
    pub controllers: ControllersMode,
    /// Also check the permissions that `serve --ui` needs.
    #[arg(long)]
    pub ui: bool,
    /// Leader election Lease of the replicas; if you set the flag, a missing Lease is an error (default: check tidegate/leader
    /// if it exists).
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub elect: Option<LeasePlace>,
    /// Settings of the hub's controllers.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
    /// Address of the webhook as seen from this machine, to check its certificate.
    ///
    /// Default: the address in the webhook configurations or, inside a cluster, the Service. For example 127.0.0.1:9443 with
    /// `kubectl port-forward -n tidegate deployment/tidegate-gate 9443`.
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    pub gate: Option<String>,
    /// Lowest severity of a finding for which the exit status is 1.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailFrom::Error)]
    pub fail_on: FailFrom,
    /// Do not shorten the list of objects on a terminal; other outputs are never shortened.
    #[arg(long)]
    pub all: bool,
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<OutputFormat>::new())]
    pub output: OutputFormat,
}

/// Lowest severity of a finding for which the exit status is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailFrom {
    /// Errors.
    Error,
    /// Errors and warnings.
    Warning,
}

impl FailFrom {
    pub(super) const fn severity(self) -> operate::doctor::Severity {
        match self {
            Self::Error => operate::doctor::Severity::Error,
            Self::Warning => operate::doctor::Severity::Warning,
        }
    }
}

impl From<ControllersMode> for operate::doctor::Controllers {
    fn from(mode: ControllersMode) -> Self {
        match mode {
            ControllersMode::Off => Self::Off,
            ControllersMode::Observe => Self::Observe,
            ControllersMode::On => Self::On,
        }
    }
}

impl From<Only> for operate::doctor::Part {
    fn from(only: Only) -> Self {
        match only {
            Only::Gate => Self::Gate,
            Only::Controllers => Self::Controllers,
            Only::Certificates => Self::Certificates,
        }
    }
}

fn address(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(_) => Ok(text.to_owned()),
        None => Err("write a host and a port, for instance 127.0.0.1:9443".to_owned()),
    }
}
