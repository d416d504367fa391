//! Versions of custom resources and admission policies, as a client over TLS meets them, with a webhook over TLS.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]

mod conversion;
mod failures;
#[path = "../golden/hook/mod.rs"]
#[expect(
    dead_code,
    reason = "the webhook of the recorded scenarios can do more than these tests need"
)]
mod hook;
mod policies;
mod round_trip;
mod storage;

use base64::{Engine, engine::general_purpose::STANDARD};
use devhub::{Builder, DevHub};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use hook::{Hook, server::HookCall};

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/convs.conv.example.io";

/// A hub whose `Conv` has two versions between which a webhook converts.
struct Scene {
    _hub: DevHub,
    client: Client,
    webhook: Hook,
}

impl Scene {
    /// Starts a hub and a webhook; `v1` is stored. No controller watches objects, so every conversion is the test's own.
    async fn new() -> Self {
        Self::of(DevHub::builder().without_controllers()).await
    }

    async fn of(builder: Builder) -> Self {
        let webhook = Hook::start().await;
        let hub = builder
            .service("default", "hook", webhook.address)
            .crd(definition(&json!({
                "strategy": "Webhook",
                "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": client_config(&webhook, "ok") },
            })))
            .start()
            .await
            .expect("a hub starts");
        let client = Client::try_from(hub.config()).expect("a client");
        Self {
            _hub: hub,
            client,
            webhook,
        }
    }

    /// Lets the webhook answer as this action says.
    async fn converts(&self, action: &str) {
        let url = format!("{}/convert/{action}", self.webhook.url());
        let patch = json!({ "spec": { "conversion": { "webhook": { "clientConfig": { "url": url } } } } });
        self.patch(DEFINITION, &patch).await;
        self.webhook.take_calls();
    }

    async fn send(&self, verb: &str, target: &str, kind: &str, body: Option<&Value>) -> (u16, Value) {
        let (code, body, _) = self.exchange(verb, target, kind, body).await;
        (code, body)
    }

    /// Returns status, body and warnings.
    async fn exchange(
        &self,
        verb: &str,
        target: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> (u16, Value, Vec<String>) {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string().into_bytes()));
        let request = http::Request::builder()
            .method(verb)
            .uri(target)
            .header("content-type", kind)
            .body(body)
            .expect("a request");
        let answer = self.client.send(request).await.expect("an answer");
        let code = answer.status().as_u16();
        let warnings = answer.headers().get_all("warning");
        let warnings = warnings
            .iter()
            .map(|text| text.to_str().unwrap_or_default().to_owned());
        let warnings = warnings.collect();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default(), warnings)
    }

    #[track_caller]
    fn get<'a>(&'a self, target: &'a str) -> impl Future<Output = Value> + 'a {
        self.ok("GET", target, "application/json", None)
    }

    #[track_caller]
    fn create<'a>(&'a self, target: &'a str, body: &'a Value) -> impl Future<Output = Value> + 'a {
        self.ok("POST", target, "application/json", Some(body))
    }

    #[track_caller]
    fn put<'a>(&'a self, target: &'a str, body: &'a Value) -> impl Future<Output = Value> + 'a {
        self.ok("PUT", target, "application/json", Some(body))
    }

    #[track_caller]
    fn patch<'a>(&'a self, target: &'a str, body: &'a Value) -> impl Future<Output = Value> + 'a {
        self.ok("PATCH", target, "application/merge-patch+json", Some(body))
    }

    async fn ok(&self, verb: &str, target: &str, kind: &str, body: Option<&Value>) -> Value {
        let (code, answer) = self.send(verb, target, kind, body).await;
        assert!((200..300).contains(&code), "{verb} {target}: {answer}");
        answer
    }

    /// Returns the conversions since the last time: how many objects, and to which version.
    fn conversions(&self) -> Vec<(usize, String)> {
        let calls = self.webhook.take_calls();
        let conversions = calls.iter().filter(|call| call.path.starts_with("/convert/"));
        conversions.map(asked).collect()
    }
}

fn asked(call: &HookCall) -> (usize, String) {
    let request = &call.review["request"];
    let count = request["objects"].as_array().map_or(0, Vec::len);
    let version = request["desiredAPIVersion"].as_str().unwrap_or_default();
    (count, version.rsplit('/').next().unwrap_or_default().to_owned())
}

fn client_config(webhook: &Hook, action: &str) -> Value {
    json!({ "url": format!("{}/convert/{action}", webhook.url()), "caBundle": STANDARD.encode(&webhook.ca_pem) })
}

fn version(name: &str, stored: bool, fields: &Value) -> Value {
    json!({
        "name": name, "served": true, "storage": stored,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": { "type": "object", "properties": fields },
            "status": { "type": "object", "properties": { "replicas": { "type": "integer" }, "phase": { "type": "string" } } },
        } } },
        "subresources": { "status": {}, "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" } },
    })
}

fn definition(conversion: &Value) -> Value {
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let mut newer = version(
        "v2",
        false,
        &json!({ "host": text, "port": text, "replicas": number }),
    );
    newer["additionalPrinterColumns"] =
        json!([{ "name": "Host", "type": "string", "jsonPath": ".spec.host" }]);
    newer["selectableFields"] = json!([{ "jsonPath": ".spec.host" }]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "convs.conv.example.io" },
        "spec": {
            "group": "conv.example.io", "scope": "Namespaced", "names": { "plural": "convs", "kind": "Conv" },
            "versions": [version("v1", true, &json!({ "hostPort": text, "replicas": number })), newer],
            "conversion": conversion,
        },
    })
}

fn convs(version: &str) -> String {
    format!("/apis/conv.example.io/{version}/namespaces/default/convs")
}

fn conv(version: &str, name: &str) -> String {
    format!("{}/{name}", convs(version))
}

/// An object of the stored version.
fn old(name: &str, host_port: &str) -> Value {
    json!({ "apiVersion": "conv.example.io/v1", "kind": "Conv", "metadata": { "name": name }, "spec": { "hostPort": host_port } })
}

/// An object of the other version.
fn new(name: &str, host: &str, port: &str) -> Value {
    json!({ "apiVersion": "conv.example.io/v2", "kind": "Conv", "metadata": { "name": name }, "spec": { "host": host, "port": port } })
}
