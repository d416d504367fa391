//! The Lease of OCM's add-on manager: whether that manager acts on the add-ons that are its own.
//!
//! Decides by its own clock, like a candidate: a Lease is over when it has not changed for its whole duration since it was seen
//! to change. While it is not known who holds it, the manager counts as acting, and its add-ons are left alone. Watches one
//! object, so that a hub at rest is asked nothing, and never writes.

use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::identity::holder;
use crate::controllers::runtime::api_watch::{api_code, observe_object};
use crate::controllers::runtime::apply_error::root;
use crate::telemetry::{Holder, LeaseOf, Metrics};
use store::Fence;

/// How long a Lease lasts that does not say so: OCM's default.
const LASTS: Duration = Duration::from_secs(137);

/// Where OCM's add-on manager elects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockLease {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
}

/// What is known of the Lease.
#[derive(Debug, Default)]
struct ObservedLease {
    /// What it said last, since when, and when it is over.
    seen: Option<(LeaseSpec, Instant, Instant)>,
}

impl ObservedLease {
    /// Returns who holds the Lease at this moment.
    fn holder(&mut self, lease: Option<&Lease>, now: Instant) -> Holder {
        let Some(spec) = lease.and_then(|lease| lease.spec.clone()) else {
            self.seen = None;
            return Holder::Vacant;
        };
        let who = holder(spec.holder_identity.as_deref().unwrap_or_default());
        let lasts = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(LASTS, Duration::from_secs);
        let since = match &self.seen {
            Some((known, since, _)) if *known == spec => *since,
            Some(_) | None => now,
        };
        let over = since + lasts;
        self.seen = Some((spec, since, over));
        if now < over { who } else { Holder::Vacant }
    }

    /// Returns when the Lease is over, if that is still to come.
    fn over(&self) -> Option<Instant> {
        let (_, _, over) = self.seen.as_ref()?;
        (*over > Instant::now()).then_some(*over)
    }
}

/// Watches the Lease until shutdown is requested, and publishes whether another manager owns add-ons without the annotation.
pub(in crate::controllers) async fn watch_stock(
    client: Client,
    place: StockLease,
    told: watch::Sender<Fence>,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let leases: Api<Lease> = Api::namespaced(client, &place.namespace);
    let mut events = observe_object(leases, &place.name);
    metrics.modes().held(LeaseOf::Stock, Holder::Unknown);
    let mut telling = Telling {
        told,
        metrics,
        last: None,
    };
    let (mut sight, mut complained) = (ObservedLease::default(), false);
    let (mut lease, mut is_known): (Option<Lease>, bool) = (None, false);
    loop {
        let over = sight.over();
        let expired = async {
            match over {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let event = tokio::select! {
            () = stop.cancelled() => return,
            event = events.try_next() => event,
            () = expired => Ok(None),
        };
        match event {
            Ok(None) => {}
            Ok(Some(found)) => (lease, is_known, complained) = (found, true, false),
            Err(error) => {
                // A hub that does not answer takes no writes either; one that hides the Lease may hide that the manager acts.
                if api_code(&error) == Some(403) {
                    is_known = false;
                    telling.tell(Holder::Unknown, None);
                }
                if !std::mem::replace(&mut complained, true) {
                    warn!(
                        lease = %place.name, namespace = %place.namespace, error = %root(&error),
                        "cannot read the Lease of OCM's add-on manager; its add-ons are not managed"
                    );
                }
            }
        }
        if is_known {
            telling.tell(sight.holder(lease.as_ref(), Instant::now()), lease.as_ref());
        }
    }
}

fn fence(who: Holder) -> Fence {
    match who {
        Holder::Vacant => Fence::Open,
        Holder::Tidegate | Holder::Stock | Holder::Other | Holder::Unknown => Fence::Closed,
    }
}

/// Where the acting manager is published, and what was published last.
struct Telling {
    told: watch::Sender<Fence>,
    metrics: Metrics,
    last: Option<Holder>,
}

impl Telling {
    /// Publishes a change.
    fn tell(&mut self, who: Holder, lease: Option<&Lease>) {
        if self.last == Some(who) {
            return;
        }
        self.last = Some(who);
        self.metrics.modes().held(LeaseOf::Stock, who);
        let holder = lease
            .and_then(|lease| lease.spec.as_ref()?.holder_identity.as_deref())
            .unwrap_or_default();
        match who {
            Holder::Vacant => {
                info!("OCM's add-on manager does not hold its Lease; Tidegate manages its add-ons");
            }
            Holder::Tidegate | Holder::Stock | Holder::Other => warn!(
                holder,
                "OCM's add-on manager is active; Tidegate manages only add-ons with the annotation lifecycle=tidegate"
            ),
            Holder::Unknown => {}
        }
        self.told.send_replace(fence(who));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STOCK: &str = "hub-1_0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";

    fn lease(holder: &str, renewed: &str) -> Lease {
        let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 137, "renewTime": renewed});
        serde_json::from_value(json!({"metadata": {"name": "manager-lock"}, "spec": spec})).expect("a lease")
    }

    #[test]
    fn a_lease_that_has_not_changed_for_its_duration_does_not_fence() {
        let (mut sight, start) = (ObservedLease::default(), Instant::now());
        let (first, second) = (
            lease(STOCK, "2030-01-01T00:00:00.000000Z"),
            lease(STOCK, "2030-01-01T00:00:26.000000Z"),
        );
        let mut at =
            |lease: Option<&Lease>, seconds| sight.holder(lease, start + Duration::from_secs(seconds));
        assert_eq!(at(None, 0), Holder::Vacant);
        // Its own times are not believed, however old they are.
        assert_eq!(at(Some(&first), 1), Holder::Stock);
        assert_eq!(at(Some(&first), 137), Holder::Stock);
        assert_eq!(at(Some(&first), 138), Holder::Vacant);
        assert_eq!(at(Some(&second), 139), Holder::Stock, "it is renewed");
        assert_eq!(
            at(Some(&lease("", "2030-01-01T00:00:27.000000Z")), 140),
            Holder::Vacant
        );
        assert_eq!(
            at(Some(&lease("x", "2030-01-01T00:00:28.000000Z")), 141),
            Holder::Other
        );
    }
}
