//! What is stored, and how long a write takes, while the webhooks are slow, hang or do not exist.
//!
//! Tests only that a write ends, and with which result, but not that it is fast.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use admission::{Endpoint, Rulebook, configurations};
use devhub::TestHub;
use serde_json::{Value, json};
use tidegate::server::Authority;
use tokio::net::TcpListener;

use crate::hub::bypass::rig::{Rig, ask};
use crate::kit::hubs::hub;
use crate::kit::policies;

/// How long a slow machine may take for anything.
const PATIENCE: Duration = Duration::from_mins(5);

fn addon(name: &str, soak: &str) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn", "metadata": {"name": name},
        "spec": {"installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default",
            "rolloutStrategy": {"type": "All", "all": {"minSuccessTime": soak}}}]}}})
}

const ADDONS: &str = "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons";

/// Sends a write; returns its status, and how long it took.
async fn write(hub: &TestHub, method: &str, path: &str, body: &Value) -> (u16, Duration) {
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(
            "content-type",
            if method == "PATCH" {
                "application/merge-patch+json"
            } else {
                "application/json"
            },
        )
        .body(kube::client::Body::from(body))
        .expect("a request");
    let begun = Instant::now();
    let client = hub.client();
    let sent = tokio::time::timeout(PATIENCE, client.send(request)).await;
    let response = sent.expect("every write ends").expect("a response");
    (response.status().as_u16(), begun.elapsed())
}

/// Registers the webhooks at an address, with a timeout of so many seconds.
async fn register(hub: &TestHub, url: &str, seconds: u64) {
    let authority = Authority::generate().expect("an authority");
    for mut configuration in configurations(&Endpoint::Url(url.to_owned()), Some(authority.ca_pem())) {
        for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
            webhook["timeoutSeconds"] = json!(seconds);
        }
        hub.preload(&configuration).await.expect("a webhook");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_waits_for_a_webhook_that_hangs_and_not_for_one_that_refuses_connections() {
    let timeout = Duration::from_secs(1);
    // The system accepts connections, and nothing ever answers.
    let hanging = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let hangs_at = hanging.local_addr().expect("an address");
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let gone_at = gone.local_addr().expect("an address");
    drop(gone);
    for (address, hangs) in [(gone_at, false), (hangs_at, true)] {
        let hub = hub().await;
        register(&hub, &format!("https://{address}"), timeout.as_secs()).await;
        let at = format!("{ADDONS}/good");
        let waits = |calls: u32, took: Duration, what: &str| {
            assert!(!hangs || took >= timeout * calls, "{what}: {took:?}");
        };
        // `mutate`, then `guard` and `advice` together.
        let (status, took) = write(&hub, "POST", ADDONS, &addon("good", "5m")).await;
        assert_eq!(status, 201);
        waits(2, took, "a create");
        let (status, took) = write(&hub, "PATCH", &at, &json!({"metadata": {"labels": {"a": "b"}}})).await;
        assert_eq!(status, 200);
        waits(2, took, "a label");
        let (status, _) = write(&hub, "POST", ADDONS, &addon("bad", "banana")).await;
        assert_eq!(status, 500, "what may stop every add-on is not stored");
        let (status, took) = write(&hub, "DELETE", &at, &Value::Null).await;
        assert_eq!(status, 200);
        waits(1, took, "a deletion");
        hub.shutdown().await;
    }
}

/// Keeps every core busy until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        for _ in 0..cores {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(ends)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A rulebook with a policy that denies names, and others that take long.
fn rulebook() -> Rulebook {
    let policy = |name: &str, failure: &str, expression: &str| {
        let rules = json!([{"apiGroups": ["addon.open-cluster-management.io"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
            "resources": ["managedclusteraddons"]}]);
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": name}, "spec": {
            "failurePolicy": failure, "matchConstraints": {"resourceRules": rules},
            "validations": [{"id": "v", "expression": expression, "message": "forbidden"}]}})
    };
    let slow = "!has(object.spec.configs) || object.spec.configs.all(a, object.spec.configs.exists_one(b, b.name == a.name))";
    let documents = [
        policy(
            "zz-names",
            "Fail",
            "!object.metadata.name.startsWith('forbidden')",
        ),
        policy("slow", "Ignore", slow),
    ];
    policies::rulebook(&documents)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_policy_denies_is_not_stored_however_many_large_writes_come_at_once() {
    let gates = tokio::runtime::Runtime::new().expect("a runtime");
    let rig = Rig::with_gate_on(gates.handle()).await;
    rig.put_in_force(rulebook());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cluster1"}});
    rig.send(&ask("POST", "/api/v1/namespaces".to_owned(), &namespace))
        .await;
    rig.close_the_gate().await;
    let _load = Load::start();
    let path = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/cluster1/managedclusteraddons";
    let configs: Vec<Value> = (0..9000)
        .map(|n| json!({"group": "g", "resource": "r", "name": format!("n{n}"), "namespace": "x"}))
        .collect();
    for at_once in [8, 16, 32, 64] {
        let writes = (0..at_once).map(|n| {
            let object = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
                "metadata": {"name": format!("forbidden{n}"), "namespace": "cluster1"}, "spec": {"configs": configs}});
            let request = ask("POST", path.to_owned(), &object);
            let rig = &rig;
            async move { rig.send_once(&request).await.0 }
        });
        let all = futures::future::join_all(writes);
        let statuses = tokio::time::timeout(PATIENCE, all)
            .await
            .expect("every write ends");
        let stored = statuses.iter().filter(|status| **status < 300).count();
        assert_eq!(stored, 0, "{at_once} at once: {statuses:?}");
    }
    let (status, list) = rig.send(&ask("GET", path.to_owned(), &Value::Null)).await;
    assert_eq!((status, list["items"].as_array().map(Vec::len)), (200, Some(0)));
    rig.stop().await;
    gates.shutdown_background();
}
