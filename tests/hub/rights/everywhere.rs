//! If the role of a cluster is bound everywhere, a ValidatingAdmissionPolicy restricts the controllers to namespaces of clusters.

use devhub::TestHub;
use kube::Client;
use serde_json::{Value, json};

use super::manifests::objects;
use super::recorder::{Record, acting_as};
use super::{CONTROLLERS, EVERYTHING, RBAC, hub};
use crate::kit::hubs;
use crate::kit::waiting::eventually;

/// A hub where the role is bound everywhere and the policy is in force, which takes an API server a moment.
async fn bound_everywhere() -> (TestHub, Client) {
    let hub = hub(&EVERYTHING).await;
    hubs::load(&hub, objects("registration-everywhere-policy.yaml")).await;
    hubs::load(&hub, objects("registration-everywhere-binding.yaml")).await;
    let client = acting_as(CONTROLLERS, &hub.client(), &Record::default());
    let (path, probe) = (
        bindings("kube-system") + "?dryRun=All",
        binding("probe", &json!({})),
    );
    eventually("the policy is in force", || async {
        refusal(&client, "POST", &path, Some(&probe)).await.is_some()
    })
    .await;
    (hub, client)
}

/// Sends a request; returns the message of the denial.
async fn refusal(client: &Client, method: &str, path: &str, body: Option<&Value>) -> Option<String> {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let answer = client
        .request::<Value>(request.body(body).expect("a request"))
        .await;
    answer.err().map(|error| error.to_string())
}

fn binding(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": name, "labels": labels},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "hello-reader"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "agents"}]})
}

fn bindings(namespace: &str) -> String {
    format!("/apis/{RBAC}/v1/namespaces/{namespace}/rolebindings")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_confines_the_controllers_to_namespaces_of_clusters() {
    let (hub, client) = bound_everywhere().await;
    let one = binding("x", &json!({}));
    assert_eq!(
        refusal(&client, "POST", &bindings("c1"), Some(&one)).await,
        None,
        "in the namespace of a cluster"
    );
    for namespace in ["kube-system", "default", "tidegate"] {
        let refused = refusal(&client, "POST", &bindings(namespace), Some(&one)).await;
        let refused = refused.expect("elsewhere it is refused");
        assert!(
            refused.contains("only in namespaces of clusters"),
            "{namespace}: {refused}"
        );
    }
    if !hub.is_real() {
        // The dev hub has no admission of requests for tokens.
        return hub.shutdown().await;
    }
    let token =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
    for namespace in ["c1", "kube-system"] {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default/token");
        let refused = refusal(&client, "POST", &path, Some(&token)).await;
        assert!(refused.is_some(), "a token of {namespace}/default was given");
    }
    hub.shutdown().await;
}

/// Deletions, too: without an account or a binding in a namespace of the hub, what runs there does not go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_keeps_the_controllers_from_deleting_what_is_not_theirs() {
    let (hub, client) = bound_everywhere().await;
    let admin = hub.client();
    let account = |namespace: &str| format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    let made = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other"}});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "other"}, "rules": []});
    for namespace in ["kube-system", "open-cluster-management-hub", "c1"] {
        let roles = format!("/apis/{RBAC}/v1/namespaces/{namespace}/roles");
        let bound = binding("other", &json!({}));
        for (path, object) in [
            (account(namespace), &made),
            (roles, &role),
            (bindings(namespace), &bound),
        ] {
            assert_eq!(refusal(&admin, "POST", &path, Some(object)).await, None, "{path}");
            let refused = refusal(&client, "DELETE", &format!("{path}/other"), None).await;
            if namespace == "c1" {
                assert_eq!(refused, None, "{path}");
            } else {
                let refused = refused.unwrap_or_else(|| panic!("{path}/other was deleted"));
                assert!(refused.contains("namespaces of"), "{path}: {refused}");
            }
        }
    }
    // What Tidegate has made there goes: the namespace may have lost its label since.
    for label in [
        "tidegate.io/permission",
        "addon.open-cluster-management.io/token-infrastructure",
    ] {
        let own = binding("own", &json!({label: "x"}));
        let path = bindings("open-cluster-management-hub");
        assert_eq!(refusal(&admin, "POST", &path, Some(&own)).await, None);
        assert_eq!(
            refusal(&client, "DELETE", &format!("{path}/own"), None).await,
            None,
            "{label}"
        );
    }
    hub.shutdown().await;
}
