//! Setup of tests with controllers: a hub with our CRDs, simulated clusters, and running controllers.
//!
//! The hub is the dev hub, or with `KUBEBUILDER_ASSETS` a real kube-apiserver with its etcd.

use std::time::Duration;

use api::v1alpha1::ManagedClusterAddOn;
use devhub::{DevHub, TestHub};
use kube::Client;
use serde_json::Value;
use spokes::{Faults, Fleet, FleetOptions};
use tidegate::controllers::{Tide, TideOptions};

/// Returns our definitions as they are sent to a hub.
pub(crate) fn definitions() -> Vec<Value> {
    let crds = api::crds().into_iter();
    crds.map(|crd| serde_json::to_value(crd).expect("a CRD is JSON"))
        .collect()
}

/// Starts a hub with our definitions.
pub(crate) async fn hub() -> TestHub {
    hub_with(definitions()).await
}

/// Starts a hub with these definitions.
pub(crate) async fn hub_with(definitions: Vec<Value>) -> TestHub {
    let builder = definitions
        .into_iter()
        .fold(DevHub::builder(), devhub::Builder::crd);
    TestHub::of(builder).await.expect("the hub starts")
}

/// Returns whether hubs are real ones, which are slower.
pub(crate) fn is_real() -> bool {
    let assets = std::env::var_os("KUBEBUILDER_ASSETS");
    assets.is_some_and(|folder| !folder.is_empty())
}

/// Returns whether the hub is too old for a feature, and prints it.
#[expect(clippy::print_stderr, reason = "what a test leaves out is said")]
pub(crate) async fn lacks(hub: &TestHub, what: &str, since: u32) -> bool {
    let minor = hub.minor().await.expect("a version");
    if minor < since {
        eprintln!("left out: {what} came with 1.{since}, this is 1.{minor}");
    }
    minor < since
}

/// Starts simulated clusters, some of which may misbehave.
pub(crate) async fn fleet(client: Client, clusters: usize, faults: &[&str]) -> Fleet {
    let options = FleetOptions {
        clusters,
        faults: Faults::parse(faults).expect("faults"),
        ..FleetOptions::default()
    };
    Fleet::start(client, options).await.expect("the fleet starts")
}

/// The most time that reading a hub takes; with a missing permission it never ends.
const MOST_TO_READ: Duration = Duration::from_mins(1);

/// Starts the controllers, and waits until they have read the hub.
pub(crate) async fn tide(client: Client, options: TideOptions) -> Tide {
    let tide = Tide::start(client, options).await.expect("the controllers start");
    let synced = tokio::time::timeout(MOST_TO_READ, tide.synced()).await;
    let unread = tide.facts().load().unread();
    assert!(
        synced.is_ok(),
        "the hub was not read within {MOST_TO_READ:?}; is there a right missing? Unread: {unread:?}"
    );
    tide
}

/// Stores objects, which pass admission like those of any client.
pub(crate) async fn load(hub: &TestHub, objects: impl IntoIterator<Item = Value>) {
    for object in objects {
        hub.preload(&object).await.expect("an object is accepted");
    }
}

/// Returns reason, status and message of a condition; empty when it is absent.
pub(crate) fn condition(instance: &ManagedClusterAddOn, kind: &str) -> String {
    let status = instance.status.clone().unwrap_or_default();
    let found = status.conditions.iter().find(|condition| condition.type_ == kind);
    found
        .map(|found| format!("{} {} {}", found.reason, found.status, found.message))
        .unwrap_or_default()
}
