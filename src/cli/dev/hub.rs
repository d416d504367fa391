//! The hub that everything runs on: one of our own in this process, or one that is already there.
//!
//! Decides what a hub needs before the other parts can start: definitions, and the registration of the gate. On a hub
//! that is already there it changes no definition that it finds, and takes the registration back at the end: a hub must
//! not go on calling a webhook that has stopped.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhook, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::cli::error::Cause;
use crate::cli::{CliError, DevArgs, connect};
use admission::{Endpoint, configurations, configurations_without_conditions};
use api::conversion::CONVERT_SERVED_PATH;
use api::{self, Converter, serve_v1beta1};
use devhub::DevHub;
use devhub::program::FolderError;

pub(super) use devhub::program::Folder;

/// The kinds of reports, which a hub serves if a user has installed their definitions.
const REPORTS: [&str; 2] = [
    include_str!("../../../manifests/reports/policyreports.yaml"),
    include_str!("../../../manifests/reports/openreports.yaml"),
];
/// How long a hub may take until a new definition is served.
const ESTABLISH_WITHIN: Duration = Duration::from_secs(30);

pub(super) enum Hub {
    /// One of our own.
    Own {
        /// The hub.
        hub: Box<DevHub>,
        /// Where its kubeconfig lies.
        kubeconfig: PathBuf,
    },
    /// One that is already there.
    Foreign {
        /// Its client.
        client: Client,
        /// Its address.
        url: String,
        /// Its kubeconfig.
        kubeconfig: PathBuf,
    },
}

impl Hub {
    /// Starts a hub, or reaches the one that was named.
    pub(super) async fn start(args: &DevArgs, folder: &Folder) -> Result<Self, CliError> {
        match &args.hub {
            Some(path) => reach(path).await,
            None => own(args.port, folder).await,
        }
    }

    pub(super) fn client(&self) -> Client {
        match self {
            Self::Own { hub, .. } => hub.client(),
            Self::Foreign { client, .. } => client.clone(),
        }
    }

    /// Returns the address.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Own { hub, .. } => hub.url(),
            Self::Foreign { url, .. } => url.clone(),
        }
    }

    /// Returns the kubeconfig of the hub.
    pub(super) fn kubeconfig(&self) -> &Path {
        match self {
            Self::Own { kubeconfig, .. } | Self::Foreign { kubeconfig, .. } => kubeconfig,
        }
    }

    /// Registers the webhook on the hub. From then on it must be unregistered from a hub that is not ours, also if nothing else starts.
    pub(super) async fn register(
        &self,
        endpoint: &Endpoint,
        ca_pem: &str,
        registered: &Registered,
    ) -> Result<(), Cause> {
        if let Self::Foreign { client, .. } = self {
            registered.0.set(client.clone()).unwrap_or_default();
        } else {
            serve_both_versions(&self.client(), endpoint, ca_pem).await?;
        }
        let (mutating, validating) = typed(configurations(endpoint, Some(ca_pem)))?;
        store(&Api::all(self.client()), &mutating).await?;
        let kept = store(&Api::all(self.client()), &validating).await?;
        let conditions = |one: &ValidatingWebhook| one.match_conditions.is_some();
        if kept.webhooks.iter().flatten().all(conditions) {
            return Ok(());
        }
        tracing::warn!(
            "the hub drops match conditions of webhooks: no webhook fails closed, and all requests are sent to the webhook"
        );
        let (mutating, validating) = typed(configurations_without_conditions(endpoint, Some(ca_pem)))?;
        store(&Api::all(self.client()), &mutating).await?;
        store(&Api::all(self.client()), &validating).await?;
        Ok(())
    }

    /// Ends the hub, or leaves it as it would be without a gate.
    pub(super) async fn shutdown(self) {
        match self {
            Self::Own { hub, .. } => hub.shutdown().await,
            Self::Foreign { client, .. } => forget(&client).await,
        }
    }
}

/// Where the gate has been registered, if it has.
#[derive(Default)]
pub(super) struct Registered(OnceLock<Client>);

impl Registered {
    /// Unregisters the webhook of a failed start from a hub that is not ours.
    pub(super) async fn forget(self) {
        if let Some(client) = self.0.into_inner() {
            forget(&client).await;
        }
    }
}

async fn forget(client: &Client) {
    if let Err(error) = withdraw(client).await {
        tracing::error!(
            error,
            "the gate is still registered; delete the two webhook configurations"
        );
    }
}

