//! The Lease of OCM's add-on manager: whether somebody else acts on the add-ons that are its.
//!
//! Decides by its own clock, like a candidate: a Lease is over when it has not changed for its whole duration since it was seen to
//! change. While it is not known, somebody acts: whoever does not know does not write. Reads one object, and never writes.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::identity::holder;
use crate::controllers::runtime::error_root::root;
use crate::snapshot::Fence;
use crate::telemetry::{Holder, LeaseOf, Metrics};

/// How long a Lease lasts that does not say so: OCM's default.
const LASTS: Duration = Duration::from_secs(137);

/// Where OCM's add-on manager elects, and how often that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockLease {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// How often it is looked at.
    pub every: Duration,
}

/// What is known of the Lease.
#[derive(Debug, Default)]
struct Sight {
    /// What it said last, and since when.
    seen: Option<(LeaseSpec, Instant)>,
}

impl Sight {
    /// Returns who holds the Lease at this moment.
    fn holder(&mut self, lease: Option<&Lease>, now: Instant) -> Holder {
        let Some(spec) = lease.and_then(|lease| lease.spec.clone()) else {
            self.seen = None;
            return Holder::Nobody;
        };
        let who = holder(spec.holder_identity.as_deref().unwrap_or_default());
        let lasts = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(LASTS, Duration::from_secs);
        let since = match &self.seen {
            Some((known, since)) if *known == spec => *since,
            Some(_) | None => now,
        };
        self.seen = Some((spec, since));
        if now < since + lasts { who } else { Holder::Nobody }
    }
}

/// Looks at the Lease until the end is asked for, and tells whether add-ons without a mark are another's.
pub(in crate::controllers) async fn watch_stock(
    client: Client,
    place: StockLease,
    told: watch::Sender<Fence>,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let leases: Api<Lease> = Api::namespaced(client, &place.namespace);
    metrics.modes().held(LeaseOf::Stock, Holder::Unknown);
    let mut telling = Telling {
        told,
        metrics,
        last: None,
    };
    let (mut sight, mut complained) = (Sight::default(), false);
    loop {
        let asked = tokio::time::timeout(place.every * 5, leases.get_opt(&place.name));
        let answer = tokio::select! {
            () = stop.cancelled() => return,
            answer = asked => answer,
        };
        match answer {
            Ok(Ok(lease)) => {
                complained = false;
                telling.tell(sight.holder(lease.as_ref(), Instant::now()), lease.as_ref());
            }
            Ok(Err(error)) => {
                // A hub that does not answer takes no writes either; one that hides the Lease hides that somebody acts.
                if is_hidden(&error) {
                    telling.tell(Holder::Unknown, None);
                }
                if !std::mem::replace(&mut complained, true) {
                    warn!(
                        lease = %place.name, namespace = %place.namespace, error = %root(&error),
                        "cannot read the lease of OCM's add-on manager; who may not leaves its add-ons alone"
                    );
                }
            }
            Err(_) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(place.every) => {}
        }
    }
}

fn is_hidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

fn fence(who: Holder) -> Fence {
    match who {
        Holder::Nobody => Fence::Open,
        Holder::Tidegate | Holder::Stock | Holder::Other | Holder::Unknown => Fence::Closed,
    }
}

/// Where it is told who acts, and what was told last.
struct Telling {
    told: watch::Sender<Fence>,
    metrics: Metrics,
    last: Option<Holder>,
}

impl Telling {
    /// Tells what has changed.
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
            Holder::Nobody => {
                info!("nobody holds the lease of OCM's add-on manager; its add-ons are managed here");
            }
            Holder::Tidegate | Holder::Stock | Holder::Other => warn!(
                holder,
                "OCM's add-on manager is at work; add-ons without the annotation lifecycle=tidegate are left to it"
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
    fn a_lease_that_has_not_changed_for_its_duration_fences_nobody() {
        let (mut sight, start) = (Sight::default(), Instant::now());
        let (first, second) = (
            lease(STOCK, "2030-01-01T00:00:00.000000Z"),
            lease(STOCK, "2030-01-01T00:00:26.000000Z"),
        );
        let mut at =
            |lease: Option<&Lease>, seconds| sight.holder(lease, start + Duration::from_secs(seconds));
        assert_eq!(at(None, 0), Holder::Nobody);
        // Its own times are not believed, however old they are.
        assert_eq!(at(Some(&first), 1), Holder::Stock);
        assert_eq!(at(Some(&first), 137), Holder::Stock);
        assert_eq!(at(Some(&first), 138), Holder::Nobody);
        assert_eq!(at(Some(&second), 139), Holder::Stock, "it is renewed");
        assert_eq!(
            at(Some(&lease("", "2030-01-01T00:00:27.000000Z")), 140),
            Holder::Nobody
        );
        assert_eq!(
            at(Some(&lease("x", "2030-01-01T00:00:28.000000Z")), 141),
            Holder::Other
        );
    }
}
