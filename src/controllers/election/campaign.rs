//! The campaign: reads the Lease, writes it when the candidate says so, and tells who leads.
//!
//! Every write names the revision that it was decided from. Decides nothing itself. A hub that does not answer ends leadership
//! when its time is up, not before. A replica that waits says so in a second Lease, so that a leader can leave it the first one.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::candidate::{Candidate, ElectionOptions, Move};
use super::identity::{holder, next_leader, next_lease};
use super::term::Term;
use crate::controllers::runtime::apply_error::root;
use crate::telemetry::{Holder, LeaseOf, Metrics};

/// How long the last write may take when the program ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// Takes part in leader election until shutdown is requested, and then releases the Lease to the waiting replica, if there is one.
pub(in crate::controllers) async fn campaign(
    client: Client,
    options: ElectionOptions,
    leading: watch::Sender<bool>,
    term: Term,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let mut standing = Candidacy::new(client, options, metrics);
    let pace = standing.options.pace;
    let mut complained = false;
    loop {
        let sent = Instant::now();
        let tried = tokio::time::timeout(pace.renew_within, standing.attempt(sent));
        let outcome = tokio::select! {
            () = stop.cancelled() => break,
            outcome = tried => outcome,
        };
        match outcome {
            Ok(Ok(())) => complained = false,
            Ok(Err(error)) if !complained => {
                complained = true;
                let options = &standing.options;
                warn!(lease = %options.name, namespace = %options.namespace, error = %root(&error), "cannot take part in leader election");
            }
            Ok(Err(_)) | Err(_) => {}
        }
        let until = standing.tell(&leading, &term);
        let waits = tokio::time::timeout(pace.retry, standing.wait_in_line(sent));
        tokio::select! {
            () = stop.cancelled() => break,
            _in_time = waits => {}
        }
        let next = sent + pace.retry;
        // Leadership that ends before the next look must end on time.
        let wake = until.map_or(next, |until| until.min(next));
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep_until(wake.max(Instant::now())) => {}
        }
        standing.tell(&leading, &term);
    }
    leading.send_replace(false);
    term.lasts_until(Instant::now());
    if tokio::time::timeout(FAREWELL, standing.resign()).await.is_err() {
        warn!(lease = %standing.options.name, "cannot release the Lease in time");
    }
}

/// A candidate and its two Leases: the one that says who leads, and the one that says who is next.
struct Candidacy {
    leases: Api<Lease>,
    options: ElectionOptions,
    candidate: Candidate,
    /// The Lease of who is next.
    line: String,
    waiting: Candidate,
    /// When that is looked at again.
    again: Instant,
    /// Who led when that was told last.
    told: Option<String>,
    metrics: Metrics,
}

impl Candidacy {
    fn new(client: Client, options: ElectionOptions, metrics: Metrics) -> Self {
        metrics.modes().held(LeaseOf::Election, Holder::Unknown);
        let [candidate, waiting] = [(); 2].map(|()| Candidate::new(options.identity.clone(), options.pace));
        Self {
            leases: Api::namespaced(client, &options.namespace),
            candidate,
            line: next_lease(&options.name),
            waiting,
            again: Instant::now(),
            told: None,
            metrics,
            options,
        }
    }

    /// Returns whether this candidate has renewed the Lease and seen no other take it since; the renewal may have run out.
    fn is_unheard(&self) -> bool {
        self.candidate.leads_until().is_some()
    }

    /// Publishes whether this candidate leads now; returns until when it does.
    fn tell(&mut self, leading: &watch::Sender<bool>, term: &Term) -> Option<Instant> {
        let until = self
            .candidate
            .leads_until()
            .filter(|until| *until > Instant::now());
        let leads = until.is_some();
        term.lasts_until(until.unwrap_or_else(Instant::now));
        let changed = leading.send_if_modified(|known| std::mem::replace(known, leads) != leads);
        if changed && !leads && self.is_unheard() {
            // Who leads now is not known here: it may be another replica that reaches the hub.
            self.metrics.modes().held(LeaseOf::Election, Holder::Unknown);
            self.told = None;
            warn!(lease = %self.options.name, identity = %self.options.identity, leads, "leadership lost: the Lease could not be renewed in time");
        } else if changed {
            info!(lease = %self.options.name, identity = %self.options.identity, leads, "leadership changed");
        }
        until
    }

