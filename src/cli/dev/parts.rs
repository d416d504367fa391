//! The parts of a dev hub, started so that each finds what it needs, ended in the opposite order.
//!
//! The gate opens before it is registered, and is registered before the demo add-on is stored: the demo is admitted like
//! a user's objects. Never looks into a part.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kubernetes::duration::GoDuration;
use spokes::{Faults, Fleet, FleetOptions, OpenShift, Times};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;

use super::args::Demo;
use super::demo;
use super::hub::Folder;
use super::hub::{Hub, Registered};
use super::settings;
use crate::cli::policies::{self, Policies};
use crate::cli::{CliError, DevArgs, audit, connect, rulebook, ui};
use crate::controllers::{Auditor, PolicyTells, Progress, Sightings, Tide, TideOptions, own_keys};
use crate::server::{Authority, Callers, Gate, GateOptions, Health};
use crate::telemetry::Metrics;
use crate::ui::Visitors;
use ::audit::Told;
use admission::{Endpoint, Rulebook};
use store::Settings;

/// Everything that runs.
pub(super) struct Parts {
    hub: Hub,
    gate: Gate,
    tide: Tide,
    policies: Policies,
    rulebook: Arc<ArcSwap<Rulebook>>,
    auditor: Option<Auditor>,
    fleet: Fleet,
    progress: broadcast::Receiver<Progress>,
    page: Option<ui::Watched>,
    /// Publishes the settings of the controllers on the hub.
    _telling: JoinSet<()>,
}

