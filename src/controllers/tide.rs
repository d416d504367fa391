//! Starts the watches and the reconciliation loop of the controllers, and stops them.
//!
//! Decides nothing. Must be shut down to end its writes in order; dropped, it stops at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::hash::Keys;
use arc_swap::ArcSwap;
use kube::Client;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::addon::Planning;
use super::auditor::WatchTap;
use super::checks::{CheckEndpoint, Evaluator, Queries};
use super::config_watch::look_out;
use super::election::{ElectionOptions, StockLease, Term, campaign, watch_stock};
use super::notifier::{Notifier, NotifierOptions};
use super::runtime::Controller;
use super::runtime::clock::{Clock, keep_time, read_date};
use super::runtime::event_budget::EventBudget;
use super::runtime::event_recorder::EventRecorder;
use super::runtime::queue::Gathering;
use super::runtime::reconciler::{Controllers, Outlets, Reconciler, Switches};
use super::runtime::viewers::{Viewer, Viewers};
use super::runtime::watch::{Ends, watch_kind};
use super::upgrade::Upgrading;
use crate::telemetry::Metrics;
use plan::Note;
use store::{Event, Facts, Fence, Kind, Managing, Name, Settings};

/// A change that observers receive: an add-on on a cluster has reached another state.
pub type Progress = Note;

/// How many events may wait for the loop: each holds a whole object.
const WAITING: usize = 16;
/// How long queued notifications may take at shutdown.
const FAREWELL: Duration = Duration::from_secs(2);

/// Options of the controllers.
#[derive(Debug, Clone)]
pub struct TideOptions {
    /// What the operator chose for all add-ons.
    pub settings: Settings,
    /// How long events of one add-on are gathered before it is planned.
    pub gathering: Gathering,
    /// How many namespaces of one add-on are written to at the same time.
    pub writes_at_once: usize,
    /// How many events are written about what happens.
    pub events: EventBudget,
    /// Namespace of the secrets of signers for which a template names none.
    pub signing_namespace: Name,
    /// Where the replicas elect the one that writes; absent when there is only one.
    pub election: Option<ElectionOptions>,
    /// Where OCM's add-on manager elects, whose add-ons are left to it while it does; absent where there is none.
    pub stock: Option<StockLease>,
    /// What is done here.
    pub part: Part,
    /// Where the controllers count what they do.
    pub metrics: Metrics,
    /// The keys of records of the webhook, such as that of placements of an upgrade; without them no record is needed.
    pub keys: Option<Arc<ArcSwap<Keys>>>,
    /// The Prometheus servers that RolloutChecks may name.
    pub check_endpoints: Vec<CheckEndpoint>,
    /// Where notifications are sent; absent if none are.
    pub notifier: Option<NotifierOptions>,
    /// Sender of watch events to the audit; absent if nothing is audited.
    pub tap: Option<WatchTap>,
}

impl Default for TideOptions {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            gathering: Gathering::default(),
            writes_at_once: 32,
            events: EventBudget::default(),
            signing_namespace: Name::from("open-cluster-management-hub"),
            election: None,
            stock: None,
            part: Part::Drives,
            metrics: Metrics::default(),
            keys: None,
            check_endpoints: Vec::new(),
            notifier: None,
            tap: None,
        }
    }
}

/// What is done with what the watches show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// Add-ons are driven, and facts are published.
    #[default]
    Drives,
    /// Add-ons are planned, and the writes are reported; nothing is ever written.
    Observes,
    /// Facts are published, and nothing is ever written: only kinds that admission asks for are watched.
    Sees,
}

impl Part {
    pub(super) fn watches(self, kind: Kind) -> bool {
        match self {
            Self::Drives | Self::Observes => true,
            Self::Sees => kind.is_for_admission(),
        }
    }
}

/// Why the controllers could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The hub does not answer.
    #[error("cannot reach the hub")]
    ReachHub(#[source] Box<kube::Error>),
}

