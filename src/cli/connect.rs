//! The client of a hub that is already there.
//!
//! Decides where the kubeconfig comes from. Never asks the hub anything by itself.

use std::path::Path;

use futures::FutureExt as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::CliError;
use crate::controllers;
use crate::server::Witness;

/// Returns the way to the hub of a kubeconfig; without one, of KUBECONFIG or of the pod's service account.
pub(super) async fn config_of(kubeconfig: Option<&Path>) -> Result<Config, CliError> {
    match kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(unreachable)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(unreachable)
        }
        None => Config::infer().await.map_err(unreachable),
    }
}

/// Returns a client.
pub(super) fn client(config: Config) -> Result<Client, CliError> {
    Client::try_from(config).map_err(unreachable)
}

/// Returns the hub as a witness of what the watch has not seen.
pub(super) fn witness(client: Client) -> Witness {
    Witness::new(move |object| controllers::ask(client.clone(), object).boxed())
}

fn unreachable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::Start {
        part: "the client of the hub",
        source: source.into(),
    }
}
