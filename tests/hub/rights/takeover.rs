//! Attacks on the hub with the token of each shipped account.
//!
//! Each attempt is a real request that must be denied.

use devhub::TestHub;
use kube::Client;
use serde_json::{Value, json};

use super::manifests::objects;
use super::recorder::{Record, acting_as};
use super::{CERTIFICATES, CONTROLLERS, EVERYTHING, GATE, OBSERVER, RBAC, bound_in, hub};
use crate::kit::hubs;
use crate::kit::manifests::documents;

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const KEYS: &str = "/api/v1/namespaces/tidegate/secrets/tidegate-record-keys";
const SECRET: &str = "/api/v1/namespaces/tidegate/secrets/tidegate-tls";
const TLS: &str = "/api/v1/namespaces/tidegate/secrets?fieldSelector=metadata.name%3Dtidegate-tls";

/// One request of an attacker.
struct Attempt {
    what: &'static str,
    method: &'static str,
    path: String,
    content: &'static str,
    body: Option<Value>,
    /// The accounts that need the right for their work.
    may: &'static [&'static str],
}

impl Attempt {
    fn new(what: &'static str, method: &'static str, path: impl Into<String>) -> Self {
        Self {
            what,
            method,
            path: path.into(),
            content: "application/json",
            body: None,
            may: &[],
        }
    }

    fn sends(self, body: Value) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    fn of_kind(self, content: &'static str) -> Self {
        Self { content, ..self }
    }

    fn granted_to(self, may: &'static [&'static str]) -> Self {
        Self { may, ..self }
    }
}

/// A webhook that sends every Secret and every binding of the hub to the attacker.
fn wiretap() -> Value {
    json!({"name": "x.attacker.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": ["", RBAC], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
            "resources": ["secrets", "clusterrolebindings"]}]})
}

fn of_webhooks() -> Vec<Attempt> {
    let mutate = format!("{ADMISSION}/mutatingwebhookconfigurations/tidegate-mutate");
    let guard = format!("{ADMISSION}/validatingwebhookconfigurations/tidegate-guard");
    let added = json!([{"op": "add", "path": "/webhooks/-", "value": wiretap()}]);
    let widened = json!([{"op": "replace", "path": "/webhooks/0/rules", "value": wiretap()["rules"]}]);
    let applied = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "tidegate-mutate"}, "webhooks": [wiretap()]});
    let patch = "application/json-patch+json";
    let mut own = applied.clone();
    own["metadata"]["name"] = json!("attacker");
    vec![
        Attempt::new("add a webhook to tidegate-mutate", "PATCH", &mutate)
            .of_kind(patch)
            .sends(added.clone())
            .granted_to(&[CERTIFICATES]),
        Attempt::new("add a webhook to tidegate-guard", "PATCH", guard)
            .of_kind(patch)
            .sends(added)
            .granted_to(&[CERTIFICATES]),
        Attempt::new("change the rules of tidegate-mutate", "PATCH", &mutate)
            .of_kind(patch)
            .sends(widened)
            .granted_to(&[CERTIFICATES]),
        Attempt::new(
            "apply a webhook to tidegate-mutate",
            "PATCH",
            format!("{mutate}?fieldManager=attacker&force=true"),
        )
        .of_kind("application/apply-patch+yaml")
        .sends(applied)
        .granted_to(&[CERTIFICATES]),
        Attempt::new("delete tidegate-mutate", "DELETE", mutate),
        Attempt::new(
            "register a webhook",
            "POST",
            format!("{ADMISSION}/mutatingwebhookconfigurations"),
        )
        .sends(own),
        Attempt::new(
            "convert add-ons elsewhere",
            "PATCH",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustermanagementaddons.addon.open-cluster-management.io",
        )
        .of_kind("application/merge-patch+json")
        .sends(json!({"metadata": {"labels": {"attacked": "true"}}}))
        .granted_to(&[CERTIFICATES]),
    ]
}

