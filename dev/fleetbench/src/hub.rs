//! The hub of a measurement: one of our own with simulated clusters, or an existing one.
//!
//! Decides where definitions come from. A hub that was there is left as it was found.

use std::path::Path;
use std::process::Command;

use devhub::DevHub;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::runtime::wait::conditions::is_crd_established;
use kube::{Api, Client, Config, ResourceExt as _};
use spokes::{Fleet, FleetOptions};

use crate::error::BenchError;
use crate::options::Options;
use crate::scene::CLUSTER;

/// Changes that a hub of our own remembers of each cluster: no watch should need a new list because the hub forgets too soon.
const CHANGES: usize = 64;

/// A hub with its clusters.
pub(crate) struct Hub {
    pub(crate) client: Client,
    /// How many clusters it has.
    pub(crate) clusters: usize,
    own: Option<DevHub>,
    fleet: Option<Fleet>,
}

impl Hub {
    /// Starts or finds the hub; returns when all clusters are there.
    pub(crate) async fn open(options: &Options) -> Result<Self, BenchError> {
        let own = if options.dev {
            Some(start(options).await?)
        } else {
            None
        };
        let client = match &own {
            Some(hub) => hub.client(),
            None => connect(&options.named_hub().ok_or(BenchError::NoHub)?).await?,
        };
        let fleet = if options.dev || options.simulate {
            Some(simulate(&client, options.clusters).await?)
        } else {
            None
        };
        let listed = CLUSTER
            .everywhere(&client)
            .list_metadata(&ListParams::default())
            .await;
        let clusters = listed
            .map_err(|error| BenchError::Hub(error.to_string()))?
            .items
            .len();
        Ok(Self {
            client,
            clusters,
            own,
            fleet,
        })
    }

    /// Returns whether the hub goes away with the measurement.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Ends what was started.
    pub(crate) async fn close(self) {
        if let Some(fleet) = self.fleet {
            fleet.shutdown().await;
        }
        if let Some(hub) = self.own {
            hub.shutdown().await;
        }
    }
}

/// Starts a hub of our own with the definitions that the program prints for one that has none.
async fn start(options: &Options) -> Result<DevHub, BenchError> {
    let refused = |error: &dyn std::fmt::Display| BenchError::Hub(error.to_string());
    let kept = 10_000_usize.max(options.clusters.saturating_mul(CHANGES));
    let hub = DevHub::builder().history(kept).start().await;
    let hub = hub.map_err(|error| refused(&error))?;
    let folder = tempfile::tempdir().map_err(|error| refused(&error))?;
    let kubeconfig = folder.path().join("kubeconfig");
    hub.write_kubeconfig(&kubeconfig)
        .map_err(|error| refused(&error))?;
    let crds: Api<CustomResourceDefinition> = Api::all(hub.client());
    let mut names = Vec::new();
    // The hub that the program asks is served by this process: nothing may wait for the program here.
    let program = options.program();
    let printed = tokio::task::spawn_blocking(move || definitions(&program, &kubeconfig)).await;
    for definition in printed.map_err(|error| refused(&error))?? {
        let made = crds.create(&PostParams::default(), &definition).await;
        names.push(made.map_err(|error| refused(&error))?.name_any());
    }
    for name in names {
        let served = await_condition(crds.clone(), &name, is_crd_established()).await;
        served.map_err(|error| refused(&error))?;
    }
    // An installed manager has a namespace of its own, in which it tells its settings.
    let mut home = Namespace::default();
    home.metadata.name = Some("tidegate".to_owned());
    let made = Api::all(hub.client()).create(&PostParams::default(), &home).await;
    made.map_err(|error| refused(&error))?;
    Ok(hub)
}

/// The program asks the hub first whether it has definitions of others.
fn definitions(program: &Path, kubeconfig: &Path) -> Result<Vec<CustomResourceDefinition>, BenchError> {
    let failed = |reason: String| BenchError::Process {
        command: format!("{} crds --for-hub-without-ocm", program.display()),
        reason,
    };
    let printed = Command::new(program)
        .args(["crds", "--for-hub-without-ocm", "--kubeconfig"])
        .arg(kubeconfig)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !printed.status.success() {
        return Err(failed(String::from_utf8_lossy(&printed.stderr).into_owned()));
    }
    let text = String::from_utf8_lossy(&printed.stdout);
    serde_saphyr::from_multiple(&text).map_err(|error| failed(error.to_string()))
}

async fn connect(kubeconfig: &Path) -> Result<Client, BenchError> {
    let unusable = |reason: String| BenchError::Hub(format!("{}: {reason}", kubeconfig.display()));
    let read = Kubeconfig::read_from(kubeconfig).map_err(|error| unusable(error.to_string()))?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(error.to_string()))?;
    Client::try_from(config).map_err(|error| unusable(error.to_string()))
}

async fn simulate(client: &Client, clusters: usize) -> Result<Fleet, BenchError> {
    let options = FleetOptions {
        clusters,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(client.clone(), options)
        .await
        .map_err(|error| BenchError::Hub(error.to_string()))?;
    fleet
        .ready()
        .await
        .map_err(|error| BenchError::Hub(error.to_string()))?;
    Ok(fleet)
}