/// The running controllers.
#[derive(Debug)]
pub struct Tide {
    facts: Arc<ArcSwap<Facts>>,
    progress: broadcast::Sender<Progress>,
    synced: watch::Receiver<bool>,
    stop: CancellationToken,
    driver: JoinHandle<()>,
    recorder: EventRecorder,
    clock: Clock,
    watches: JoinSet<()>,
    leading: watch::Receiver<bool>,
    viewers: mpsc::UnboundedSender<Box<dyn Viewer>>,
    standing: JoinSet<()>,
    notifying: JoinSet<()>,
    /// Ends the campaign: after the writes have ended, so that the next leader begins with what they left.
    resign: CancellationToken,
    _stop_on_drop: DropGuard,
}

/// Stands for election where there is one; returns whether this replica leads.
fn stand(
    client: &Client,
    options: &TideOptions,
    resign: &CancellationToken,
    standing: &mut JoinSet<()>,
) -> (watch::Receiver<bool>, Term) {
    let election = options.election.clone().filter(|_| options.part == Part::Drives);
    let plans = options.part != Part::Sees;
    let (leader, leading) = watch::channel(plans && election.is_none());
    let term = Term::default();
    if let Some(election) = election {
        term.lasts_until(tokio::time::Instant::now());
        let metrics = options.metrics.clone();
        standing.spawn(campaign(
            client.clone(),
            election,
            leader,
            term.clone(),
            metrics,
            resign.clone(),
        ));
    }
    if options.part == Part::Observes {
        options.metrics.modes().observe();
    }
    (leading, term)
}

/// Watches the Lease of OCM's add-on manager if this process may write that manager's add-ons; returns whether it acts. A
/// replica that elects by that very Lease never writes while the manager holds it.
fn watched_fence(
    client: &Client,
    options: &TideOptions,
    stop: &CancellationToken,
    watches: &mut JoinSet<()>,
) -> watch::Receiver<Fence> {
    let is_shared = |stock: &StockLease| {
        let election = options.election.as_ref();
        election.is_some_and(|ours| (&ours.namespace, &ours.name) == (&stock.namespace, &stock.name))
    };
    let writes = options.part == Part::Drives && options.settings.managing == Managing::All;
    let Some(stock) = options.stock.clone().filter(|stock| writes && !is_shared(stock)) else {
        return watch::channel(Fence::Open).1;
    };
    let (told, fence) = watch::channel(Fence::Closed);
    watches.spawn(watch_stock(
        client.clone(),
        stock,
        told,
        options.metrics.clone(),
        stop.clone(),
    ));
    fence
}

/// One controller for each kind of owner.
fn controllers(keys: Option<Arc<ArcSwap<Keys>>>) -> Controllers {
    Controllers::from([
        (Kind::AddOn, Box::<Planning>::default() as Box<dyn Controller>),
        (Kind::Upgrade, Box::new(Upgrading { keys })),
    ])
}

/// Watches every requested kind; returns the handles that make a watch list again.
fn watched_kinds(
    client: &Client,
    options: &TideOptions,
    sender: &mpsc::Sender<Event>,
    watches: &mut JoinSet<()>,
) -> BTreeMap<Kind, Arc<Notify>> {
    let mut relists = BTreeMap::new();
    let large = Arc::default();
    for kind in Kind::ALL.into_iter().filter(|kind| options.part.watches(*kind)) {
        let again = Arc::new(Notify::new());
        relists.insert(kind, Arc::clone(&again));
        let ends = Ends {
            events: sender.clone(),
            tap: options.tap.clone(),
            metrics: options.metrics.clone(),
            again,
            large: Arc::clone(&large),
        };
        watches.spawn(watch_kind(client.clone(), kind, ends));
    }
    relists
}

