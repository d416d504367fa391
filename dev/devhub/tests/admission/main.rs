//! The webhook chain against a real HTTPS webhook: the scene that the tests share.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]

mod calls;
mod failures;
#[path = "../golden/hook/mod.rs"]
mod hook;
mod matching;

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use devhub::{
    ApiError,
    admission::{Attributes, Chain, Hooks, Kind, Operation, Services, UserInfo, Warnings},
};
use serde_json::{Value, json};

use hook::Hook;

/// A webhook server and a chain with hooks that point to it.
struct Scene {
    server: Hook,
    chain: Chain,
}

impl Scene {
    /// `hooks` are actions of the webhook with further members of the hook.
    async fn new(mutating: &[(&str, Value)], validating: &[(&str, Value)]) -> Self {
        let server = Hook::start().await;
        let chain = Chain::new();
        let services = Services::default().with("default", "hook", server.address);
        let configuration = |phase: &str, hooks: &[(&str, Value)]| {
            let webhooks: Vec<Value> = hooks
                .iter()
                .map(|(action, members)| written(&server, phase, action, members))
                .collect();
            json!({ "metadata": { "name": "hooks" }, "webhooks": webhooks })
        };
        let (mutating, validating) = (configuration("m", mutating), configuration("v", validating));
        chain.install(Hooks::from_objects(&[mutating], &[validating], &services));
        Self { server, chain }
    }

    async fn mutate(
        &self,
        request: &Attributes,
        object: Value,
    ) -> (Result<Option<Value>, ApiError>, Vec<String>) {
        let mut warnings = Warnings::new();
        let result = self
            .chain
            .mutate(request, Some(object), &|_| {}, &mut warnings)
            .await;
        (result, warnings.texts())
    }

    async fn validate(&self, request: &Attributes, object: &Value) -> (Result<(), ApiError>, Vec<String>) {
        let mut warnings = Warnings::new();
        let result = self.chain.validate(request, Some(object), &mut warnings).await;
        (result, warnings.texts())
    }

    fn called(&self) -> Vec<String> {
        self.server
            .take_calls()
            .into_iter()
            .map(|call| call.path)
            .collect()
    }
}

fn written(server: &Hook, phase: &str, action: &str, members: &Value) -> Value {
    let mut hook = json!({
        "name": format!("{}.example.io", action.replace('/', "-")),
        "clientConfig": { "url": format!("{}/{phase}/{action}", server.url()), "caBundle": STANDARD.encode(&server.ca_pem) },
        "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"] }],
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
    });
    for (name, member) in members.as_object().into_iter().flatten() {
        hook[name] = member.clone();
    }
    hook
}

fn create() -> Attributes {
    Attributes {
        operation: Operation::Create,
        group: "dev.example.io".to_owned(),
        version: "v1".to_owned(),
        resource: "widgets".to_owned(),
        subresource: String::new(),
        kind: Kind {
            group: "dev.example.io".to_owned(),
            version: "v1".to_owned(),
            kind: "Widget".to_owned(),
        },
        name: "w".to_owned(),
        namespace: "ns".to_owned(),
        namespace_labels: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
        user: UserInfo {
            name: "admin".to_owned(),
            uid: "admin-uid".to_owned(),
            groups: vec!["system:masters".to_owned()],
            extra: BTreeMap::new(),
        },
        old_object: None,
        options: json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" }),
        dry_run: false,
        equivalent_versions: vec!["v2".to_owned()],
        conversion: None,
        context: None,
    }
}

fn widget() -> Value {
    json!({ "apiVersion": "dev.example.io/v1", "kind": "Widget", "metadata": { "name": "w", "labels": { "hook": "yes" } },
        "spec": { "size": 1 } })
}

fn none() -> Value {
    json!({})
}
