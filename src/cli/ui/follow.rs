//! The hub that the page shows, followed while a user looks.
//!
//! Decides when it is followed, and whether OCM's own manager counts as acting meanwhile. Never what a picture says.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::asks::Reader;
use crate::cli::connect::HubConfig;
use crate::cli::{CliError, LeasePlace};
use crate::controllers::Lens;
use crate::ui::{About, Interest, Page, PageOptions, Sources, Visitors};
use audit::Told;
use operate::release::{is_alive, is_ours};
use store::{Fence, Settings};

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
    shown: watch::Sender<Option<Arc<insight::cockpit::Pictures>>>,
}

impl Follower {
    async fn run(self) {
        loop {
            self.interest.begins().await;
            let fence = self.fence().await;
            self.settings.send_modify(|settings| settings.fence = fence);
            self.follow(fence).await;
            self.shown.send_replace(None);
        }
    }

    /// Follows the hub until no user looks any more, or another manager drives it.
    async fn follow(&self, fence: Fence) {
        let mut gallery = insight::cockpit::Gallery::default();
        let settings = self.settings.borrow().clone();
        let mut lens = Lens::start(self.client.clone(), settings, move |store, touched, now| {
            gallery.look(store, touched, now)
        });
        let mut ticks = interval(LOOK_AGAIN);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                seen = lens.next() => {
                    let Some(seen) = seen else { return };
                    self.shown.send_replace(Some(seen));
                }
                _ = ticks.tick() => {
                    if !self.interest.holds(Instant::now()) || self.fence().await != fence {
                        return;
                    }
                }
            }
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
