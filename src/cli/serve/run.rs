//! `tidegate serve`: the webhook and the controllers of an existing hub, or one of them alone.
//!
//! Starts the requested components, reports when they serve, and ends them in order. Decides nothing about add-ons.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::endpoint::Endpoint;
use super::{at_start, certificates, kept_fields};
use crate::cli::connect::HubConfig;
use crate::cli::options::word;
use crate::cli::print::print;
use crate::cli::settings::{self, Words};
use crate::cli::{
    AuditTo, CertificatesArg, CliError, ControllersMode, LeasePlace, Only, ServeArgs, audit, connect, doctor,
    policies, rulebook, signals, ui,
};
use crate::controllers::{
    Auditor, CertificateKeeper, CertificateOptions, ElectionOptions, KeyFollower, KeySecret, KeyState, Pace,
    Part, PolicyTells, SharedKeys, Sightings, StockLease, Tide, TideOptions, identity, own_keys,
    watch_webhooks,
};
use crate::server::{Gate, GateOptions, Health, Limits, Pages};
use crate::telemetry::Metrics;
use crate::ui::Visitors;
use ::audit::Told;
use admission::Rulebook;
use kubernetes::field::Shown;
use store::{DiscoveryLabels, Settings};

/// How long the start waits for a first look at the keys of records.
const KEYS_WITHIN: Duration = Duration::from_secs(10);

/// Who tells the web page what the audit finds.
type Shows = Option<watch::Sender<Arc<Told>>>;

pub(in crate::cli) fn run(args: &ServeArgs) -> Result<(), CliError> {
    let runtime = connect::serving_runtime()?;
    runtime.block_on(serve(args))
}

async fn serve(args: &ServeArgs) -> Result<(), CliError> {
    let metrics = Metrics::default();
    let traces = args.traces.start(&metrics)?;
    let told = match args.only {
        Some(Only::Certificates) => Box::pin(certificates::serve(args, metrics)).await,
        None | Some(Only::Gate | Only::Controllers) => Box::pin(served(args, metrics)).await,
    };
    // The last spans are those of the end itself.
    if let Some(traces) = traces {
        traces.end().await;
    }
    told
}

async fn served(args: &ServeArgs, metrics: Metrics) -> Result<(), CliError> {
    let mut end = signals::end_requested()?;
    let ((mut rulebook, opened), (endpoint, config)) = read_all(args).await?;
    let health = Health::default();
    health.hears(&metrics);
    let client = reached(args, config, &metrics).await?;
    // Probes are answered from the first moment on: that reading a fleet takes long is no reason to be killed.
    let pages = args.endpoint.pages(args.half(), &health, &metrics)?;
    let (keys, followed) = record_keys(args, &client).await;
    rulebook.keys = keys.load_full();
    let (mut options, sightings) = options(args, &metrics);
    options.keys = Some(Arc::clone(&keys));
    options.check_endpoints.clone_from(&args.checks.endpoints);
    options.notifier = args.notify.receiver().map(Into::into);
    at_start::leave_to_ocm(&client, args, &mut options.settings).await;
    let (words, settings) = (told_words(args, &options.settings), options.settings.clone());
    let tide = Tide::start(client.clone(), options)
        .await
        .map_err(CliError::starting(following(args)))?;
    let is_old = at_start::tell_of_old_hub(&client).await;
    let _webhooks = webhooks_watched(args, &client, &tide, is_old, &metrics);
    // Nothing passes a gate that has not read its policies yet.
    let tells = tells(args);
    let (policies, rulebook) = tokio::select! {
        started = policies::start(client.clone(), tells, opened, rulebook, metrics.clone()) => started,
        () = end.requested() => {
            tide.shutdown().await;
            return Ok(());
        }
    };
    let _keys = followed.map(|followed| keys_applied(followed, keys, &rulebook, &health));
    let keeper = kept(args).map(|kept| CertificateKeeper::start(&client, &tide, kept));
    let (page, shows) = shown(args, &client, settings, sightings.is_some()).await?;
    let auditor = audited(args, &client, &tide, sightings, &rulebook, &metrics, shows);
    let telling = telling(args, &client, &tide, words);
    let running = Running {
        args,
        rulebook,
        end: &mut end,
        health: health.clone(),
        pages: &pages,
        page,
        fields: kept_fields::Watch {
            client: client.clone(),
            metrics: metrics.clone(),
            only: args.only,
        },
    };
    let (gate, told) = match endpoint {
        Some(endpoint) => running.guard(client, &tide, endpoint, metrics).await?,
        None => (None, running.drive(&tide).await),
    };
    info!(linger = args.linger, "stopping");
    drop(telling);
    // Before anything ends: the Service that routes questions here needs time to hear of it.
    health.drain();
    audit::end(auditor).await;
    if let Some(keeper) = keeper {
        keeper.shutdown().await;
    }
    // The gate answers to the end, from facts that no longer move: a hub must not be left without an answer.
    tide.shutdown().await;
    policies.shutdown().await;
    if let Some(gate) = gate {
        gate.shutdown().await;
    }
    told
}

