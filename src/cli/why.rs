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
/// Follows it from the ClusterManagementAddOn over placement, configurations and ManifestWork to what the cluster's agent
/// reports, and stops at the first object that cannot pass on what the one before it says. Without --cluster, clusters
/// that share a cause stand together. Of an add-on that is being deleted, or gone but for what is left of it, it says who still holds it.
/// Exit status: 0 nothing has to be done (all ready, or waiting for what comes by itself), 1 a user has to act, or the add-on is not on the
/// cluster that was asked about, 2 it cannot be told.
#[derive(Args, Clone, Debug)]
pub struct WhyArgs {
    /// Name of the add-on, or `mcu/NAME` or `mcu/NAMESPACE/NAME` for a ManagedClustersUpgrade.
    pub addon: String,
    /// Name of the cluster (default: all clusters).
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Read a dump of `tidegate snapshot` instead of the hub.
    #[arg(long, value_name = "DUMP", conflicts_with_all = ["kubeconfig", "context", "as"])]
    pub facts: Option<PathBuf>,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Output format.
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// List every cluster on a terminal, too; other outputs always list all.
    #[arg(long)]
    pub all: bool,
    /// How the hub's controllers behave.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
}

/// How the line ends at which a chain stops.
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