async fn own(port: u16, folder: &Folder) -> Result<Hub, CliError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut builder = DevHub::builder().bind(address);
    for crd in api::crds() {
        let crd = serde_json::to_value(&crd).map_err(CliError::starting("the hub"))?;
        builder = builder.crd(crd);
    }
    for definition in report_definitions()? {
        builder = builder.crd(definition);
    }
    let hub = builder.start().await.map_err(CliError::starting("the hub"))?;
    folder.write_private("kubeconfig", &hub.kubeconfig())?;
    folder.write_private("hub-ca.crt", hub.ca_pem())?;
    Ok(Hub::Own {
        hub: Box::new(hub),
        kubeconfig: folder.kubeconfig(),
    })
}

/// Returns the definitions of the reports that the audit writes.
fn report_definitions() -> Result<Vec<Value>, CliError> {
    let mut all = Vec::new();
    for text in REPORTS {
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(text).map_err(CliError::starting("the hub"))?;
        all.extend(documents);
    }
    Ok(all)
}

async fn reach(path: &Path) -> Result<Hub, CliError> {
    let config = connect::config_of(Some(path)).await?;
    let url = config.cluster_url.to_string();
    let client = connect::client(config)?;
    define(&client).await.map_err(CliError::starting("the hub"))?;
    Ok(Hub::Foreign {
        client,
        url,
        kubeconfig: std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
    })
}

/// Adds the definitions that the hub lacks and waits until they are served. Those of another version stay: they may be
/// OCM's own.
async fn define(client: &Client) -> Result<(), Cause> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let crds = api::crds();
    for crd in &crds {
        if api.get_opt(&crd.name_any()).await?.is_none() {
            api.create(&PostParams::default(), crd).await?;
        }
    }
    for crd in &crds {
        let name = crd.name_any();
        let served = await_condition(api.clone(), &name, is_crd_established());
        tokio::time::timeout(ESTABLISH_WITHIN, served).await??;
    }
    Ok(())
}

/// Has a hub of our own serve what Open Cluster Management's programs speak, converted by the gate. One that is not ours would be left
/// with a conversion webhook that has stopped.
async fn serve_both_versions(client: &Client, endpoint: &Endpoint, ca_pem: &str) -> Result<(), Cause> {
    let Endpoint::Url(url) = endpoint else {
        return Ok(());
    };
    let converter = Converter {
        url: &format!("{url}{CONVERT_SERVED_PATH}"),
        ca_pem,
    };
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in api::crds() {
        let mut crd = api.get(&crd.name_any()).await?;
        if serve_v1beta1(&mut crd, &converter) {
            api.replace(&crd.name_any(), &PostParams::default(), &crd).await?;
        }
    }
    Ok(())
}

fn typed(
    [mutating, validating]: [Value; 2],
) -> Result<(MutatingWebhookConfiguration, ValidatingWebhookConfiguration), serde_json::Error> {
    Ok((
        serde_json::from_value(mutating)?,
        serde_json::from_value(validating)?,
    ))
}

/// Creates a configuration, or replaces the one that a program left behind that could not end in order. Returns what the hub keeps.
async fn store<K>(api: &Api<K>, configuration: &K) -> Result<K, kube::Error>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let name = configuration.name_any();
    let Some(old) = api.get_opt(&name).await? else {
        return api.create(&PostParams::default(), configuration).await;
    };
    let mut configuration = configuration.clone();
    configuration.meta_mut().resource_version = old.resource_version();
    api.replace(&name, &PostParams::default(), &configuration).await
}

async fn withdraw(client: &Client) -> Result<(), String> {
    // Only the names matter here.
    let endpoint = Endpoint::Url("https://127.0.0.1".to_owned());
    let (mutating, validating) = typed(configurations(&endpoint, None)).map_err(|error| error.to_string())?;
    let params = DeleteParams::default();
    let one: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let first = one.delete(&validating.name_any(), &params).await;
    let other: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let second = other.delete(&mutating.name_any(), &params).await;
    // Both are tried before either is reported; one that is not there is no fault.
    let faults = [first.map(drop), second.map(drop)]
        .into_iter()
        .filter_map(Result::err);
    let mut faults = faults.filter(|error| !matches!(error, kube::Error::Api(status) if status.code == 404));
    faults.next().map_or(Ok(()), |error| Err(error.to_string()))
}

/// Makes the folder where it is absent, proves that it can be written, and takes it for this program.
pub(super) fn prepare(dir: &Path) -> Result<Folder, CliError> {
    Ok(devhub::program::prepare(dir)?.claim()?)
}

impl From<FolderError> for CliError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Prepare { dir, source } => Self::PrepareFolder { dir, source },
            FolderError::Taken { .. } => Self::Refused(Box::new(error)),
            FolderError::Write { path, source } => Self::WriteFile { path, source },
        }
    }
}
