//! `tidegate why`: follows an add-on from its hub object to what an agent reports.
//!
//! Decides where the hub comes from and the exit status; the chain is decided by `why`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::print::{OutputFormat, listing, print, print_folded};
use super::{BehaviourArgs, CliError, HubArgs, StockArg, live};
use insight::offline::Hub;
use kubernetes::field::{Listing, Shown};
use store::{Fence, Settings};

/// Show why an add-on or a cluster upgrade is not ready, and how to fix it.
///
/// Checks the ClusterManagementAddOn, the placement, the configurations, the ManifestWork and the status that the agent of the
/// cluster reports, in this order, and stops at the first object that blocks the add-on. Without --cluster, groups clusters by
/// cause. For an add-on that is being deleted, or whose remains still exist, shows what blocks the deletion.
/// Exit status: 0 no action needed (all ready, or in progress), 1 user action needed, or the add-on is not on the cluster of
/// --cluster, 2 cannot be determined.
#[derive(Args, Clone, Debug)]
pub struct WhyArgs {
    /// Name of the add-on, or `mcu/NAME` or `mcu/NAMESPACE/NAME` for a ManagedClustersUpgrade.
    pub addon: String,
    /// Name of the cluster (default: all clusters).
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Read a dump written by `tidegate snapshot` instead of the hub.
    #[arg(long, value_name = "DUMP", conflicts_with_all = ["kubeconfig", "context", "as"])]
    pub facts: Option<PathBuf>,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// Do not shorten the list of clusters on a terminal; other outputs are never shortened.
    #[arg(long)]
    pub all: bool,
    /// How the hub's controllers behave.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
}

/// End of the line at which the chain stops.
const STOPS: &str = "<- stops here";

/// A dump has no Leases.
fn fence(args: &WhyArgs, stock: &StockArg, now: Timestamp) -> Result<Fence, CliError> {
    let stock = stock.0.as_ref().filter(|_| args.facts.is_none());
    live::fence(&args.hub, stock, now)
}

/// The name of an upgrade, as kubectl spells a kind before it.
fn upgrade_of(text: &str) -> Option<&str> {
    let (kind, name) = text.split_once('/')?;
    let kinds = ["mcu", "managedclustersupgrade", "managedclustersupgrades"];
    kinds.contains(&kind.to_lowercase().as_str()).then_some(name)
}

fn of_upgrade(
    hub: &Hub,
    settings: Settings,
    now: Timestamp,
    name: &str,
    cluster: Option<&str>,
    output: OutputFormat,
    listing: Listing,
) -> Result<ExitCode, CliError> {
    let answer = insight::why::why_upgrade(hub, settings, name, cluster, now)
        .map_err(|error| CliError::Refused(Box::new(error)))?;
    match output {
        OutputFormat::Text => print(&Shown::page(&insight::why::upgrade_text(&answer, listing)))?,
        OutputFormat::Json => print(&Shown::json(&format!(
            "{:#}\n",
            insight::why::upgrade_json(&answer)
        )))?,
    }
    Ok(ExitCode::from(u8::from(!answer.is_well())))
}

pub(super) fn run(args: &WhyArgs) -> Result<ExitCode, CliError> {
    let reading = live::dump_or_seen(args.facts.as_deref(), &args.hub, &args.behaviour)?;
    let controllers = args.behaviour.of(&reading.settings)?;
    let (hub, now) = (reading.hub, reading.now);
    let settings = Settings {
        fence: fence(args, &controllers.stock_lease, now)?,
        ..controllers.settings()
    };
    let cluster = args.cluster.as_deref();
    if let Some(upgrade) = upgrade_of(&args.addon) {
        return of_upgrade(
            &hub,
            settings,
            now,
            upgrade,
            cluster,
            args.output,
            listing(args.all),
        );
    }
    let answer = insight::why::why(&hub, settings, &args.addon, cluster, now)
        .map_err(|error| CliError::Refused(Box::new(error)))?;
    match args.output {
        OutputFormat::Text => print_folded(
            &insight::why::text(&answer, cluster.is_some(), listing(args.all)),
            &[STOPS],
        )?,
        OutputFormat::Json => print(&Shown::json(&format!("{:#}\n", insight::why::json(&answer))))?,
    }
    Ok(ExitCode::from(u8::from(!answer.is_well())))
}
