//! `tidegate serve`: the gate and the tide of a hub that is already there.
//!
//! Starts both, tells when they serve, and ends them in order. Decides nothing about add-ons.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::reload;
use crate::cli::{CliError, LeasePlace, ServeArgs, age, audit, connect, policies, rulebook, signals};
use crate::controllers::{ElectionOptions, Pace, Tide, TideOptions};
use crate::server::{Exposition, Gate, GateOptions, Limits};
use crate::telemetry::Metrics;

pub(in crate::cli) fn run(args: ServeArgs) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| cannot_start("the runtime", source))?;
    runtime.block_on(serve(args))
}

async fn serve(args: ServeArgs) -> Result<(), CliError> {
    let mut end = signals::end_requested()?;
    let rulebook = rulebook::read(&args.gate)?;
    let opened = policies::open(args.gate.policies.as_deref())?;
    let files = reload::Files::new(args.certificate.clone(), args.key.clone());
    let (mut seen, certificate) = files.read().map_err(|error| cannot_start("the gate", error))?;
    let client = connect::client(connect::config_of(args.kubeconfig.as_deref()).await?)?;
    let metrics = Metrics::default();
    let options = TideOptions {
        metrics: metrics.clone(),
        election: args.elect.clone().map(election),
        ..TideOptions::from(&args.tide)
    };
    let (options, sightings) = args.audit.hear(options);
    let tide = Tide::start(client.clone(), options)
        .await
        .map_err(|error| cannot_start("the controllers", error))?;
    age::tell_of_old_hub(&client).await;
    // Nothing passes a gate that has not read its policies yet.
    let (policies, rulebook) = tokio::select! {
        started = policies::start(client.clone(), opened, rulebook, metrics.clone()) => started,
        () = end.requested() => {
            tide.shutdown().await;
            return Ok(());
        }
    };
    let _page = page(args.metrics, &metrics).await?;
    let auditor = args
        .audit
        .start((client.clone(), &tide), sightings, &rulebook, metrics.clone());
    let options = GateOptions {
        metrics,
        bind: args.bind,
        certificate,
        facts: tide.facts(),
        rulebook: Arc::clone(&rulebook),
        witness: Some(connect::witness(client)),
    };
    let limits = Limits {
        linger: Duration::from_secs(args.linger),
        ..Limits::default()
    };
    let gate = Gate::start_with(options, limits)
        .await
        .map_err(|error| cannot_start("the gate", error))?;
    let told = announce(&gate);
    if told.is_ok() {
        tokio::select! {
            () = end.requested() => {}
            () = files.follow(&mut seen, &gate) => {}
            () = rulebook::follow(&args.gate, &rulebook) => {}
        }
    }
    audit::end(auditor).await;
    // The gate answers to the end, from facts that no longer move: a hub must not be left without an answer.
    tide.shutdown().await;
    policies.shutdown().await;
    gate.shutdown().await;
    told
}

/// Serves the page of metrics, if it is asked for.
async fn page(bind: Option<SocketAddr>, metrics: &Metrics) -> Result<Option<Exposition>, CliError> {
    let Some(bind) = bind else { return Ok(None) };
    let page = Exposition::start(bind, metrics.clone()).await;
    page.map(Some)
        .map_err(|error| cannot_start("the page of metrics", error))
}

/// The name of a pod says where a leader runs; the rest tells two lives of the same pod apart.
fn election(place: LeasePlace) -> ElectionOptions {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "tidegate".to_owned());
    ElectionOptions {
        namespace: place.namespace,
        name: place.name,
        identity: format!("{host}_{}", uuid::Uuid::new_v4()),
        pace: Pace::default(),
    }
}

/// Prints the line that scripts wait for.
fn announce(gate: &Gate) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "READY gate=https://{}", gate.address())
        .and_then(|()| out.flush())
        .map_err(CliError::Print)
}

fn cannot_start(part: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::Start {
        part,
        source: source.into(),
    }
}