impl Tide {
    /// Starts watches and controllers.
    pub async fn start(client: Client, options: TideOptions) -> Result<Self, StartError> {
        let date = read_date(&client).await;
        let date = date.map_err(|error| StartError::ReachHub(Box::new(error)))?;
        let clock = Clock::new(date, options.metrics.clone());
        let facts = Arc::new(ArcSwap::from_pointee(Facts::default()));
        let (progress, _) = broadcast::channel(4096);
        let (synced_sender, synced) = watch::channel(false);
        let (sender, events) = mpsc::channel(WAITING);
        let mut watches = JoinSet::new();
        let relists = watched_kinds(&client, &options, &sender, &mut watches);
        let (lookout_sender, watch_lists) = mpsc::unbounded_channel();
        watches.spawn(look_out(client.clone(), watch_lists, sender));
        let (stop, resign) = (CancellationToken::new(), CancellationToken::new());
        let mut standing = JoinSet::new();
        let (leading, term) = stand(&client, &options, &resign, &mut standing);
        let fence = watched_fence(&client, &options, &stop, &mut watches);
        let mut notifying = JoinSet::new();
        let receiver = options.notifier.clone().filter(|_| options.part == Part::Drives);
        let (viewers, coming) = mpsc::unbounded_channel();
        let outlets = Outlets {
            facts: Arc::clone(&facts),
            progress: progress.clone(),
            notifier: receiver.map(|to| Notifier::start(to, options.metrics.clone(), &mut notifying)),
            synced: synced_sender,
            watch_lists: lookout_sender,
            relists,
            viewers: Viewers::new(coming),
        };
        watches.spawn(keep_time(client.clone(), clock.clone(), stop.clone()));
        let switches = Switches {
            stop: stop.clone(),
            leading: leading.clone(),
            fence,
        };
        if options.part == Part::Drives {
            let evaluator = Evaluator {
                client: term.fenced(&client),
                facts: Arc::clone(&facts),
                leading: leading.clone(),
                clock: clock.clone(),
                metrics: options.metrics.clone(),
                queries: Queries::new(&options.check_endpoints),
            };
            watches.spawn(evaluator.run());
        }
        let keys = options.keys.clone();
        let driver = Reconciler::new(
            term.fenced(&client),
            options,
            outlets,
            clock.clone(),
            controllers(keys),
            switches,
        );
        let recorder = driver.recorder();
        let driver = tokio::spawn(driver.run(events));
        Ok(Self {
            facts,
            progress,
            synced,
            _stop_on_drop: stop.clone().drop_guard(),
            stop,
            driver,
            recorder,
            clock,
            watches,
            leading,
            viewers,
            standing,
            notifying,
            resign,
        })
    }

    /// Returns whether this replica is the one that writes, now and whenever that changes.
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// Returns where those come who look at the store of the controllers.
    pub fn viewers(&self) -> mpsc::UnboundedSender<Box<dyn Viewer>> {
        self.viewers.clone()
    }

    /// Returns what tells the hub's time.
    pub(super) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Returns where others may tell what happened, in events within the budget of each add-on.
    pub fn recorder(&self) -> EventRecorder {
        self.recorder.clone()
    }

    /// Returns the facts that admission asks; they are replaced as the hub changes.
    pub fn facts(&self) -> Arc<ArcSwap<Facts>> {
        Arc::clone(&self.facts)
    }

    /// Returns a stream of what happens from now on.
    pub fn progress(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Waits until every kind was listed once.
    pub async fn synced(&self) {
        // The sender only goes away with the loop; then nothing will ever be synced and shutdown follows.
        let _ended = self.synced.clone().wait_for(|synced| *synced).await.is_err();
    }

    /// Stops the controllers: a write in progress is finished, none is begun.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        self.watches.shutdown().await;
        if let Err(error) = (&mut self.driver).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the controllers stopped unexpectedly"
            );
        }
        let last = async { while self.notifying.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, last).await.is_err() {
            tracing::warn!("notifications were not sent before shutdown");
        }
        self.resign.cancel();
        while self.standing.join_next().await.is_some() {}
    }
}
