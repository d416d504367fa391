//! The client of a hub that is already there.
//!
//! Decides where the kubeconfig comes from. Never asks the hub anything by itself.

use std::path::{Path, PathBuf};

use futures::FutureExt as _;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::CliError;
use crate::controllers;
use crate::files::inspect;
use crate::server::ExistenceReader;
use crate::telemetry::Metrics;
use snapshot::Kind;

/// The largest kubeconfig, in bytes.
const LARGEST: u64 = 16 << 20;

/// Returns the way to the hub of a kubeconfig; without one, of KUBECONFIG or of the pod's service account.
pub(super) async fn config_of(kubeconfig: Option<&Path>) -> Result<Config, CliError> {
    let Some(path) = kubeconfig else {
        for path in named() {
            // What is not there is left out by the reader of kubeconfigs.
            if let Err(source) = inspect(&path, LARGEST).or_else(absent) {
                return Err(CliError::ReadFile { path, source });
            }
        }
        return Config::infer().await.map_err(unreachable);
    };
    inspect(path, LARGEST).map_err(|source| CliError::ReadFile {
        path: path.to_owned(),
        source,
    })?;
    let kubeconfig = Kubeconfig::read_from(path).map_err(unreachable)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(unreachable)
}

/// The files that KUBECONFIG names.
fn named() -> Vec<PathBuf> {
    let names = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let paths = std::env::split_paths(&names);
    paths.filter(|path| !path.as_os_str().is_empty()).collect()
}

fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// Returns a client.
pub(super) fn client(config: Config) -> Result<Client, CliError> {
    Client::try_from(config).map_err(unreachable)
}

/// Resources that are asked for beside those of the kinds that are watched.
const ALSO_ASKED: [&str; 9] = [
    "addonpolicies",
    "clusterpolicyreports",
    "customresourcedefinitions",
    "events",
    "leases",
    "policyreports",
    "secrets",
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
];

/// Returns a client whose requests are counted.
pub(super) fn counted_client(config: Config, metrics: &Metrics) -> Result<Client, CliError> {
    let watched = Kind::ALL.into_iter().map(|kind| kind.address().resource);
    let counts = metrics.api().layer(watched.chain(ALSO_ASKED));
    let builder = ClientBuilder::try_from(config).map_err(unreachable)?;
    Ok(builder.with_layer(&counts).build())
}

/// Returns the hub as a witness of what the watch has not seen.
pub(super) fn witness(client: Client) -> ExistenceReader {
    let same = client.clone();
    ExistenceReader::new(move |object| controllers::ask(client.clone(), object).boxed())
        .vouching(move |user, question| controllers::may_bind(same.clone(), user, question).boxed())
}

fn unreachable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::Act {
        act: "reach the hub",
        source: source.into(),
    }
}
