//! The rollouts that the page shows, made from the store of the controllers of this process while a user looks.
//!
//! Decides when that is, and whether OCM's own manager counts as acting meanwhile. Never what a picture says.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::asks::Reader;
use crate::cli::connect::HubConfig;
use crate::cli::{CliError, LeasePlace};
use crate::controllers::Viewer;
use crate::ui::{About, Interest, Page, PageOptions, Sources, Visitors};
use audit::Told;
use insight::cockpit::{Gallery, Pictures};
use operate::release::{is_alive, is_ours};
use store::{Fence, Settings, Store, Touched};

/// How often it is looked whether a user still looks, and which manager drives the hub.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The hub, and how its controllers behave.
pub(in crate::cli) struct Hub {
    /// The way to it.
    pub(in crate::cli) config: HubConfig,
    /// This program's own client of it.
    pub(in crate::cli) client: Client,
    /// How its controllers behave.
    pub(in crate::cli) settings: Settings,
    /// Lease of OCM's own manager.
    pub(in crate::cli) stock: Option<LeasePlace>,
    /// What the audit finds, where there is one.
    pub(in crate::cli) findings: Option<watch::Receiver<Arc<Told>>>,
    /// Who may look.
    pub(in crate::cli) visitors: Visitors,
    /// The name of the hub; its address where it has none.
    pub(in crate::cli) name: Option<String>,
}

/// A page, and what follows the hub for it.
pub(in crate::cli) struct Watched {
    page: Page,
    _following: JoinSet<()>,
}

/// Begins to serve the page.
pub(in crate::cli) async fn begin(
    hub: Hub,
    viewers: mpsc::UnboundedSender<Box<dyn Viewer>>,
    bind: SocketAddr,
    hosts: BTreeSet<String>,
    tls: Option<rustls::ServerConfig>,
) -> Result<Watched, CliError> {
    let (shown, pictures) = watch::channel(None);
    let (told, settings) = watch::channel(hub.settings.clone());
    let interest = Interest::default();
    let about = About {
        hub: hub.name.unwrap_or_else(|| hub.config.cluster_url.to_string()),
        version: env!("CARGO_PKG_VERSION"),
    };
    let options = PageOptions {
        bind,
        hosts,
        tls: tls.map(Arc::new),
        sources: Sources {
            pictures,
            findings: hub.findings,
            interest: interest.clone(),
            about,
        },
        asks: Arc::new(Reader {
            config: hub.config,
            settings,
        }),
        visitors: hub.visitors,
    };
    let page = Page::start(options)
        .await
        .map_err(CliError::starting("the web page"))?;
    let follower = Follower {
        client: hub.client,
        stock: hub.stock,
        settings: told,
        interest,
        viewers,
        shown,
    };
    let mut following = JoinSet::new();
    following.spawn(follower.run());
    Ok(Watched {
        page,
        _following: following,
    })
}

impl Watched {
    /// Returns where the page is served.
    pub(in crate::cli) fn url(&self) -> &str {
        self.page.url()
    }

    /// Ends it.
    pub(in crate::cli) async fn shutdown(self) {
        self.page.shutdown().await;
    }
}

struct Follower {
    client: Client,
    stock: Option<LeasePlace>,
    settings: watch::Sender<Settings>,
    interest: Interest,
    /// Where those come who look at the store of the controllers.
    viewers: mpsc::UnboundedSender<Box<dyn Viewer>>,
    shown: watch::Sender<Option<Arc<Pictures>>>,
}

impl Follower {
    async fn run(self) {
        loop {
            self.interest.begins().await;
            let fence = self.fence().await;
            self.settings.send_modify(|settings| settings.fence = fence);
            let (looks, fences) = watch::channel(fence);
            let window = Window {
                fence: fences,
                gallery: Gallery::default(),
                shown: self.shown.clone(),
            };
            if self.viewers.send(Box::new(window)).is_err() {
                return;
            }
            while self.interest.holds(Instant::now()) && self.fence().await == fence {
                sleep(LOOK_AGAIN).await;
            }
            drop(looks);
            self.shown.send_replace(None);
        }
    }

    /// Whether OCM's own manager drives its add-ons. One whose Lease may not be read does not count.
    async fn fence(&self) -> Fence {
        let Some(place) = &self.stock else {
            return Fence::Open;
        };
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &place.namespace);
        let found = leases.get_opt(&place.name).await.ok().flatten();
        let lease = found.and_then(|lease| serde_json::to_value(lease).ok());
        let acts = lease.is_some_and(|lease| is_alive(&lease, Timestamp::now()) && !is_ours(&lease));
        if acts { Fence::Closed } else { Fence::Open }
    }
}

/// Looks at the store of the controllers for the page.
struct Window {
    /// Closed when no user looks any more.
    fence: watch::Receiver<Fence>,
    gallery: Gallery,
    shown: watch::Sender<Option<Arc<Pictures>>>,
}

impl Viewer for Window {
    fn fence(&self) -> Option<Fence> {
        self.fence.has_changed().ok()?;
        Some(*self.fence.borrow())
    }

    fn begin(&mut self, store: &Store, touched: &Touched, now: Timestamp) {
        self.gallery.note(store, touched, now);
    }

    fn step(&mut self, store: &Store, now: Timestamp) -> bool {
        self.gallery.step(store, now)
    }

    fn show(&mut self) -> Option<Timestamp> {
        self.shown.send_replace(Some(Arc::new(self.gallery.pictures())));
        self.gallery.changes_at()
    }
}