/// Reads everything that is named, or tells of everything that is wrong with it.
async fn read_all(
    args: &ServeArgs,
) -> Result<((Rulebook, policies::Opened), (Option<Endpoint>, HubConfig)), CliError> {
    let rules = CliError::both(
        rulebook::read(&args.gate, &args.rights),
        policies::open(args.gate.policies.as_deref()),
    );
    let ways = CliError::both(opened_endpoint(args), connect::config_of(&args.hub).await);
    CliError::both(rules, ways)
}

/// What the controllers do, which a gate alone has none of.
fn driving(args: &ServeArgs) -> String {
    match args.half() {
        Some(Only::Gate) => word(&ControllersMode::Off),
        None | Some(Only::Controllers | Only::Certificates) => word(&args.controllers),
    }
}

/// What follows the hub: a gate alone has no controllers.
fn following(args: &ServeArgs) -> &'static str {
    match args.half() {
        Some(Only::Gate) => "the facts of the gate",
        None | Some(Only::Controllers | Only::Certificates) => "the controllers",
    }
}

/// The flags that are published on the hub; detected settings count as given.
fn told_words(args: &ServeArgs, settings: &Settings) -> Words {
    let mut words = args.words.0.clone();
    if settings.discovery_labels == DiscoveryLabels::Off {
        words.insert("discovery-labels".to_owned(), "off".to_owned());
    }
    words
}

/// Publishes the settings of the controllers on the hub, if they write; ends when it is dropped.
fn telling(args: &ServeArgs, client: &Client, tide: &Tide, words: Words) -> JoinSet<()> {
    let mut telling = JoinSet::new();
    if args.controllers == ControllersMode::On && args.half() != Some(Only::Gate) {
        let place = settings::place(args.elect.as_ref());
        telling.spawn(settings::publish(client.clone(), place, words, tide.leading()));
    }
    telling
}

/// Returns the client of the hub, after the preflight checks if they are requested.
async fn reached(args: &ServeArgs, config: HubConfig, metrics: &Metrics) -> Result<Client, CliError> {
    info!(
        version = env!("CARGO_PKG_VERSION"), hub = %config.cluster_url, controllers = %driving(args), only = args.half().as_ref().map(word),
        "tidegate starts"
    );
    let client = connect::counted_client(config, metrics)?;
    if args.preflight {
        doctor::preflight(&client, args).await?;
    }
    Ok(client)
}

/// Returns where errors of policies are reported.
fn tells(args: &ServeArgs) -> PolicyTells {
    match (args.controllers, args.half()) {
        (ControllersMode::On, None | Some(Only::Controllers | Only::Certificates)) => PolicyTells::OnHub,
        (ControllersMode::Off | ControllersMode::Observe, _) | (ControllersMode::On, Some(Only::Gate)) => {
            PolicyTells::InLog
        }
    }
}

/// Watches the webhook configurations until what is returned is dropped. Controllers that write nothing write no events either.
fn webhooks_watched(
    args: &ServeArgs,
    client: &Client,
    tide: &Tide,
    is_old: bool,
    metrics: &Metrics,
) -> JoinSet<()> {
    let mut watch = JoinSet::new();
    let leading = match args.controllers {
        ControllersMode::On => tide.leading(),
        ControllersMode::Off | ControllersMode::Observe => tokio::sync::watch::channel(false).1,
    };
    if args.half() != Some(Only::Gate) {
        let recorder = tide.recorder();
        watch.spawn(watch_webhooks(
            client.clone(),
            !is_old,
            leading,
            recorder,
            metrics.clone(),
        ));
    }
    watch
}

/// Returns the keys of records, and what follows their Secret where one is named. A first look at it comes before anything is judged.
async fn record_keys(args: &ServeArgs, client: &Client) -> (SharedKeys, Option<KeyFollower>) {
    let keys = own_keys();
    let Some(place) = &args.record_keys else {
        return (keys, None);
    };
    let secret = KeySecret {
        namespace: place.namespace.clone(),
        name: place.name.clone(),
        is_filled: match args.half() {
            Some(Only::Gate) => true,
            Some(Only::Controllers | Only::Certificates) => false,
            None => args.controllers == ControllersMode::On,
        },
    };
    let followed = KeyFollower::start(client.clone(), secret, Arc::clone(&keys));
    let mut state = followed.state();
    let read = state.wait_for(|state| *state != KeyState::Unread);
    if tokio::time::timeout(KEYS_WITHIN, read).await.is_err() {
        warn!("the Secret of --record-keys has not been read yet");
    }
    (keys, Some(followed))
}

