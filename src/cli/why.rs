//! `tidegate why`: follows an add-on from its hub object to what an agent reports.
//!
//! Decides where the hub comes from and the exit status; the chain is decided by `why`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use serde_json::Value;

use super::format::FormatParser;
use super::print::{OutputFormat, document, listing, print, print_document, print_folded};
use super::rollout::{painted, width};
use super::{BehaviourArgs, CliError, HubArgs, StockArg, live};
use insight::offline::Hub;
use insight::why::DiagnosisList;
use kubernetes::field::{Listing, Shown};
use store::{Fence, Settings};

/// Show why an add-on or a cluster upgrade is not ready, and how to fix it.
///
/// Checks the ClusterManagementAddOn, the placement, the configurations, the ManifestWork and the status that the agent of the
/// cluster reports, in this order, and stops at the first object that blocks the add-on. Without --cluster, groups clusters by
/// cause. With --cluster and without a name, lists all add-ons and upgrades of the cluster. For an add-on that is being deleted,
/// or whose remains still exist, shows what blocks the deletion.
/// Exit status: 0 no action needed (all ready, or in progress), 1 a user must act (a pause and a missing approval included), or
/// the add-on is not on the cluster of --cluster, 2 cannot be determined.
#[derive(Args, Clone, Debug)]
pub struct WhyArgs {
    /// Names of add-ons, or `mcu/NAME` or `mcu/NAMESPACE/NAME` for a ManagedClustersUpgrade.
    #[arg(value_name = "ADDON")]
    pub addons: Vec<String>,
    /// Name of the cluster (default: all clusters). Without ADDON, all add-ons and upgrades of this cluster.
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Read a dump written by `tidegate snapshot` instead of the hub.
    #[arg(long, value_name = "DUMP", conflicts_with_all = ["kubeconfig", "context", "as"])]
    pub facts: Option<PathBuf>,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<OutputFormat>::new())]
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

/// An answer: its text, its document for programs, and whether no user has to act.
struct Told {
    text: String,
    document: Value,
    is_well: bool,
}

fn of_upgrade(
    hub: &Hub,
    settings: Settings,
    now: Timestamp,
    name: &str,
    cluster: Option<&str>,
    listing: Listing,
) -> Result<Told, CliError> {
    let answer = insight::why::why_upgrade(hub, settings, name, cluster, now)
        .map_err(|error| CliError::Refused(Box::new(error)))?;
    Ok(Told {
        text: insight::why::upgrade_text(&answer, listing),
        document: document(&insight::why::upgrade_diagnosis(&answer))?,
        is_well: answer.is_well(),
    })
}

fn of_addon(
    hub: &Hub,
    settings: Settings,
    now: Timestamp,
    name: &str,
    cluster: Option<&str>,
    listing: Listing,
) -> Result<Told, CliError> {
    let answer = match insight::why::why(hub, settings.clone(), name, cluster, now) {
        Ok(answer) => answer,
        // As `tidegate rollout` does, a name that no add-on has is read as that of an upgrade.
        Err(error) => {
            let upgrade = of_upgrade(hub, settings, now, name, cluster, listing).ok();
            return upgrade.ok_or_else(|| CliError::Refused(Box::new(error)));
        }
    };
    Ok(Told {
        text: insight::why::text(&answer, cluster.is_some(), listing),
        document: document(&insight::why::addon_diagnosis(&answer))?,
        is_well: answer.is_well(),
    })
}

/// What a command line names that names nothing.
const NOTHING_NAMED: &str = "name add-ons or upgrades (tidegate why NAME...), or a cluster (tidegate why --cluster NAME); \
                             `tidegate rollout list` lists all add-ons and upgrades";

pub(super) fn run(args: &WhyArgs) -> Result<ExitCode, CliError> {
    if args.addons.is_empty() && args.cluster.is_none() {
        return Err(CliError::Refused(NOTHING_NAMED.into()));
    }
    let reading = live::dump_or_seen(args.facts.as_deref(), &args.hub, &args.behaviour)?;
    let controllers = args.behaviour.of(&reading.settings)?;
    let (hub, now) = (reading.hub, reading.now);
    let settings = Settings {
        fence: fence(args, &controllers.stock_lease, now)?,
        ..controllers.settings()
    };
    let cluster = args.cluster.as_deref();
    if let (Some(cluster), []) = (cluster, args.addons.as_slice()) {
        return whole_cluster(args, &hub, settings, now, cluster);
    }
    let (mut told, mut wrong) = (Vec::new(), Vec::new());
    for name in &args.addons {
        let settings = settings.clone();
        let answer = match upgrade_of(name) {
            Some(upgrade) => of_upgrade(&hub, settings, now, upgrade, cluster, listing(args.all)),
            None => of_addon(&hub, settings, now, name, cluster, listing(args.all)),
        };
        match answer {
            Ok(answer) => told.push(answer),
            Err(error) => wrong.push(error),
        }
    }
    match args.output {
        OutputFormat::Text => {
            for (at, answer) in told.iter().enumerate() {
                if at > 0 {
                    print(&Shown::line(""))?;
                }
                print_folded(&answer.text, &[STOPS])?;
            }
        }
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => {
            let mut items: Vec<Value> = told.iter().map(|answer| answer.document.clone()).collect();
            let page = match args.addons.len() {
                1 => items.pop(),
                _ => Some(document(&DiagnosisList { items })?),
            };
            if let Some(page) = page {
                print_document(&page, args.output)?;
            }
        }
    }
    match wrong.len() {
        0 => Ok(ExitCode::from(u8::from(
            told.iter().any(|answer| !answer.is_well),
        ))),
        1 => wrong.pop().map_or(Ok(ExitCode::SUCCESS), Err),
        _ => Err(CliError::Several(wrong)),
    }
}

/// Lists what a cluster has of every add-on and upgrade.
fn whole_cluster(
    args: &WhyArgs,
    hub: &Hub,
    settings: Settings,
    now: Timestamp,
    name: &str,
) -> Result<ExitCode, CliError> {
    let rollouts = insight::why::why_cluster(hub, settings, name, now)
        .map_err(|unknown| CliError::Refused(Box::new(unknown)))?;
    match args.output {
        OutputFormat::Text => print(&painted(&rollouts.lines(width(args.all), now)))?,
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => {
            print_document(&document(&rollouts)?, args.output)?;
        }
    }
    Ok(ExitCode::from(u8::from(!rollouts.is_well())))
}
