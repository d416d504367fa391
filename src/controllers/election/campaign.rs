//! The campaign: reads the Lease, writes it when the candidate says so, and tells who leads.
//!
//! Every write names the revision that it was decided from. Decides nothing itself. A hub that does not answer ends leadership
//! when its time is up, not before.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::candidate::{Candidate, ElectionOptions, Move};
use crate::controllers::runtime::error_root::root;

/// How long the last write may take when the program ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// Stands for election until the end is asked for, and leaves a free Lease behind.
pub(in crate::controllers) async fn campaign(
    client: Client,
    options: ElectionOptions,
    leading: watch::Sender<bool>,
    stop: CancellationToken,
) {
    let leases: Api<Lease> = Api::namespaced(client, &options.namespace);
    let mut candidate = Candidate::new(options.identity.clone(), options.pace);
    let mut complained = false;
    loop {
        let sent = Instant::now();
        let tried = tokio::time::timeout(
            options.pace.renew_within,
            attempt(&leases, &options, &mut candidate, sent),
        );
        let outcome = tokio::select! {
            () = stop.cancelled() => break,
            outcome = tried => outcome,
        };
        match outcome {
            Ok(Ok(())) => complained = false,
            Ok(Err(error)) if !complained => {
                complained = true;
                warn!(lease = %options.name, namespace = %options.namespace, error = %root(&error), "cannot stand for election");
            }
            Ok(Err(_)) | Err(_) => {}
        }
        let until = tell(&candidate, &options, &leading);
        let next = sent + options.pace.retry;
        // Leadership that ends before the next look must end on time.
        let wake = until.map_or(next, |until| until.min(next));
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep_until(wake.max(Instant::now())) => {}
        }
        tell(&candidate, &options, &leading);
    }
    leading.send_replace(false);
    let goodbye = resign(&leases, &options, &mut candidate);
    if tokio::time::timeout(FAREWELL, goodbye).await.is_err() {
        warn!(lease = %options.name, "the lease could not be given back in time");
    }
}

/// Tells whether this candidate leads now; returns until when it does.
fn tell(candidate: &Candidate, options: &ElectionOptions, leading: &watch::Sender<bool>) -> Option<Instant> {
    let until = candidate.leads_until().filter(|until| *until > Instant::now());
    let leads = until.is_some();
    let changed = leading.send_if_modified(|known| std::mem::replace(known, leads) != leads);
    if changed {
        info!(lease = %options.name, identity = %options.identity, leads, "leadership changed");
    }
    until
}

async fn attempt(
    leases: &Api<Lease>,
    options: &ElectionOptions,
    candidate: &mut Candidate,
    sent: Instant,
) -> Result<(), kube::Error> {
    let known = leases.get_opt(&options.name).await?;
    let written = match candidate.consider(known.as_ref(), sent, Timestamp::now()) {
        Move::Follow => return Ok(()),
        Move::Create(spec) => {
            let mut lease = Lease::default();
            lease.metadata.name = Some(options.name.clone());
            lease.spec = Some(spec);
            leases.create(&PostParams::default(), &lease).await
        }
        Move::Write(spec) => replace(leases, options, known.unwrap_or_default(), spec).await,
    };
    match written {
        Ok(_) => {
            candidate.won(sent);
            Ok(())
        }
        Err(kube::Error::Api(status)) if status.code == 409 => {
            candidate.lost();
            Ok(())
        }
        Err(error) => Err(error),
    }
}

async fn replace(
    leases: &Api<Lease>,
    options: &ElectionOptions,
    mut lease: Lease,
    spec: LeaseSpec,
) -> Result<Lease, kube::Error> {
    lease.spec = Some(spec);
    leases
        .replace(&options.name, &PostParams::default(), &lease)
        .await
}

async fn resign(leases: &Api<Lease>, options: &ElectionOptions, candidate: &mut Candidate) {
    let Ok(Some(lease)) = leases.get_opt(&options.name).await else {
        return;
    };
    let Some(spec) = candidate.farewell(&lease, Timestamp::now()) else {
        return;
    };
    if let Err(error) = replace(leases, options, lease, spec).await {
        warn!(lease = %options.name, error = %root(&error), "the lease could not be given back");
    }
}