/// Brings every new key to the webhook, and to the probes that there is none; ends when it is dropped.
fn keys_applied(
    followed: KeyFollower,
    keys: SharedKeys,
    rulebook: &Arc<ArcSwap<Rulebook>>,
    health: &Health,
) -> JoinSet<()> {
    let (rulebook, health) = (Arc::clone(rulebook), health.clone());
    let mut applied = JoinSet::new();
    applied.spawn(async move {
        let mut state = followed.state();
        loop {
            let why = match &*state.borrow_and_update() {
                KeyState::Unusable(why) => Some(format!("there are no shared record keys: {why}")),
                KeyState::Unread | KeyState::Used => None,
            };
            health.lacks(why);
            rulebook.rcu(|old| Rulebook {
                keys: keys.load_full(),
                ..Rulebook::clone(old)
            });
            if state.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    });
    applied
}

/// Reads what the gate shows and whom it lets in, where there is a gate.
fn opened_endpoint(args: &ServeArgs) -> Result<Option<Endpoint>, CliError> {
    match args.half() {
        Some(Only::Controllers | Only::Certificates) => match args.ui.plain_elsewhere() {
            Some(why) => Err(CliError::Refused(why.into())),
            None => Ok(None),
        },
        None | Some(Only::Gate) => args.endpoint.open(Timestamp::now()).map(Some),
    }
}

/// How the certificate is kept, where everything runs in this process.
fn kept(args: &ServeArgs) -> Option<CertificateOptions> {
    let is_all = args.controllers == ControllersMode::On && args.half().is_none();
    let is_kept = args.endpoint.certificates == CertificatesArg::SelfManaged;
    (is_all && is_kept).then(|| args.endpoint.kept())
}

fn options(args: &ServeArgs, metrics: &Metrics) -> (TideOptions, Option<Sightings>) {
    let mut options = TideOptions {
        metrics: metrics.clone(),
        election: args.elect.clone().map(election),
        stock: args.stock_lease.0.clone().map(stock),
        ..TideOptions::from(&args.tide)
    };
    options.settings = args.rights.applied_to(options.settings);
    options.settings.namespace = settings::place(args.elect.as_ref()).namespace.into();
    if args.controllers == ControllersMode::Observe {
        options.part = Part::Observes;
    }
    match args.half() {
        None | Some(Only::Controllers | Only::Certificates) => args.audit.hear(options),
        Some(Only::Gate) => {
            options.part = Part::Sees;
            (options, None)
        }
    }
}

/// Returns what the web page shows, and the sender of audit findings, if a page is requested.
async fn shown(
    args: &ServeArgs,
    client: &Client,
    settings: Settings,
    is_audited: bool,
) -> Result<(Option<ui::Hub>, Shows), CliError> {
    if args.ui.ui.is_none() {
        return Ok((None, None));
    }
    let (shows, findings) = watch::channel(Arc::default());
    let hub = ui::Hub {
        config: connect::config_of(&args.hub).await?,
        client: client.clone(),
        settings,
        stock: args.stock_lease.0.clone(),
        findings: is_audited.then_some(findings),
        visitors: Visitors::Known(client.clone()),
        name: args.ui.ui_hub_name.clone(),
    };
    Ok((Some(hub), is_audited.then_some(shows)))
}

fn audited(
    args: &ServeArgs,
    client: &Client,
    tide: &Tide,
    sightings: Option<Sightings>,
    rulebook: &Arc<ArcSwap<Rulebook>>,
    metrics: &Metrics,
    shows: Shows,
) -> Option<Auditor> {
    let mut audit = args.audit;
    if args.controllers == ControllersMode::Observe && audit.audit == AuditTo::Reports {
        audit.audit = AuditTo::Metrics;
    }
    audit.start(client.clone(), tide, sightings, rulebook, metrics.clone(), shows)
}

/// What runs until shutdown is requested.
struct Running<'a> {
    args: &'a ServeArgs,
    rulebook: Arc<ArcSwap<Rulebook>>,
    end: &'a mut signals::End,
    health: Health,
    pages: &'a Pages,
    /// What the web page shows, where there is one.
    page: Option<ui::Hub>,
    fields: kept_fields::Watch,
}

