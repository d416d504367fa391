//! What a gate is started with, and what all requests share.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::body::Body;
use axum::http::Request;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::callers::{Callers, PathSecrets};
use super::certificate::Certificate;
use super::connection_state::Connection;
use super::convert::Converting;
use super::denial_log::WrongPaths;
use super::existence::ExistenceReader;
use super::health::Health;
use super::limits::Limits;
use super::quota::{Quota, Reserve};
use super::tree_budget::TreeBudget;
use super::worker_pool::WorkerPool;
use crate::telemetry::Metrics;
use admission::{Facts, Rulebook, Verdict};

/// What a gate is started with.
#[derive(Debug)]
pub struct GateOptions {
    /// Address to listen on; port 0 takes any free one.
    pub bind: SocketAddr,
    /// Certificate to show.
    pub certificate: Certificate,
    /// The name that callers use, which every certificate must be for;
    /// without one, a new certificate needs a name of the old one.
    pub name: Option<String>,
    /// Who may ask.
    pub callers: Callers,
    /// The responses to probes.
    pub health: Health,
    /// Facts of the fleet; the controllers that watch the fleet replace them.
    pub facts: Arc<ArcSwap<Facts>>,
    /// What the rules do and which policies hold; the watches of the rules' file and of the policies replace it.
    pub rulebook: Arc<ArcSwap<Rulebook>>,
    /// Where the gate counts what it does.
    pub metrics: Metrics,
    /// Who tells whether an object exists that the facts do not have; without one, nothing that rests on it refuses.
    pub witness: Option<ExistenceReader>,
}

/// The function that decides a review.
pub(super) type Decide = fn(&admission::Request<'_>, &Facts, &Rulebook) -> Verdict;

/// What all requests share.
pub(super) struct AppState {
    pub(super) facts: Arc<ArcSwap<Facts>>,
    pub(super) rulebook: Arc<ArcSwap<Rulebook>>,
    pub(super) decide: Decide,
    pub(super) health: Health,
    pub(super) secrets: ArcSwapOption<PathSecrets>,
    pub(super) witness: Option<ExistenceReader>,
    pub(super) limits: Limits,
    pub(super) workers: WorkerPool,
    /// Memory of decisions.
    pub(super) trees: TreeBudget,
    /// Requests that wait for an answer of the hub; a further one does not queue and is decided without it.
    pub(super) confirming: Semaphore,
    /// Bytes of bodies.
    pub(super) buffering: Arc<Quota>,
    /// Requests in flight.
    pub(super) requests: Arc<Quota>,
    pub(super) converting: Converting,
    /// Cancelled when connections have to end.
    pub(super) closing: CancellationToken,
    pub(super) metrics: Metrics,
    wrong_paths: WrongPaths,
}

impl AppState {
    pub(super) fn new(options: GateOptions, limits: Limits, decide: Decide) -> std::io::Result<Self> {
        let (callers, health, metrics) = (options.callers, options.health, options.metrics);
        // Where no client can show who it is, no share is kept for known clients.
        let reserve = match (&callers.authority, &callers.secrets) {
            (None, None) => Reserve::None,
            (Some(_), _) | (_, Some(_)) => Reserve::Kept,
        };
        health.rests_on(Arc::clone(&options.facts));
        Ok(Self {
            workers: WorkerPool::new(limits, reserve, health.clone(), metrics.clone())?,
            trees: TreeBudget::new(limits.tree_bytes),
            facts: options.facts,
            rulebook: options.rulebook,
            decide,
            health,
            secrets: ArcSwapOption::from_pointee(callers.secrets),
            witness: options.witness,
            limits,
            confirming: Semaphore::new(limits.confirming),
            buffering: Quota::new(limits.buffered_bytes, reserve),
            requests: Quota::new(limits.requests, reserve),
            converting: Converting::default(),
            closing: CancellationToken::new(),
            metrics,
            wrong_paths: WrongPaths::default(),
        })
    }

    /// Returns the connection of a request, if its path has the secret that it needs.
    pub(super) fn verified(&self, request: &Request<Body>) -> Option<Arc<Connection>> {
        let conn = request.extensions().get::<Arc<Connection>>()?;
        let path = request.uri().path();
        let offered = path.rsplit('/').next().filter(|_| path.matches('/').count() == 2);
        match (self.secrets.load().as_deref(), offered) {
            (None, None) => {}
            (Some(secrets), Some(offered)) if secrets.include(offered) => conn.mark_known(),
            (None, Some(_)) | (Some(_), _) => return None,
        }
        Some(Arc::clone(conn))
    }

    /// Counts a request at a path without the secret.
    pub(super) fn reject_path(&self, webhook: &'static str) {
        self.metrics.connections().wrong_path();
        self.wrong_paths.note(webhook, Instant::now());
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppState")
    }
}
