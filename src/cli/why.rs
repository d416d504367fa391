//! `tidegate why`: follows an add-on from its hub object to what an agent reports.
//!
//! Decides where the hub comes from and the exit status; the chain is decided by `why`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::options::{STOCK_LEASE, stock_lease};
use super::print::{OutputFormat, print};
use super::{CliError, RightsArgs, StockArg, TideArgs, live};
use crate::controllers::TideOptions;
use field::Shown;
use offline::Hub;
use release::{is_alive, is_ours};
use snapshot::{Fence, Settings};

/// Say why an add-on is not where it should be, and where to look.
///
/// Follows it from the ClusterManagementAddOn over placement, configurations and ManifestWork to what the cluster's agent
/// reports, and stops at the first object that cannot pass on what the one before it says. Without --cluster, clusters
/// that share a cause stand together. Of an add-on that is being deleted, or gone but for what is left of it, it says who still holds it.
/// Exit status: 0 nobody has to act (all ready, or waiting for what comes by itself), 1 somebody has to, or the add-on is not on the
/// cluster that was asked about, 2 it cannot be told.
#[derive(Args, Clone, Debug)]
pub struct WhyArgs {
    /// Name of the add-on; `mcu/NAME` or `mcu/NAMESPACE/NAME` asks about an upgrade of clusters.
    pub addon: String,
    /// The cluster; all of them without it.
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Ask a dump of `tidegate snapshot` instead of the hub.
    #[arg(long, value_name = "DUMP", conflicts_with = "kubeconfig")]
    pub facts: Option<PathBuf>,
    /// Kubeconfig of the hub (flag, else KUBECONFIG, else the service account of the pod).
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Lease of OCM's add-on manager, which has its add-ons while it holds it; `none` looks at nothing.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = STOCK_LEASE, value_parser = stock_lease, conflicts_with = "facts")]
    pub stock_lease: StockArg,
    /// Form of the answer.
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// How the controllers of that hub behave.
    #[command(flatten)]
    pub tide: TideArgs,
    /// What agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
}

/// A dump has no Leases, and who may not read this one is not told of it.
fn fence(args: &WhyArgs, now: Timestamp) -> Result<Fence, CliError> {
    let Some(place) = args.stock_lease.0.as_ref().filter(|_| args.facts.is_none()) else {
        return Ok(Fence::Open);
    };
    let lease = live::lease(args.kubeconfig.as_deref(), place)?;
    let acts = lease.is_some_and(|lease| is_alive(&lease, now) && !is_ours(&lease));
    Ok(if acts { Fence::Closed } else { Fence::Open })
}

/// The name of an upgrade, as kubectl spells a kind before it.
fn upgrade_of(text: &str) -> Option<&str> {
    let (kind, name) = text.split_once('/')?;
    let kinds = ["mcu", "managedclustersupgrade", "managedclustersupgrades"];
    kinds.contains(&kind.to_lowercase().as_str()).then_some(name)
}

fn of_upgrade(
    (hub, settings, now): (&Hub, Settings, Timestamp),
    asked: (&str, Option<&str>),
    output: OutputFormat,
) -> Result<ExitCode, CliError> {
    let answer =
        why::why_upgrade(hub, settings, asked, now).map_err(|error| CliError::Refused(Box::new(error)))?;
    match output {
        OutputFormat::Text => print(&Shown::page(&why::upgrade_text(&answer)))?,
        OutputFormat::Json => print(&Shown::json(&format!("{:#}\n", why::upgrade_json(&answer))))?,
    }
    Ok(ExitCode::from(u8::from(!answer.is_well())))
}

pub(super) fn run(args: &WhyArgs) -> Result<ExitCode, CliError> {
    let (hub, now) = match &args.facts {
        Some(path) => {
            let dump = live::dump(path)?;
            (dump.hub, dump.taken_at)
        }
        None => (live::read(args.kubeconfig.as_deref())?, Timestamp::now()),
    };
    let settings = Settings {
        fence: fence(args, now)?,
        hub_namespaces: args.rights.namespaces(),
        ..TideOptions::from(&args.tide).settings
    };
    let cluster = args.cluster.as_deref();
    if let Some(upgrade) = upgrade_of(&args.addon) {
        return of_upgrade((&hub, settings, now), (upgrade, cluster), args.output);
    }
    let answer = why::why(&hub, settings, (&args.addon, cluster), now)
        .map_err(|error| CliError::Refused(Box::new(error)))?;
    match args.output {
        OutputFormat::Text => print(&Shown::page(&why::text(&answer, cluster.is_some())))?,
        OutputFormat::Json => print(&Shown::json(&format!("{:#}\n", why::json(&answer))))?,
    }
    Ok(ExitCode::from(u8::from(!answer.is_well())))
}
