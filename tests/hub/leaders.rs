//! Several replicas on one hub: one writes, the others are ready; a leader that leaves or is killed is replaced by another.

use std::time::Duration;

use api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use devhub::TestHub;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate::controllers::{ElectionOptions, Pace, Tide, TideOptions};

use crate::kit::{hubs, waiting};

/// Fast enough for a test, with the same order as in production.
const PACE: Pace = Pace {
    lease: Duration::from_secs(8),
    renew_within: Duration::from_secs(6),
    retry: Duration::from_millis(100),
};

async fn replica(client: Client, identity: &str) -> Tide {
    let election = ElectionOptions {
        namespace: "default".to_owned(),
        name: "leader".to_owned(),
        identity: identity.to_owned(),
        pace: PACE,
    };
    let options = TideOptions {
        election: Some(election),
        ..TideOptions::default()
    };
    hubs::tide(client, options).await
}

async fn hub() -> TestHub {
    let hub = hubs::hub().await;
    hubs::load(&hub, objects()).await;
    hub
}

/// Two clusters that a label selector gives the add-ons `one` and later `two`.
fn objects() -> Vec<Value> {
    let cluster = |name: &str| {
        [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                "metadata": {"name": name, "labels": {"env": "prod"}}, "spec": {"hubAcceptsClient": true}}),
        ]
    };
    ["c1", "c2"].into_iter().flat_map(cluster).collect()
}

async fn give(client: &Client, name: &str) {
    let addon = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": name}, "spec": {"installStrategy": {"type": "ClusterLabelSelector",
            "labelSelector": {"matchLabels": {"env": "prod"}}}}});
    let addon: ClusterManagementAddOn = serde_json::from_value(addon).expect("an add-on");
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    addons
        .create(&PostParams::default(), &addon)
        .await
        .expect("it is stored");
}

async fn is_there(client: &Client, name: &str) -> bool {
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(client.clone(), "c1");
    instances.get_opt(name).await.expect("an answer").is_some()
}

async fn is_installed(client: &Client, name: &str) -> bool {
    waiting::comes(|| is_there(client, name)).await
}

async fn holder(client: &Client) -> String {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let lease = leases.get("leader").await.expect("the lease");
    lease
        .spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default()
}

async fn leads(tide: &Tide) {
    let mut leading = tide.leading();
    tokio::time::timeout(Duration::from_mins(1), leading.wait_for(|leads| *leads))
        .await
        .expect("it leads in time")
        .expect("it lives");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_replica_writes_and_the_next_goes_on_where_it_left() {
    let hub = hub().await;
    let client = hub.client();
    let first = replica(hub.client(), "first").await;
    leads(&first).await;
    let second = replica(hub.client(), "second").await;
    give(&client, "one").await;
    assert!(is_installed(&client, "one").await);
    assert!(*first.leading().borrow() && !*second.leading().borrow());
    assert!(
        second.facts().load().is_complete(),
        "a follower answers admission"
    );

    // A leader that leaves gives the lease back: the next need not wait for its end.
    first.shutdown().await;
    assert_ne!(holder(&client).await, "first");
    leads(&second).await;
    give(&client, "two").await;
    assert!(is_installed(&client, "two").await);

    // A leader that dies is followed when its lease has ended.
    let third = replica(hub.client(), "third").await;
    assert!(!*third.leading().borrow());
    drop(second);
    give(&client, "three").await;
    leads(&third).await;
    assert_eq!(holder(&client).await, "third");
    assert!(is_installed(&client, "three").await);
    third.shutdown().await;
    assert_eq!(holder(&client).await, "");
    hub.shutdown().await;
}

/// Takes the Lease as soon as it has no holder, as another manager would that looks all the time; returns whether it ever did.
async fn another_manager(client: Client, end: tokio_util::sync::CancellationToken) -> bool {
    let leases: Api<Lease> = Api::namespaced(client, "default");
    while !end.is_cancelled() {
        let mut lease = leases.get("leader").await.expect("the lease");
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref().unwrap_or_default().is_empty() {
            spec.holder_identity = Some("hub-1_0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10".to_owned());
            let params = PostParams::default();
            if leases.replace("leader", &params, &lease).await.is_ok() {
                return true;
            }
        }
    }
    false
}

async fn is_next(client: &Client, identity: &str) {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    waiting::eventually("a replica waits", || async {
        let lease = leases.get_opt("leader-next").await.expect("an answer");
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        holder.as_deref() == Some(identity)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_leaves_hands_over_to_a_waiting_replica_directly() {
    let hub = hub().await;
    let client = hub.client();
    let first = replica(hub.client(), "first").await;
    leads(&first).await;
    let second = replica(hub.client(), "second").await;
    is_next(&client, "second").await;
    let end = tokio_util::sync::CancellationToken::new();
    let other = tokio::spawn(another_manager(hub.client(), end.clone()));
    first.shutdown().await;
    assert_eq!(holder(&client).await, "second");
    leads(&second).await;
    // The leader does not wait any more, so that the next replica can.
    let third = replica(hub.client(), "third").await;
    is_next(&client, "third").await;
    second.shutdown().await;
    assert_eq!(holder(&client).await, "third");
    leads(&third).await;
    assert!(!other.is_finished(), "another manager has led in between");
    // No replica waits: then another manager may take it.
    third.shutdown().await;
    let led = tokio::time::timeout(Duration::from_mins(1), other).await;
    assert!(led.expect("in time").expect("it lives"), "a free lease is taken");
    end.cancel();
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_without_a_leader() {
    let hub = hub().await;
    let client = hub.client();
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let held = json!({"metadata": {"name": "leader"}, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 3600}});
    let held: Lease = serde_json::from_value(held).expect("a lease");
    leases
        .create(&PostParams::default(), &held)
        .await
        .expect("it is stored");
    let tide = replica(hub.client(), "waiting").await;
    give(&client, "one").await;
    let absent = async || !is_there(&client, "one").await;
    assert!(
        waiting::stays(Duration::from_secs(3), absent).await,
        "a replica that does not lead has written"
    );
    tide.shutdown().await;
    assert_eq!(holder(&client).await, "other");
    hub.shutdown().await;
}
