//! Manifests embedded in objects on the dev hub: their metadata is checked as kube-apiserver checks that of embedded resources.

use devhub::{DevHub, TestHub};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::kit::manifests::repository;

const WORKS: &str = "work.open-cluster-management.io";
const UPGRADES: &str = "cluster.open-cluster-management.io";
const ADDONS: &str = "addon.open-cluster-management.io";

async fn hub() -> TestHub {
    let text = std::fs::read_to_string(repository("tests/data/ocm-crds/manifestworks.yaml")).expect("a file");
    let works: Value = serde_saphyr::from_str(&text).expect("YAML");
    let mut builder = DevHub::builder().crd(works);
    for crd in api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a CRD is JSON"));
    }
    TestHub::of(builder).await.expect("the hub starts")
}

/// Returns what the hub says to an object that holds a manifest; nothing where it is stored.
async fn refusal(
    client: &Client,
    (group, version, kind): (&str, &str, &str),
    object: Value,
) -> Option<String> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let is_in_a_namespace = object.pointer("/metadata/namespace").is_some();
    let api: Api<DynamicObject> = if is_in_a_namespace {
        Api::namespaced_with(client.clone(), "default", &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    let object = serde_json::from_value(object).expect("an object");
    let answer = api.create(&PostParams::default(), &object).await;
    answer.err().map(|error| error.to_string())
}

fn manifest(metadata: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

#[tokio::test]
async fn an_impossible_namespace_and_an_incomplete_owner_are_stored_in_no_kind() {
    let hub = hub().await;
    let client = hub.client();
    let rows = [
        (json!({"name": "c-{{CLUSTER_NAME}}", "namespace": "agents"}), ""),
        (
            json!({"name": "a", "namespace": "{{INSTALL_NAMESPACE}}"}),
            "metadata.namespace: Invalid value",
        ),
        (
            json!({"name": "a", "namespace": "Upper"}),
            "metadata.namespace: Invalid value",
        ),
        (
            json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}]}),
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
        ),
        (
            json!({"name": "a", "finalizers": ["a b"]}),
            "metadata.finalizers: Invalid value",
        ),
        (json!({"name": "a/b"}), "metadata.name: Invalid value"),
    ];
    for (number, (metadata, expected)) in rows.iter().enumerate() {
        let name = format!("o{number}");
        let manifests = json!([manifest(metadata)]);
        let objects = [
            (
                (WORKS, "v1", "ManifestWork"),
                json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"workload": {"manifests": manifests}}}),
            ),
            (
                (ADDONS, "v1alpha1", "AddOnTemplate"),
                json!({"metadata": {"name": name}, "spec": {"addonName": "x", "agentSpec": {"workload": {"manifests": manifests}}}}),
            ),
            (
                (UPGRADES, "v1beta1", "ManagedClustersUpgrade"),
                json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterVersion": {"version": "4.15.0"},
                    "preUpgradeAction": {"manifestWork": {"workload": {"manifests": manifests}}}}}),
            ),
        ];
        for (kind, mut object) in objects {
            object["apiVersion"] = json!(format!("{}/{}", kind.0, kind.1));
            object["kind"] = json!(kind.2);
            let said = refusal(&client, kind, object).await;
            match expected {
                &"" => assert_eq!(said, None, "{kind:?} {metadata}"),
                words => {
                    let said = said.unwrap_or_else(|| panic!("{kind:?} {metadata} is stored"));
                    assert!(said.contains(words), "{kind:?} {metadata}: {said}");
                }
            }
        }
    }
    hub.shutdown().await;
}