fn of_secrets() -> Vec<Attempt> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tidegate-tls", "namespace": "tidegate"}});
    let token = |namespace: &str, name: &str| {
        Attempt::new(
            "create a token",
            "POST",
            format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"),
        )
        .sends(json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}))
    };
    vec![
        Attempt::new("get the certificate's Secret", "GET", SECRET),
        Attempt::new("list the certificate's Secret", "GET", TLS).granted_to(&[CERTIFICATES, GATE]),
        Attempt::new("write the certificate's Secret", "PUT", SECRET)
            .sends(secret.clone())
            .granted_to(&[CERTIFICATES]),
        Attempt::new("get the keys of records", "GET", KEYS),
        Attempt::new("write the keys of records", "PUT", KEYS)
            .sends(json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "tidegate-record-keys", "namespace": "tidegate"}}))
            .granted_to(&[GATE]),
        Attempt::new("list Secrets", "GET", "/api/v1/namespaces/kube-system/secrets"),
        Attempt::new("list all Secrets", "GET", "/api/v1/secrets"),
        Attempt::new("create a Secret", "POST", "/api/v1/namespaces/tidegate/secrets").sends(secret),
        token("kube-system", "default"),
        token("tidegate", CERTIFICATES),
        token("tidegate", CONTROLLERS),
    ]
}

fn of_roles() -> Vec<Attempt> {
    let binding = |kind: &str, namespace: Option<&str>| {
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": {"name": "attacker", "namespace": namespace},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": CONTROLLERS, "namespace": "tidegate"}]})
    };
    let everything = json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "attacker", "namespace": "tidegate"},
        "spec": {"serviceAccountName": CERTIFICATES, "containers": [{"name": "x", "image": "x"}]}});
    let rbac = |path: &str| format!("/apis/{RBAC}/v1/{path}");
    let merge = "application/merge-patch+json";
    vec![
        Attempt::new("bind cluster-admin", "POST", rbac("clusterrolebindings"))
            .sends(binding("ClusterRoleBinding", None)),
        Attempt::new(
            "bind cluster-admin in kube-system",
            "POST",
            rbac("namespaces/kube-system/rolebindings"),
        )
        .sends(binding("RoleBinding", Some("kube-system"))),
        Attempt::new(
            "bind cluster-admin in a cluster's namespace",
            "POST",
            rbac("namespaces/c1/rolebindings"),
        )
        .sends(binding("RoleBinding", Some("c1"))),
        Attempt::new(
            "join the binding of the certificates",
            "PATCH",
            rbac("clusterrolebindings/tidegate-certificates"),
        )
        .of_kind(merge)
        .sends(json!({"subjects": binding("", None)["subjects"]})),
        Attempt::new(
            "widen the own role",
            "PATCH",
            rbac("clusterroles/tidegate-controllers"),
        )
        .of_kind(merge)
        .sends(everything.clone()),
        Attempt::new(
            "widen the role that is bound in clusters",
            "PATCH",
            rbac("clusterroles/tidegate-cluster"),
        )
        .of_kind(merge)
        .sends(everything),
        Attempt::new(
            "delete an account of Kubernetes",
            "DELETE",
            "/api/v1/namespaces/kube-system/serviceaccounts/default",
        ),
        Attempt::new(
            "run as another account",
            "POST",
            "/api/v1/namespaces/tidegate/pods",
        )
        .sends(pod),
    ]
}

/// Sends an attempt; returns what the hub refused it with, if it did.
async fn refused(client: &Client, attempt: &Attempt) -> Option<String> {
    let request = http::Request::builder()
        .method(attempt.method)
        .uri(&attempt.path)
        .header("content-type", attempt.content);
    let body = attempt.body.as_ref().map(|body| body.to_string().into_bytes());
    let request = request.body(body.unwrap_or_default()).expect("a request");
    let error = client.request::<Value>(request).await.err()?;
    let is_forbidden = matches!(&error, kube::Error::Api(status) if status.code == 403);
    assert!(
        is_forbidden,
        "{}: neither done nor forbidden: {error}",
        attempt.what
    );
    Some(error.to_string())
}

