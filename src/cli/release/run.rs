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
/// Takes away what Tidegate alone kept up to date: its conditions, its marks, its role bindings where OCM's stand beside them, and
/// the annotation that makes an add-on its own. What is installed stays as it is. Run it when Tidegate is stopped; one that leads is
/// noticed by its Lease, one without `--elect` is not. Exit status: 0 done, 1 something is left for another run, 2 refused.
#[derive(Args, Clone, Debug)]
pub struct ReleaseArgs {
    /// The add-on; repeatable.
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
    /// Say what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Which add-ons a Tidegate that leads manages; by default what its controllers publish. With `marked`, one that is not marked any
    /// more may be released beside it.
    #[arg(long, value_name = "WHICH", value_parser = one_of(MANAGE))]
    pub manage: Option<Managing>,
    /// Where the hub's controllers publish their settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Leases by which replicas of Tidegate may elect.
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

/// Why nothing is handed back.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("no ClusterManagementAddOn or ManagedClusterAddOn is called \"{0}\"")]
    NoAddOn(String),
    #[error(
        "a Tidegate leads (Lease {namespace}/{name}, held by \"{holder}\") and would do it again for \"{addon}\": stop it first{cure}"
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
                return Err(CliError::acting("hand the add-on back")(source));
            }
        }
    }
    if args.dry_run {
        text.push_str("nothing was written (--dry-run)\n");
    }
    print(&Shown::page(&text))?;
    Ok(ExitCode::from(u8::from(!is_done)))
}

/// Settings that cannot be read refuse more, never less.
fn managed(settings: SettingsReading) -> Managing {
    let SettingsReading::Published(words) = settings else {
        return Managing::All;
    };
    ControllerFlags::published(&words).map_or(Managing::All, |known| known.tide.manage)
}

/// Hands one add-on back, says so, and returns whether nothing of it is left for another run.
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
                "left: it was changed meanwhile; run release again",
            ));
            is_done = false;
            break;
        }
        text.push_str(&report_line(name, &step.object, &step.says));
    }
    for binding in left(held) {
        is_done = false;
        let twin = twin_of(binding).map(|(_, name)| name).unwrap_or_default();
        let says = format!("left: OCM has not made {twin} yet; run release again when it has");
        text.push_str(&report_line(name, binding, &says));
    }
    if steps.is_empty() && left(held).next().is_none() {
        let _written = writeln!(text, "{name}: nothing here is Tidegate's").is_ok();
    }
    Ok(is_done)
}

/// Reads what there is of each add-on that is asked for.
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

/// A leader would write again what is taken away.
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
        "; where it runs with --manage marked, remove the mark (kubectl annotate clustermanagementaddon {addon} {LIFECYCLE}-) and say \
         --manage marked here"
    )
}