impl Running<'_> {
    /// Opens the gate and serves until the end; the gate is left open.
    async fn guard(
        mut self,
        client: Client,
        tide: &Tide,
        endpoint: Endpoint,
        metrics: Metrics,
    ) -> Result<(Option<Gate>, Result<(), CliError>), CliError> {
        let Endpoint {
            mut files,
            certificate,
            callers,
        } = endpoint;
        let certificate = if let Some(certificate) = certificate {
            certificate
        } else {
            tokio::select! {
                () = self.end.requested() => return Ok((None, Ok(()))),
                certificate = files.wait(client.clone(), &self.health) => certificate,
            }
        };
        let options = GateOptions {
            metrics,
            bind: self.args.bind,
            certificate,
            name: self.args.endpoint.certificate_name.clone(),
            callers,
            health: self.health.clone(),
            facts: tide.facts(),
            rulebook: Arc::clone(&self.rulebook),
            witness: Some(connect::witness(client)),
        };
        let gate = Gate::start_with(options, lingering(self.args.linger))
            .await
            .map_err(CliError::starting("the gate"))?;
        let tls = gate.same_certificate();
        let page = self
            .open_page(tide, Some(tls.map_err(CliError::starting("the web page"))?))
            .await?;
        let what = format!(
            "gate=https://{}{}{}",
            gate.address(),
            observing(self.args),
            at(page.as_ref())
        );
        let announced = async {
            at_start::ready(&self.health, self.fields.metrics.staleness()).await;
            announce(&what, self.pages);
            std::future::pending::<()>().await;
        };
        let told = tokio::select! {
            () = self.end.requested() => Ok(()),
            () = announced => Ok(()),
            () = files.follow(&gate) => Ok(()),
            () = rulebook::follow(&self.args.gate, &self.rulebook) => Ok(()),
            () = self.fields.follow() => Ok(()),
        };
        if let Some(page) = page {
            page.shutdown().await;
        }
        Ok((Some(gate), told))
    }

    /// Serves the web page, if one is requested.
    async fn open_page(
        &mut self,
        tide: &Tide,
        tls: Option<rustls::ServerConfig>,
    ) -> Result<Option<ui::Watched>, CliError> {
        let (Some(hub), Some(address)) = (self.page.take(), self.args.ui.ui) else {
            return Ok(None);
        };
        let hosts = self.args.ui.ui_hosts.iter().cloned().collect();
        let viewers = tide.viewers();
        ui::begin(hub, viewers, address, hosts, tls).await.map(Some)
    }

    /// Serves until the end without a gate.
    async fn drive(mut self, tide: &Tide) -> Result<(), CliError> {
        self.health.rests_on(tide.facts());
        let page = self.open_page(tide, None).await?;
        tokio::select! {
            () = self.end.requested() => return Ok(()),
            () = at_start::ready(&self.health, self.fields.metrics.staleness()) => {}
        }
        let what = format!("controllers{}{}", observing(self.args), at(page.as_ref()));
        announce(&what, self.pages);
        tokio::select! {
            () = self.end.requested() => {}
            () = rulebook::follow(&self.args.gate, &self.rulebook) => {}
            () = self.fields.follow() => {}
        }
        if let Some(page) = page {
            page.shutdown().await;
        }
        Ok(())
    }
}

/// The line about the web page, for scripts.
fn at(page: Option<&ui::Watched>) -> String {
    page.map_or_else(String::new, |page| format!(" ui={}", page.url()))
}

fn lingering(seconds: u64) -> Limits {
    Limits {
        linger: Duration::from_secs(seconds),
        ..Limits::default()
    }
}

/// The line about controllers that write nothing, for scripts.
fn observing(args: &ServeArgs) -> &'static str {
    match args.controllers {
        ControllersMode::Observe => " observing",
        ControllersMode::Off | ControllersMode::On => "",
    }
}

fn stock(place: LeasePlace) -> StockLease {
    StockLease {
        namespace: place.namespace,
        name: place.name,
    }
}

fn election(place: LeasePlace) -> ElectionOptions {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "tidegate".to_owned());
    ElectionOptions {
        namespace: place.namespace,
        name: place.name,
        identity: identity(&host, &uuid::Uuid::new_v4().to_string()),
        pace: Pace::default(),
    }
}

/// Prints the line that scripts wait for. A hub is served all the same where it cannot be printed: a full disk is no reason to stop.
pub(super) fn announce(what: &str, pages: &Pages) {
    let at = pages.at();
    // One address for both is printed once.
    let metrics = at.metrics.filter(|_| at.metrics != at.health);
    let [health, metrics] = [("health", at.health), ("metrics", metrics)].map(|(page, address)| {
        address.map_or_else(String::new, |address| format!(" {page}=http://{address}"))
    });
    if let Err(error) = print(&Shown::line(&format!("READY {what}{health}{metrics}"))) {
        warn!(
            error = &error as &dyn std::error::Error,
            "cannot write to standard output"
        );
    }
}
