//! `tidegate release`: hands add-ons back to OCM's add-on manager.
//!
//! Decides which add-ons, and that nothing is done while a Tidegate is at work that would do it again. What belongs to whom is decided
//! by `release`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use kube::Client;

use super::apply::{self, Taken};
use super::hub::{ADDONS, BINDINGS, INSTANCES, LEASES};
use crate::cli::options::MANAGE;
use crate::cli::print::print;
use crate::cli::settings::SettingsReading;
use crate::cli::words::{lease, one_of};
use crate::cli::{CliError, ControllerFlags, HubArgs, LeasePlace, SettingsArgs, connect};
use api::names::annotations::LIFECYCLE;
use kubernetes::field::Shown;
use operate::release::{RemovableObjects, is_alive, is_ours, left, path, report_line, steps, twin_of};
use store::{Managing, terms};

/// Return add-ons to OCM's add-on manager.
///
/// Removes what only Tidegate maintains: its conditions, its annotations, its role bindings where OCM's also exist, and the
/// annotation that makes Tidegate the manager of an add-on. Installed add-ons stay installed. Stop Tidegate first: the command
/// detects a running leader by its Lease, but not a Tidegate without `--elect`. Exit status: 0 done, 1 incomplete (run it
/// again), 2 refused.
#[derive(Args, Clone, Debug)]
pub struct ReleaseArgs {
    /// Name of the add-on; repeatable.
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub addon: Vec<String>,
    /// All add-ons.
    #[arg(long)]
    pub all: bool,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Which add-ons a running Tidegate manages (default: what its controllers publish). With `marked`, an add-on without the
    /// annotation can be released while Tidegate runs.
    #[arg(long, value_name = "ADDONS", value_parser = one_of(MANAGE))]
    pub manage: Option<Managing>,
    /// Where the hub's controllers publish their settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Leases that replicas of Tidegate may use for leader election.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease,
          default_values = ["tidegate/leader", "open-cluster-management-hub/manager-lock"])]
    pub lease: Vec<LeasePlace>,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
}

pub(in crate::cli) fn run(args: &ReleaseArgs) -> Result<ExitCode, CliError> {
    let runtime = connect::runtime()?;
    runtime.block_on(hand_back(args))
}

/// Why nothing is returned to OCM's manager.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("there is no ClusterManagementAddOn or ManagedClusterAddOn \"{0}\"")]
    NoAddOn(String),
    #[error(
        "Tidegate is running (Lease {namespace}/{name}, held by \"{holder}\") and would take over \"{addon}\" again: stop it first{cure}"
    )]
    Alive {
        namespace: String,
        name: String,
        holder: String,
        addon: String,
        cure: String,
    },
}

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

async fn hand_back(args: &ReleaseArgs) -> Result<ExitCode, CliError> {
    let client = connect::client(connect::config_of(&args.hub).await?)?;
    let all = read(&client, args).await?;
    let manage = match args.manage {
        Some(manage) => manage,
        None => managed(args.settings.read(client.clone()).await),
    };
    refuse_alive(&client, args, manage, &all).await?;
    let mut text = String::new();
    let mut is_done = true;
    for (name, held) in &all {
        match hand_back_one(&client, args, name, held, &mut text).await {
            Ok(whole) => is_done &= whole,
            Err(source) => {
                // What was done before it failed is done.
                print(&Shown::page(&text))?;
                return Err(CliError::acting("return the add-on to OCM's add-on manager")(
                    source,
                ));
            }
        }
    }
    if args.dry_run {
        text.push_str("nothing was written (--dry-run)\n");
    }
    print(&Shown::page(&text))?;
    Ok(ExitCode::from(u8::from(!is_done)))
}

/// Settings that cannot be read make the command refuse more, never less.
fn managed(settings: SettingsReading) -> Managing {
    let SettingsReading::Published(words) = settings else {
        return Managing::All;
    };
    ControllerFlags::published(&words).map_or(Managing::All, |known| known.tide.manage)
}

/// Returns one add-on to OCM's manager, prints it, and returns whether it is complete.
async fn hand_back_one(
    client: &Client,
    args: &ReleaseArgs,
    name: &str,
    held: &RemovableObjects,
    text: &mut String,
) -> kube::Result<bool> {
    let mut is_done = true;
    let mut touched = BTreeSet::new();
    let steps = steps(held);
    for step in &steps {
        let uid = path(&step.object, "/metadata/uid").to_owned();
        if !args.dry_run && apply::take(client, step, touched.insert(uid)).await? == Taken::Changed {
            // The steps after it count on it: the rest of the add-on is the next run's.
            text.push_str(&report_line(
                name,
                &step.object,
                "incomplete: it was changed at the same time; run release again",
            ));
            is_done = false;
            break;
        }
        text.push_str(&report_line(name, &step.object, &step.says));
    }
    for binding in left(held) {
        is_done = false;
        let twin = twin_of(binding).map(|(_, name)| name).unwrap_or_default();
        let says = format!("incomplete: OCM has not created {twin} yet; run release again when it exists");
        text.push_str(&report_line(name, binding, &says));
    }
    if steps.is_empty() && left(held).next().is_none() {
        let _written = writeln!(text, "{name}: nothing to release").is_ok();
    }
    Ok(is_done)
}

/// Reads the objects of each requested add-on.
async fn read(client: &Client, args: &ReleaseArgs) -> Result<Vec<(String, RemovableObjects)>, CliError> {
    let addons = ADDONS.list(client, "").await?;
    let instances = INSTANCES.list(client, "").await?;
    let bindings = BINDINGS.list(client, terms::PERMISSION).await?;
    let names: BTreeSet<String> = if args.all {
        let both = addons.iter().chain(&instances);
        both.map(|one| path(one, "/metadata/name").to_owned()).collect()
    } else {
        args.addon.iter().cloned().collect()
    };
    let mut all = Vec::new();
    for name in names {
        let Some(mut held) = RemovableObjects::of(&name, &addons, &instances, &bindings) else {
            return Err(Refusal::NoAddOn(name).into());
        };
        for twin in held.bindings.iter().filter_map(twin_of).collect::<BTreeSet<_>>() {
            if BINDINGS.get(client, &twin.0, &twin.1).await?.is_some() {
                held.twins.insert(twin);
            }
        }
        all.push((name, held));
    }
    Ok(all)
}

/// A leader would write again what the command removes.
async fn refuse_alive(
    client: &Client,
    args: &ReleaseArgs,
    manage: Managing,
    all: &[(String, RemovableObjects)],
) -> Result<(), CliError> {
    let mut managed = all
        .iter()
        .filter(|(_, held)| manage == Managing::All || held.is_marked());
    let Some((addon, _)) = managed.next().filter(|_| !args.dry_run) else {
        return Ok(());
    };
    for place in &args.lease {
        let Some(found) = LEASES.get(client, &place.namespace, &place.name).await? else {
            continue;
        };

        if is_alive(&found, Timestamp::now()) && is_ours(&found) {
            return Err(Refusal::Alive {
                namespace: place.namespace.clone(),
                name: place.name.clone(),
                holder: path(&found, "/spec/holderIdentity").to_owned(),
                addon: addon.clone(),
                cure: cure(addon),
            }
            .into());
        }
    }
    Ok(())
}

fn cure(addon: &str) -> String {
    format!(
        "; if it runs with --manage marked, remove the annotation (kubectl annotate clustermanagementaddon {addon} {LIFECYCLE}-) and set \
         --manage marked here"
    )
}
