//! `tidegate dev fault` and `tidegate dev heal`: what goes wrong on simulated clusters while their hub runs.
//!
//! Decides what is written: the annotation of the ManagedCluster, which the simulated clusters follow and `kubectl annotate` can write as
//! well. Never starts or ends a hub.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kube::api::{ApiResource, DynamicObject};
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use spokes::{FAULTS_ANNOTATION, FaultRule, Pattern};

use crate::cli::print::print;
use crate::cli::{CliError, HubArgs, connect};
use kubernetes::field::{Shown, counted, nearest};

/// Commands for a running hub.
#[derive(Clone, Debug, Subcommand)]
pub enum DevCommand {
    /// Inject faults into a simulated cluster, or list the active faults.
    Fault(FaultArgs),
    /// Remove all injected faults of a simulated cluster.
    Heal(HealArgs),
}

/// Inject faults into a simulated cluster, or list the active faults.
///
/// Replaces all faults that were injected into the cluster before. The faults are stored in the annotation
/// `simulated-cluster/faults` of the ManagedCluster; you can also set it with `kubectl annotate`.
#[derive(Args, Clone, Debug)]
pub struct FaultArgs {
    /// Cluster, or a pattern such as `cluster*`; without it, all active faults are listed.
    #[arg(value_name = "CLUSTER", requires = "faults")]
    pub cluster: Option<String>,
    /// Faults, in the syntax of `--fault` without the cluster: `offline`, `apply-failure,from=2:quota exceeded`, `delay:5s`.
    #[arg(value_name = "FAULT")]
    pub faults: Vec<String>,
    /// Which hub.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Remove all injected faults of a simulated cluster.
#[derive(Args, Clone, Debug)]
pub struct HealArgs {
    /// Cluster, or a pattern such as `cluster*`.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Which hub.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// The running hub.
#[derive(Args, Clone, Debug)]
pub struct PlaceArgs {
    /// Data directory of the running development hub (default: the hub of KUBECONFIG, else .tidegate).
    #[arg(long, value_name = "DIR", conflicts_with = "kubeconfig")]
    pub dir: Option<PathBuf>,
    /// Which hub, if `tidegate dev` did not start it (`tidegate dev --hub`).
    #[command(flatten)]
    pub hub: HubArgs,
}

/// The default data directory.
const DIR: &str = ".tidegate";

pub(super) fn run(command: &DevCommand) -> Result<(), CliError> {
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        match command {
            DevCommand::Fault(FaultArgs {
                cluster: None, place, ..
            }) => list(place).await,
            DevCommand::Fault(FaultArgs {
                cluster: Some(cluster),
                faults,
                place,
            }) => {
                let text = parsed(cluster, faults)?;
                let named = write(place, cluster, json!(text)).await?;
                say(&format!("{}: {}", named.join(", "), text.replace('\n', "; ")))
            }
            DevCommand::Heal(HealArgs { cluster, place }) => {
                let named = write(place, cluster, Value::Null).await?;
                say(&format!("{}: all faults removed", named.join(", ")))
            }
        }
    })
}

/// Returns the faults in the form of the annotation; an invalid fault is a usage error, reported before the hub is contacted.
fn parsed(cluster: &str, faults: &[String]) -> Result<String, CliError> {
    let rules: Result<Vec<FaultRule>, _> = faults
        .iter()
        .map(|fault| format!("{cluster}={fault}").parse())
        .collect();
    let rules = rules.map_err(|error: spokes::FaultTextError| CliError::Refused(Box::new(error)))?;
    let lines: Vec<String> = rules.iter().map(FaultRule::on_cluster).collect();
    Ok(lines.join("\n"))
}

async fn list(place: &PlaceArgs) -> Result<(), CliError> {
    let api = clusters(place).await?;
    let mut lines = Vec::new();
    for cluster in all(&api).await? {
        for fault in fault_text(&cluster).lines() {
            lines.push(format!("{}  {fault}", cluster.name_any()));
        }
    }
    if lines.is_empty() {
        return say("no active faults");
    }
    say(&lines.join("\n"))
}

fn fault_text(cluster: &DynamicObject) -> &str {
    cluster
        .annotations()
        .get(FAULTS_ANNOTATION)
        .map_or("", String::as_str)
}

/// Writes the annotation of every cluster that matches the pattern; returns the names.
async fn write(place: &PlaceArgs, pattern: &str, value: Value) -> Result<Vec<String>, CliError> {
    let api = clusters(place).await?;
    let known: Vec<String> = all(&api).await?.iter().map(ResourceExt::name_any).collect();
    let wanted = Pattern::new(pattern);
    let named: Vec<String> = known
        .iter()
        .filter(|name| wanted.matches(name))
        .cloned()
        .collect();
    if named.is_empty() {
        return Err(CliError::Refused(unknown(pattern, &known).into()));
    }
    let patch = json!({"metadata": {"annotations": {FAULTS_ANNOTATION: value}}});
    for name in &named {
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .map_err(CliError::acting("reach the hub (is it running?)"))?;
    }
    Ok(named)
}

fn unknown(pattern: &str, known: &[String]) -> String {
    let near = nearest(pattern, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    let fleet = counted(known.len(), "ManagedCluster");
    format!("no cluster matches {pattern:?} among the {fleet} of the hub{near}")
}

async fn all(api: &Api<DynamicObject>) -> Result<Vec<DynamicObject>, CliError> {
    let list = api
        .list(&ListParams::default())
        .await
        .map_err(CliError::acting("reach the hub (is it running?)"))?;
    let mut clusters = list.items;
    clusters.sort_by_key(ResourceExt::name_any);
    Ok(clusters)
}

async fn clusters(place: &PlaceArgs) -> Result<Api<DynamicObject>, CliError> {
    let is_named = std::env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
    let config = if place.dir.is_none() && (place.hub.is_given() || is_named) {
        connect::config_of(&place.hub).await?
    } else {
        let dir = place.dir.as_deref().unwrap_or_else(|| Path::new(DIR));
        let path = dir.join("kubeconfig");
        if !path.exists() {
            let text = format!(
                "no hub was started in folder \"{}\": start one with `tidegate dev`, name its folder with --dir, or set KUBECONFIG",
                dir.display()
            );
            return Err(CliError::Refused(text.into()));
        }
        connect::config_of(Some(path.as_path())).await?
    };
    let client: Client = connect::client(config)?;
    let kind = GroupVersionKind::gvk("cluster.open-cluster-management.io", "v1", "ManagedCluster");
    let resource = ApiResource::from_gvk_with_plural(&kind, "managedclusters");
    Ok(Api::all_with(client, &resource))
}

fn say(text: &str) -> Result<(), CliError> {
    print(&Shown::page(&format!("{text}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_checked_before_the_hub_is_read() {
        let wrong = parsed("cluster3", &["oflline".to_owned()])
            .expect_err("no fault")
            .one_line();
        assert!(
            wrong.starts_with("\"cluster3=oflline\" is not a fault: there is no fault"),
            "{wrong}"
        );
        let two = ["offline".to_owned(), "delay:5s".to_owned()];
        assert_eq!(parsed("cluster3", &two).expect("faults"), "offline\ndelay:5s");
    }

    #[test]
    fn a_cluster_that_is_not_there_is_reported_with_the_nearest_one() {
        let known = ["cluster1", "cluster2"].map(str::to_owned);
        assert_eq!(
            unknown("clutser2", &known),
            "no cluster matches \"clutser2\" among the 2 ManagedClusters of the hub; did you mean \"cluster2\"?"
        );
    }
}