async fn attacked() -> TestHub {
    let hub = hub(&EVERYTHING).await;
    let mut stored = vec![bound_in("c1")];
    stored.extend(documents("manifests/deploy/components/self-managed/secret.yaml"));
    stored.extend(documents("manifests/deploy/gate/secret.yaml"));
    stored.extend(documents("manifests/deploy/webhooks/base/webhooks.yaml"));
    hubs::load(&hub, stored).await;
    hub
}

/// What an account achieves that it has no need of, and what it cannot do that it needs.
async fn wrong(hub: &TestHub, account: &str) -> Vec<String> {
    let client = acting_as(account, &hub.client(), &Record::default());
    let mut wrong = Vec::new();
    for attempt in [of_webhooks(), of_secrets(), of_roles()].into_iter().flatten() {
        let refused = refused(&client, &attempt).await;
        let may = attempt.may.contains(&account);
        match (&refused, may) {
            (None, false) => wrong.push(format!("{account} can {} ({})", attempt.what, attempt.path)),
            (Some(why), true) => wrong.push(format!("{account} cannot {}: {why}", attempt.what)),
            (None, true) | (Some(_), false) => {}
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn no_account_but_that_of_the_certificates_reaches_the_webhooks_and_none_the_rest() {
    // The account of the certificates last: it can change the webhooks, which shows that the attempts are put rightly.
    let hub = attacked().await;
    let mut all = Vec::new();
    for account in [GATE, OBSERVER, CONTROLLERS, CERTIFICATES] {
        all.extend(wrong(&hub, account).await);
    }
    assert!(all.is_empty(), "{all:#?}");
    hub.shutdown().await;
}

/// `kubectl apply` deletes nothing that a new version has no more: what moves to another account keeps the name of its binding.
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_takes_the_old_right_away() {
    let hub = attacked().await;
    let admin = hub.client();
    let apply = |mut binding: Value, account: &'static str| {
        let client = admin.clone();
        async move {
            binding["subjects"][0]["name"] = json!(account);
            let metadata = &binding["metadata"];
            let name = metadata["name"].as_str().expect("a name");
            let place = match metadata["namespace"].as_str() {
                Some(namespace) => format!("namespaces/{namespace}/rolebindings"),
                None => "clusterrolebindings".to_owned(),
            };
            let path = format!("/apis/{RBAC}/v1/{place}/{name}?fieldManager=kubectl&force=true");
            let attempt = Attempt::new("apply", "PATCH", path)
                .of_kind("application/apply-patch+yaml")
                .sends(binding.clone());
            assert_eq!(refused(&client, &attempt).await, None);
        }
    };
    let mut all = objects("certificates.yaml");
    all.extend(objects("certificates-conversion.yaml"));
    all.retain(|object| {
        object["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("Binding"))
            && object["subjects"][0]["name"] == CERTIFICATES
    });
    assert_eq!(all.len(), 3, "{all:#?}");
    for binding in all.clone() {
        apply(binding, CONTROLLERS).await;
    }
    assert!(!wrong(&hub, CONTROLLERS).await.is_empty(), "as it was before");
    for binding in all {
        apply(binding, CERTIFICATES).await;
    }
    let found = wrong(&hub, CONTROLLERS).await;
    assert!(found.is_empty(), "{found:#?}");
    hub.shutdown().await;
}

/// One process has the rights of both halves, and none of the certificates while those have an account of their own.
#[tokio::test(flavor = "multi_thread")]
async fn one_process_with_certificates_from_elsewhere_reaches_no_more() {
    let hub = attacked().await;
    hubs::load(&hub, objects("one-process.yaml")).await;
    let found = wrong(&hub, CONTROLLERS).await;
    let of_the_gate = "tidegate-controllers can write the keys of records";
    assert!(
        found.len() == 1 && found[0].starts_with(of_the_gate),
        "{found:#?}"
    );
    hub.shutdown().await;
}
