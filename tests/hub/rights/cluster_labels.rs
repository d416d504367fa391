//! What an agent may write to its own ManagedCluster with the example policy: no labels, and no opt-out.

use serde_json::{Value, json};

use super::hub;
use super::manifests::objects;
use crate::kit::hubs;
use crate::kit::waiting::eventually;

const CLUSTER: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
const RBAC: &str = "rbac.authorization.k8s.io";

/// What Open Cluster Management grants an agent.
fn rights() -> [Value; 2] {
    let (api, metadata) = (format!("{RBAC}/v1"), json!({"name": "agent-of-c1"}));
    [
        json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": [{
            "apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters"],
            "resourceNames": ["c1"], "verbs": ["get", "update", "patch"]}]}),
        json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "agent-of-c1"},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "system:open-cluster-management:c1"}]}),
    ]
}

/// Changes the cluster, as its agent or as an administrator; returns the message of a denial.
async fn refusal(client: &kube::Client, by_agent: bool, metadata: &Value) -> Option<String> {
    refusal_at(client, CLUSTER, by_agent, metadata).await
}

async fn refusal_at(client: &kube::Client, path: &str, by_agent: bool, metadata: &Value) -> Option<String> {
    let mut request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
    if by_agent {
        request = request
            .header("impersonate-user", "system:open-cluster-management:c1:agent")
            .header("impersonate-group", "system:open-cluster-management:c1")
            .header("impersonate-group", "system:authenticated");
    }
    let body = json!({"metadata": metadata}).to_string().into_bytes();
    let answer = client
        .request::<Value>(request.body(body).expect("a request"))
        .await;
    answer.err().map(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_neither_selects_its_cluster_by_labels_nor_opts_it_out() {
    let hub = hub(&[]).await;
    let client = hub.client();
    let cluster = json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": "c1", "labels": {"tier": "dev", "region": "x"}}, "spec": {"hubAcceptsClient": true}});
    hubs::load(&hub, rights().into_iter().chain([cluster])).await;
    // Without the policy the agent may.
    let labels = |labels: Value| json!({ "labels": labels });
    assert_eq!(
        refusal(&client, true, &labels(json!({"tier": "prod"}))).await,
        None
    );
    assert_eq!(
        refusal(&client, false, &labels(json!({"tier": "dev"}))).await,
        None
    );

    hubs::load(&hub, objects("cluster-labels-policy.yaml")).await;
    // A real API server admits a change until it has read the policy. A dry run leaves the label as it is, so that every attempt changes it.
    let dry_run = format!("{CLUSTER}?dryRun=All");
    let probe = labels(json!({"tier": "probe"}));
    eventually("the policy is in force", || async {
        refusal_at(&client, &dry_run, true, &probe).await.is_some()
    })
    .await;
    let opt_out = json!({"annotations": {"tidegate.io/opt-out": "*"}});
    for (change, words) in [
        (labels(json!({"tier": "prod"})), "may not change the labels"),
        (labels(json!({"new": ""})), "may not change the labels"),
        (labels(json!({"region": null})), "may not change the labels"),
        (opt_out.clone(), "may not change tidegate.io/opt-out"),
    ] {
        let refused = refusal(&client, true, &change).await;
        assert!(
            refused.as_ref().is_some_and(|refused| refused.contains(words)),
            "{change}: {refused:?}"
        );
    }
    // What its agents do write, and what its administrators write.
    let claims = json!({"annotations": {"agent.open-cluster-management.io/x": "y"}});
    assert_eq!(refusal(&client, true, &claims).await, None);
    let set = labels(json!({"cluster.open-cluster-management.io/clusterset": "default"}));
    assert_eq!(
        refusal(&client, true, &set).await,
        None,
        "OCM's webhook checks it"
    );
    for change in [labels(json!({"tier": "prod", "region": null})), opt_out] {
        assert_eq!(refusal(&client, false, &change).await, None, "{change}");
    }
    hub.shutdown().await;
}
