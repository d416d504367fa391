//! The parts of a dev hub, started so that each finds what it needs, ended in the opposite order.
//!
//! The gate opens before it is registered, and is registered before the demo add-on is stored: the demo is admitted like
//! anybody's objects. Never looks into a part.

use std::net::{Ipv4Addr, SocketAddr};

use devhub::DevHub;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::PostParams;
use kube::{Api, Client};
use spokes::{Faults, Fleet, FleetOptions};
use tokio::sync::broadcast;

use super::demo;
use super::folder::Folder;
use crate::admission::{Endpoint, configurations};
use crate::api;
use crate::cli::{CliError, DevArgs};
use crate::controllers::{Progress, Tide};
use crate::server::{Authority, Gate, GateOptions};

/// Everything that runs.
#[derive(Debug)]
pub(super) struct Parts {
    hub: DevHub,
    gate: Gate,
    tide: Tide,
    fleet: Fleet,
    progress: broadcast::Receiver<Progress>,
}

/// Starts everything; returns when every part serves.
pub(super) async fn start(args: &DevArgs, folder: &Folder) -> Result<Parts, CliError> {
    // A wrong fault is the user's mistake: said before anything is started.
    let faults = Faults::parse(&args.faults).map_err(|error| CliError::ReadFlag {
        flag: "fault",
        reason: error.to_string(),
    })?;
    let hub = start_hub(args.port).await?;
    folder.write_private("kubeconfig", &hub.kubeconfig())?;
    folder.write_private("hub-ca.crt", hub.ca_pem())?;
    let client = hub.client();
    let options = FleetOptions {
        clusters: usize::from(args.clusters),
        faults,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(client.clone(), options)
        .await
        .map_err(|error| cannot_start("the simulated clusters", error))?;
    let tide = Tide::start(client.clone(), (&args.tide).into())
        .await
        .map_err(|error| cannot_start("the controllers", error))?;
    let progress = tide.progress();
    let gate = open_gate(&client, &tide, folder).await?;
    tide.synced().await;
    fleet
        .ready()
        .await
        .map_err(|error| cannot_start("the simulated clusters", error))?;
    if !args.no_demo {
        demo::store(&client, usize::from(args.clusters)).await?;
    }
    Ok(Parts {
        hub,
        gate,
        tide,
        fleet,
        progress,
    })
}

impl Parts {
    /// Returns the hub's address.
    pub(super) fn url(&self) -> String {
        self.hub.url()
    }

    /// Returns what has happened on the clusters since the start, and goes on.
    pub(super) fn progress(&mut self) -> &mut broadcast::Receiver<Progress> {
        &mut self.progress
    }

    /// Ends everything, those who call before those who are called.
    pub(super) async fn shutdown(self) {
        self.fleet.shutdown().await;
        self.tide.shutdown().await;
        self.gate.shutdown().await;
        self.hub.shutdown().await;
    }
}

async fn start_hub(port: u16) -> Result<DevHub, CliError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut builder = DevHub::builder().bind(address);
    for crd in api::crds() {
        let crd = serde_json::to_value(&crd).map_err(|error| cannot_start("the hub", error))?;
        builder = builder.crd(crd);
    }
    builder
        .start()
        .await
        .map_err(|error| cannot_start("the hub", error))
}

async fn open_gate(client: &Client, tide: &Tide, folder: &Folder) -> Result<Gate, CliError> {
    let authority = Authority::generate().map_err(|error| cannot_start("the gate", error))?;
    let issued = authority
        .issue(["127.0.0.1", "localhost"])
        .map_err(|error| cannot_start("the gate", error))?;
    folder.write_private("gate-ca.crt", authority.ca_pem())?;
    let options = GateOptions {
        bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        certificate: issued.certificate().clone(),
        facts: tide.facts(),
    };
    let gate = Gate::start(options)
        .await
        .map_err(|error| cannot_start("the gate", error))?;
    register(client, &gate, authority.ca_pem())
        .await
        .map_err(|error| cannot_start("the gate", error))?;
    Ok(gate)
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Tells the hub to ask the gate.
async fn register(client: &Client, gate: &Gate, ca_pem: &str) -> Result<(), Cause> {
    let endpoint = Endpoint::Url(format!("https://{}", gate.address()));
    let [mutating, validating] = configurations(&endpoint, Some(ca_pem));
    let mutating: MutatingWebhookConfiguration = serde_json::from_value(mutating)?;
    let validating: ValidatingWebhookConfiguration = serde_json::from_value(validating)?;
    Api::all(client.clone())
        .create(&PostParams::default(), &mutating)
        .await?;
    Api::all(client.clone())
        .create(&PostParams::default(), &validating)
        .await?;
    Ok(())
}

fn cannot_start(part: &'static str, source: impl Into<Cause>) -> CliError {
    CliError::Start {
        part,
        source: source.into(),
    }
}
