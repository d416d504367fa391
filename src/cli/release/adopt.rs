//! `tidegate adopt`: what Tidegate needs on a hub where OCM's add-on manager is off.
//!
//! Decides nothing about rights: prints copies for an administrator to read and to apply. Only reads the hub.

use clap::Args;

use super::hub::{BINDINGS, CLUSTER_BINDINGS};
use crate::cli::print::print;
use crate::cli::{CliError, HubArgs, LeasePlace, connect};
use kubernetes::field::Shown;
use operate::release::{Account, copies};

/// Take over from OCM's add-on manager.
///
/// With `--list-bindings`: print (YAML), for Tidegate's service account, a copy of every RoleBinding and ClusterRoleBinding of
/// the service account of OCM's add-on manager, for `kubectl apply -f -`. Template add-ons need the roles that users granted to
/// that account. The manager's own role is removed with the manager; a copy of its binding then grants nothing.
#[derive(Args, Clone, Debug)]
pub struct AdoptArgs {
    /// Print copies of the bindings.
    #[arg(long, required = true)]
    pub list_bindings: bool,
    /// Service account of OCM's add-on manager.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = account,
          default_value = "open-cluster-management-hub/addon-manager-controller-sa")]
    pub from: LeasePlace,
    /// Service account of Tidegate.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = account, default_value = "tidegate/tidegate-controllers")]
    pub to: LeasePlace,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
}

fn account(text: &str) -> Result<LeasePlace, String> {
    crate::cli::words::lease(text).map_err(|_other| {
        "write a namespace and a name, for instance tidegate/tidegate-controllers".to_owned()
    })
}

pub(in crate::cli) fn run(args: &AdoptArgs) -> Result<(), CliError> {
    let runtime = connect::runtime()?;
    runtime.block_on(list(args))
}

async fn list(args: &AdoptArgs) -> Result<(), CliError> {
    let client = connect::client(connect::config_of(&args.hub).await?)?;
    let mut bindings = CLUSTER_BINDINGS.list(&client, "").await?;
    bindings.extend(BINDINGS.list(&client, "").await?);
    let of = |place: &LeasePlace| Account {
        namespace: place.namespace.clone(),
        name: place.name.clone(),
    };
    let copies = copies(&bindings, &of(&args.from), &of(&args.to));
    let mut text = String::new();
    for copy in &copies {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(copy).map_err(CliError::acting("read the hub"))?);
    }
    if copies.is_empty() {
        text.push_str("# no missing bindings\n");
    }
    print(&Shown::page(&text))
}
