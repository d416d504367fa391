//! A hub with webhooks over TLS, as in a cluster. Requests are sent byte by byte as given.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use admission::{BREAK_GLASS, Endpoint, Facts, Rulebook, backstop, configurations};
use arc_swap::ArcSwap;
use base64::Engine as _;
use devhub::{DevHub, TestHub};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tidegate::server::{Authority, Gate, GateOptions};
use tidegate::telemetry::Metrics;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::cases::Case;
use crate::kit::asked::resource;

/// The other version in which our kinds are served here.
pub(crate) const OTHER: &str = "v1beta1";
/// How often a request is retried after a timeout.
const TRIES: usize = 3;

/// Group of the kinds that are served in the other version.
pub(crate) const ADDONS: &str = "addon.open-cluster-management.io";

pub(crate) struct Rig {
    hub: TestHub,
    client: Client,
    client_once: Client,
    gate: Gate,
    authority: Authority,
    facts: Arc<ArcSwap<Facts>>,
    rulebook: Arc<ArcSwap<Rulebook>>,
    namespaces: Mutex<BTreeSet<String>>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) content: &'static str,
    pub(crate) body: String,
}

/// Our definitions, each served in another version as well.
fn definitions() -> Vec<Value> {
    let all = api::crds().into_iter();
    all.map(|crd| {
        let mut crd = serde_json::to_value(crd).expect("a CRD is JSON");
        let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
        if versions.len() == 1 && versions[0]["name"] == "v1alpha1" {
            let mut other = versions[0].clone();
            other["name"] = json!(OTHER);
            other["storage"] = json!(false);
            versions.push(other);
        }
        crd
    })
    .collect()
}

impl Rig {
    pub(crate) async fn start() -> Self {
        Self::with_gate_on(&Handle::current()).await
    }

    /// The same with the gate on another runtime, as another process would be.
    pub(crate) async fn with_gate_on(runtime: &Handle) -> Self {
        Self::of(definitions(), runtime).await
    }

    /// The same with other definitions; those that are converted by a webhook are converted by the gate.
    pub(crate) async fn with_definitions(definitions: Vec<Value>) -> Self {
        let rig = Self::of(definitions.clone(), &Handle::current()).await;
        let (url, bundle) = (
            format!("https://{}/convert", rig.gate.address()),
            rig.authority.ca_pem(),
        );
        let bundle = base64::engine::general_purpose::STANDARD.encode(bundle);
        for mut crd in definitions {
            if crd["spec"]["conversion"]["strategy"] == "Webhook" {
                crd["spec"]["conversion"]["webhook"]["clientConfig"] =
                    json!({"url": url, "caBundle": bundle});
                rig.hub.preload(&crd).await.expect("a definition");
            }
        }
        rig
    }

    async fn of(definitions: Vec<Value>, runtime: &Handle) -> Self {
        let builder = definitions
            .into_iter()
            .fold(DevHub::builder(), devhub::Builder::crd);
        let hub = TestHub::of(builder).await.expect("the hub starts");
        let authority = Authority::generate().expect("an authority");
        let certificate = authority
            .issue(["127.0.0.1"])
            .expect("a certificate")
            .certificate()
            .clone();
        let facts = Arc::new(ArcSwap::from_pointee(Facts::default()));
        let rulebook = Arc::new(ArcSwap::from_pointee(Rulebook::default()));
        let options = GateOptions {
            metrics: Metrics::default(),
            name: None,
            callers: tidegate::server::Callers::default(),
            health: tidegate::server::Health::default(),
            witness: None,
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            certificate,
            facts: Arc::clone(&facts),
            rulebook: Arc::clone(&rulebook),
        };
        let gate = runtime.spawn(async { Gate::start(options).await }).await;
        let gate = gate.expect("no panic").expect("the gate starts");
        Self {
            client: hub.client(),
            client_once: client_without_retries(&hub),
            hub,
            gate,
            authority,
            facts,
            rulebook,
            namespaces: Mutex::default(),
        }
    }

    pub(crate) async fn stop(self) {
        self.hub.shutdown().await;
        self.gate.shutdown().await;
    }

    /// Puts the webhooks in force; until then the gate is not asked.
    pub(crate) async fn close_the_gate(&self) {
        let endpoint = Endpoint::Url(format!("https://{}", self.gate.address()));
        for configuration in configurations(&endpoint, Some(self.authority.ca_pem())) {
            self.hub.preload(&configuration).await.expect("a webhook");
        }
        // A real API server takes a moment until it asks.
        if self.hub.is_real() {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        }
    }

    /// Puts the policies in force that the API server evaluates itself; the gate is not asked.
    pub(crate) async fn raise_the_backstop(&self) {
        for one in backstop() {
            for object in [&one.policy, &one.binding] {
                self.hub.preload(object).await.expect("a policy");
            }
        }
        // A real API server takes a moment until it has them.
        if self.hub.is_real() {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        }
    }