    async fn attempt(&mut self, sent: Instant) -> Result<(), kube::Error> {
        let known = self.leases.get_opt(&self.options.name).await?;
        let found = held_by(known.as_ref()).to_owned();
        let next = self.candidate.consider(known.as_ref(), sent, Timestamp::now());
        if next == Move::Follow {
            self.tell_holder(&found);
            return Ok(());
        }
        match apply(&self.leases, &self.options.name, known, next).await {
            Ok(()) => {
                self.candidate.won(sent);
                let identity = self.options.identity.clone();
                self.tell_holder(&identity);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.candidate.lost();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Logs the leader; a leader that is not a replica of Tidegate is a warning, because then nothing is written here.
    fn tell_holder(&mut self, identity: &str) {
        if self.told.as_deref() == Some(identity) {
            return;
        }
        self.told = Some(identity.to_owned());
        let who = if identity == self.options.identity {
            Holder::Tidegate
        } else {
            holder(identity)
        };
        self.metrics.modes().held(LeaseOf::Election, who);
        let lease = &self.options.name;
        match who {
            Holder::Tidegate => info!(%lease, holder = identity, "another replica of Tidegate is the leader"),
            Holder::Stock => {
                warn!(%lease, holder = identity, "OCM's add-on manager has the Lease; this replica does not write");
            }
            Holder::Other | Holder::Vacant | Holder::Unknown => {
                warn!(%lease, holder = identity, "another replica is the leader; this replica does not write");
            }
        }
    }

    /// Records this replica as a candidate while another leads, and removes the record once it leads itself. A failure costs at
    /// most a moment without a leader later.
    async fn wait_in_line(&mut self, sent: Instant) {
        let leads = self.candidate.leads_until().is_some();
        if leads && self.waiting.leads_until().is_none() || !leads && sent < self.again {
            return;
        }
        self.again = sent + self.options.pace.lease / 3;
        let done = if leads {
            self.leave_line().await
        } else {
            self.line_up(sent).await
        };
        if let Err(error) = done {
            debug!(lease = %self.line, error = %root(&error), "cannot record that this replica is a candidate");
        }
    }

    async fn line_up(&mut self, sent: Instant) -> Result<(), kube::Error> {
        let known = self.leases.get_opt(&self.line).await?;
        let next = self.waiting.consider(known.as_ref(), sent, Timestamp::now());
        if next == Move::Follow {
            return Ok(());
        }
        apply(&self.leases, &self.line, known, next).await?;
        self.waiting.won(sent);
        Ok(())
    }

    async fn leave_line(&mut self) -> Result<(), kube::Error> {
        let known = self.leases.get_opt(&self.line).await?.unwrap_or_default();
        let Some(spec) = self.waiting.farewell(&known, None, Timestamp::now()) else {
            self.waiting.lost();
            return Ok(());
        };
        apply(&self.leases, &self.line, Some(known), Move::Write(spec)).await
    }

    async fn resign(&mut self) {
        if self.waiting.leads_until().is_some()
            && let Err(error) = self.leave_line().await
        {
            debug!(lease = %self.line, error = %root(&error), "cannot record that this replica is no longer a candidate");
        }
        if let Err(error) = self.give_back().await {
            warn!(lease = %self.options.name, error = %root(&error), "cannot release the Lease");
        }
    }

    async fn give_back(&mut self) -> Result<(), kube::Error> {
        let Some(lease) = self.leases.get_opt(&self.options.name).await? else {
            return Ok(());
        };
        let identity = &self.options.identity;
        if held_by(Some(&lease)) != identity {
            return Ok(());
        }
        // Where the Lease of who is next cannot be read, this replica names no successor and leaves its Lease free.
        let line = self.leases.get_opt(&self.line).await.ok().flatten();
        let next = next_leader(line.as_ref(), identity, Timestamp::now());
        let Some(spec) = self.candidate.farewell(&lease, next, Timestamp::now()) else {
            return Ok(());
        };
        apply(&self.leases, &self.options.name, Some(lease), Move::Write(spec)).await
    }
}

fn held_by(lease: Option<&Lease>) -> &str {
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    spec.and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default()
}

/// Writes a Lease as it was decided, from the revision that it was decided from.
async fn apply(leases: &Api<Lease>, name: &str, known: Option<Lease>, next: Move) -> Result<(), kube::Error> {
    let mut lease = known.unwrap_or_default();
    let with = |lease: &mut Lease, spec: LeaseSpec| lease.spec = Some(spec);
    let params = PostParams::default();
    match next {
        Move::Follow => return Ok(()),
        Move::Create(spec) => {
            lease.metadata.name = Some(name.to_owned());
            with(&mut lease, spec);
            leases.create(&params, &lease).await?;
        }
        Move::Write(spec) => {
            with(&mut lease, spec);
            leases.replace(name, &params, &lease).await?;
        }
    }
    Ok(())
}
