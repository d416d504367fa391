//! The server under test: a fresh hub for each scenario, or one running API server for all.
//!
//! Decides what exists before a scenario starts.

use std::{collections::BTreeMap, net::SocketAddr};

use devhub::{Authz, DevHub};
use serde_json::{Value, json};

use crate::{
    replay::{self, Pace, StepResult},
    scenario::{self, Scenario},
    wire::{Call, Client, Server},
};

/// Where scenarios are replayed.
#[derive(Debug)]
pub(crate) struct Target {
    /// A running server; without one every scenario gets a hub of its own.
    running: Option<Server>,
    definitions: Vec<Value>,
}

impl Target {
    /// Reads the environment.
    pub(crate) fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is needed, too"));
        let running = std::env::var("DEVHUB_GOLDEN_URL").ok().map(|url| {
            let ca_pem = std::fs::read_to_string(variable("DEVHUB_GOLDEN_CA")).expect("a readable CA file");
            server(&url, &variable("DEVHUB_GOLDEN_TOKEN"), ca_pem)
        });
        Self {
            running,
            definitions: definitions(),
        }
    }

    /// Returns how many scenarios may run at a time.
    pub(crate) fn width(&self) -> usize {
        if self.running.is_some() { 1 } else { 4 }
    }

    /// Replays one scenario.
    pub(crate) async fn replay(&self, scenario: &Scenario) -> Vec<StepResult> {
        if let Some(server) = &self.running {
            let mut client = Client::new(server.clone());
            clean(&mut client, server, &self.definitions).await;
            prepare(&mut client, server, &self.definitions, scenario).await;
            return replay::run(scenario, server, Pace::AsRecorded).await;
        }
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        // The recorded server ran without controllers.
        let builder = DevHub::builder()
            .bind(address)
            .token("golden-admin")
            .authz(Authz::Rbac)
            .without_controllers();
        let hub = builder.start().await.expect("a hub starts");
        let server = server(&hub.url(), hub.token(), hub.ca_pem().to_owned());
        prepare(
            &mut Client::new(server.clone()),
            &server,
            &self.definitions,
            scenario,
        )
        .await;
        let results = replay::run(scenario, &server, Pace::AtOnce).await;
        hub.shutdown().await;
        results
    }
}

fn server(url: &str, token: &str, ca_pem: String) -> Server {
    let url = url.trim_end_matches('/');
    let address = url.trim_start_matches("https://").to_owned();
    Server {
        url: url.to_owned(),
        address,
        token: token.to_owned(),
        ca_pem,
    }
}

/// Removes what an earlier scenario left on a shared server outside of its namespaces.
async fn clean(client: &mut Client, server: &Server, kept: &[Value]) {
    for path in [
        "/apis/dev.example.io/v1/gadgets",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    ] {
        send(client, server, "DELETE", path, None).await;
    }
    let kept: Vec<&Value> = kept
        .iter()
        .map(|definition| &definition["metadata"]["name"])
        .collect();
    let (_, list) = send(client, server, "GET", DEFINITIONS, None).await;
    for item in list["items"].as_array().into_iter().flatten() {
        let name = &item["metadata"]["name"];
        if !kept.contains(&name) {
            let path = format!("{DEFINITIONS}/{}", name.as_str().unwrap_or_default());
            send(client, server, "DELETE", &path, None).await;
        }
    }
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definitions() -> Vec<Value> {
    let folder = std::fs::read_dir(scenario::data().join("crds")).expect("the definitions are there");
    let mut paths: Vec<_> = folder
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    let read = |path| {
        serde_saphyr::from_str(&std::fs::read_to_string(path).expect("a readable file")).expect("YAML")
    };
    paths.into_iter().map(read).collect()
}

/// Makes the definitions, waits until they are served, and makes the namespaces of the scenario.
async fn prepare(client: &mut Client, server: &Server, definitions: &[Value], scenario: &Scenario) {
    for definition in definitions {
        send(client, server, "POST", DEFINITIONS, Some(definition)).await;
    }
    for definition in definitions {
        let path = format!(
            "{DEFINITIONS}/{}",
            definition["metadata"]["name"].as_str().unwrap_or_default()
        );
        wait_until_established(client, server, &path).await;
    }
    let name = &scenario.header.name;
    for namespace in &scenario.header.namespaces {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": namespace, "labels": { "golden": name } } });
        let (status, answer) = send(client, server, "POST", "/api/v1/namespaces", Some(&body)).await;
        assert!(
            status == 201,
            "namespace {namespace} of {name} cannot be made: {answer}"
        );
    }
}

async fn wait_until_established(client: &mut Client, server: &Server, path: &str) {
    for _ in 0..200 {
        let (_, definition) = send(client, server, "GET", path, None).await;
        let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
        let established =
            |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
        if conditions.is_some_and(|conditions| conditions.iter().any(established)) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{path} is not established");
}

async fn send(
    client: &mut Client,
    server: &Server,
    verb: &str,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let headers = BTreeMap::from(
        [
            ("host", server.address.clone()),
            ("authorization", format!("Bearer {}", server.token)),
            ("content-type", "application/json".to_owned()),
            // The recorder made its namespaces under this name, and owners show it.
            ("user-agent", "golden/1.0".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let body = body.map(|body| body.to_string().into_bytes());
    let call = Call {
        verb: verb.to_owned(),
        target: path.to_owned(),
        headers,
        body,
    };
    let reply = client
        .send(&call)
        .await
        .unwrap_or_else(|cause| panic!("{verb} {path}: {cause}"));
    (
        reply.status,
        serde_json::from_slice(&reply.body).unwrap_or_default(),
    )
}