    /// Makes the world what a case needs it to be, with nothing stored of the kind.
    pub(crate) async fn enter(&self, case: &Case) {
        self.facts.store(Arc::clone(&case.facts));
        self.rulebook.store(Arc::clone(&case.rulebook));
        if let Some(namespace) = case.denied["metadata"]["namespace"].as_str() {
            let mut known = self.namespaces.lock().await;
            if known.insert(namespace.to_owned()) {
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                self.send(&ask("POST", "/api/v1/namespaces".to_owned(), &body))
                    .await;
            }
        }
    }

    /// Puts other rules and policies in force.
    pub(crate) fn put_in_force(&self, rulebook: Rulebook) {
        self.rulebook.store(Arc::new(rulebook));
    }

    /// Sends a request once, whatever the answer; returns the status and what came back.
    pub(crate) async fn send_once(&self, ask: &Ask) -> (u16, Value) {
        self.transmit_once(&self.client_once, ask, false).await
    }

    /// Sends a request; returns the status and what came back.
    pub(crate) async fn send(&self, ask: &Ask) -> (u16, Value) {
        self.transmit(ask, false).await
    }

    /// The same past the gate.
    pub(crate) async fn send_past(&self, ask: &Ask) -> (u16, Value) {
        self.transmit(ask, true).await
    }

    /// Sends a request, again as long as the gate asks for it: one that had no time to judge has not said what it thinks.
    async fn transmit(&self, ask: &Ask, past: bool) -> (u16, Value) {
        let mut answer = self.transmit_once(&self.client, ask, past).await;
        for _ in 0..TRIES {
            if !(answer.0 == 504 && answer.1["details"]["retryAfterSeconds"].is_u64()) {
                break;
            }
            answer = self.transmit_once(&self.client, ask, past).await;
        }
        answer
    }

    async fn transmit_once(&self, client: &Client, ask: &Ask, past: bool) -> (u16, Value) {
        let mut request = http::Request::builder()
            .method(ask.method)
            .uri(&ask.path)
            .header("content-type", ask.content)
            .header("accept", "application/json");
        if past {
            request = request
                .header("impersonate-user", "user")
                .header("impersonate-group", BREAK_GLASS)
                .header("impersonate-group", "system:masters");
        }
        let request = request
            .body(Body::from(ask.body.clone().into_bytes()))
            .expect("a request");
        let response = match client.send(request).await {
            Ok(response) => response,
            Err(error) => {
                // kube-apiserver 1.36 closes the connection when a custom resource comes as protobuf: it stores nothing.
                assert!(self.hub.is_real(), "no response: {error:?}");
                return (0, json!(error.to_string()));
            }
        };
        let status = response.status().as_u16();
        let bytes = response
            .into_body()
            .collect()
            .await
            .expect("a whole body")
            .to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Returns everything that is stored of the kind of a case, where the case is.
    pub(crate) async fn stored(&self, case: &Case) -> Vec<Value> {
        let (status, list) = self
            .send(&ask("GET", collection(&case.denied, "v1alpha1"), &Value::Null))
            .await;
        assert_eq!(status, 200, "{list}");
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let dressed = items.into_iter().map(|mut item| {
            item["apiVersion"] = case.denied["apiVersion"].clone();
            item["kind"] = case.denied["kind"].clone();
            item
        });
        dressed.collect()
    }

    /// Removes everything of the kind of a case, past the gate.
    pub(crate) async fn clean(&self, case: &Case) {
        for item in self.stored(case).await {
            let path = address(&item, "v1alpha1");
            self.send_past(&ask("DELETE", path.clone(), &Value::Null)).await;
            if item["metadata"]["finalizers"].is_array() {
                let mut free = ask("PATCH", path, &json!({"metadata": {"finalizers": null}}));
                free.content = "application/merge-patch+json";
                self.send_past(&free).await;
            }
        }
        let left = self.stored(case).await;
        assert!(left.is_empty(), "the ground is clean: {left:?}");
    }
}

/// Returns a client that sends each request once: that of a real hub otherwise repeats one that is answered 429, 503 or 504 up to 15 times,
/// for minutes.
fn client_without_retries(hub: &TestHub) -> Client {
    if !hub.is_real() {
        return hub.client();
    }
    let mut config = hub.config();
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

pub(crate) fn ask(method: &'static str, path: String, body: &Value) -> Ask {
    Ask {
        method,
        path,
        content: "application/json",
        body: if body.is_null() {
            String::new()
        } else {
            body.to_string()
        },
    }
}

/// Returns where objects like this one are.
pub(crate) fn collection(object: &Value, version: &str) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (group, own) = text("/apiVersion").split_once('/').unwrap_or_default();
    // Only the kinds of add-ons are served in two versions.
    let version = if group == ADDONS { version } else { own };
    let plural = resource(group, text("/kind"));
    match object.pointer("/metadata/namespace").and_then(Value::as_str) {
        Some(namespace) => format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/apis/{group}/{version}/{plural}"),
    }
}

/// Returns where this object is.
pub(crate) fn address(object: &Value, version: &str) -> String {
    let name = object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    format!("{}/{name}", collection(object, version))
}