/// Starts everything; returns when every part serves.
///
/// If it does not, or is not waited for, the caller unregisters what was `registered` from the hub.
pub(super) async fn start(
    args: &DevArgs,
    folder: &Folder,
    registered: &Registered,
) -> Result<Parts, CliError> {
    // A wrong fault is the user's mistake: said before anything is started.
    let faults = Faults::parse(&args.faults).map_err(|error| CliError::ReadFlag {
        flag: "fault",
        reason: error.to_string(),
    })?;
    let openshift = openshift(args)?;
    let keys = own_keys();
    let mut rulebook = rulebook::read(&args.gate, &args.rights)?;
    rulebook.keys = keys.load_full();
    let opened = policies::open(args.gate.policies.as_deref())?;
    let hub = Hub::start(args, folder).await?;
    let client = hub.client();
    let options = FleetOptions {
        clusters: usize::from(args.clusters),
        faults,
        openshift,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(client.clone(), options)
        .await
        .map_err(CliError::starting("the simulated clusters"))?;
    let mut options = TideOptions::from(&args.tide);
    options.settings = args.rights.applied_to(options.settings);
    options.keys = Some(keys);
    options.check_endpoints.clone_from(&args.checks.endpoints);
    options.notifier = args.notify.receiver().map(Into::into);
    let (options, sightings) = args.audit.hear(options);
    let settings = options.settings.clone();
    let tide = Tide::start(client.clone(), options)
        .await
        .map_err(CliError::starting("the controllers"))?;
    let progress = tide.progress();
    let (policies, rulebook) = policies::start(
        client.clone(),
        PolicyTells::OnHub,
        opened,
        rulebook,
        Metrics::default(),
    )
    .await;
    let (auditor, findings) = audited(args, client.clone(), &tide, sightings, &rulebook);
    let gate = open_gate(&hub, registered, &tide, folder, Arc::clone(&rulebook)).await?;
    tide.synced().await;
    fleet
        .ready()
        .await
        .map_err(CliError::starting("the simulated clusters"))?;
    demo::store(&client, args.demo(), usize::from(args.clusters)).await?;
    let page = serve_page(args, &hub, &tide, settings, findings).await?;
    let telling = settings::tell(&hub, args, tide.leading()).await;
    Ok(Parts {
        hub,
        gate,
        tide,
        policies,
        rulebook,
        auditor,
        fleet,
        progress,
        page,
        _telling: telling,
    })
}

/// Starts the audit, and returns what tells its findings.
fn audited(
    args: &DevArgs,
    client: kube::Client,
    tide: &Tide,
    sightings: Option<Sightings>,
    rulebook: &Arc<ArcSwap<Rulebook>>,
) -> (Option<Auditor>, Option<watch::Receiver<Arc<Told>>>) {
    let (shows, findings) = watch::channel(Arc::default());
    let auditor = args
        .audit
        .start(client, tide, sightings, rulebook, Metrics::default(), Some(shows));
    let findings = auditor.is_some().then_some(findings);
    (auditor, findings)
}

/// Serves the web page. A hub of our own lets every client that reaches it do everything; one that is already there is asked who
/// looks.
async fn serve_page(
    args: &DevArgs,
    hub: &Hub,
    tide: &Tide,
    settings: Settings,
    findings: Option<watch::Receiver<Arc<Told>>>,
) -> Result<Option<ui::Watched>, CliError> {
    if args.no_ui {
        return Ok(None);
    }
    let shown = ui::Hub {
        config: connect::config_of(Some(hub.kubeconfig())).await?,
        client: hub.client(),
        settings,
        stock: None,
        findings,
        visitors: match hub {
            Hub::Own { .. } => Visitors::All,
            Hub::Foreign { client, .. } => Visitors::Known(client.clone()),
        },
        name: None,
    };
    let viewers = tide.viewers();
    ui::begin(shown, viewers, args.ui, BTreeSet::new(), None)
        .await
        .map(Some)
}

/// Which clusters play OpenShift.
fn openshift(args: &DevArgs) -> Result<Option<OpenShift>, CliError> {
    let wrong = |flag, reason: String| CliError::ReadFlag { flag, reason };
    let length = GoDuration::parse(&args.upgrade_time)
        .ok()
        .and_then(GoDuration::length);
    let length = length.ok_or_else(|| {
        let reason = format!("\"{}\" is no duration such as 8s or 2m", args.upgrade_time);
        wrong("upgrade-time", reason)
    })?;
    let texts = match (args.openshift.as_slice(), args.demo()) {
        ([], Demo::Upgrade) => &["4.11.9".to_owned()][..],
        ([], Demo::AddOn | Demo::None) => return Ok(None),
        (texts, _) => texts,
    };
    let mut openshift = OpenShift::parse(texts).map_err(|error| wrong("openshift", error.to_string()))?;
    openshift.times = Times::of_upgrade(length);
    Ok(Some(openshift))
}

impl Parts {
    /// Returns the hub's address.
    pub(super) fn url(&self) -> String {
        self.hub.url()
    }

    /// Returns where the web page is, if there is one.
    pub(super) fn page(&self) -> Option<&str> {
        self.page.as_ref().map(ui::Watched::url)
    }

    /// Returns a client of the hub.
    pub(super) fn client(&self) -> kube::Client {
        self.hub.client()
    }

    /// Returns where the kubeconfig of the hub lies.
    pub(super) fn kubeconfig(&self) -> &Path {
        self.hub.kubeconfig()
    }

    /// Returns what has happened on the clusters since the start, and goes on.
    pub(super) fn progress(&mut self) -> &mut broadcast::Receiver<Progress> {
        &mut self.progress
    }

    /// Returns what the gate decides by.
    pub(super) fn rulebook(&self) -> Arc<ArcSwap<Rulebook>> {
        Arc::clone(&self.rulebook)
    }

    /// Ends everything, those who call before those who are called.
    pub(super) async fn shutdown(self) {
        if let Some(page) = self.page {
            page.shutdown().await;
        }
        self.fleet.shutdown().await;
        audit::end(self.auditor).await;
        self.tide.shutdown().await;
        self.policies.shutdown().await;
        // A hub that is not ours forgets the gate while the gate still answers; ours has no part left that writes to it.
        match self.hub {
            Hub::Own { .. } => {
                self.gate.shutdown().await;
                self.hub.shutdown().await;
            }
            Hub::Foreign { .. } => {
                self.hub.shutdown().await;
                self.gate.shutdown().await;
            }
        }
    }
}

async fn open_gate(
    hub: &Hub,
    registered: &Registered,
    tide: &Tide,
    folder: &Folder,
    rulebook: Arc<ArcSwap<Rulebook>>,
) -> Result<Gate, CliError> {
    let authority = Authority::generate().map_err(CliError::starting("the gate"))?;
    let issued = authority
        .issue(["127.0.0.1", "localhost"])
        .map_err(CliError::starting("the gate"))?;
    folder.write_private("gate-ca.crt", authority.ca_pem())?;
    let options = GateOptions {
        metrics: Metrics::default(),
        bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        certificate: issued.certificate().clone(),
        name: None,
        callers: Callers::default(),
        health: Health::default(),
        facts: tide.facts(),
        rulebook,
        witness: Some(connect::witness(hub.client())),
    };
    let gate = Gate::start(options)
        .await
        .map_err(CliError::starting("the gate"))?;
    let endpoint = Endpoint::Url(format!("https://{}", gate.address()));
    hub.register(&endpoint, authority.ca_pem(), registered)
        .await
        .map_err(CliError::starting("the gate"))?;
    Ok(gate)
}
