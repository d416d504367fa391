//! A suite that runs on whichever hub the environment names: with `KUBEBUILDER_ASSETS` on a real API server.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use std::time::{Duration, Instant};

use devhub::{Choice, TestHub};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, ResourceExt as _};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(30);

async fn eventually(what: &str, check: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !check().await {
        assert!(started.elapsed() < PATIENCE, "{what} took too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_runs_on_the_hub_that_the_environment_names() {
    let hub = TestHub::auto().await.expect("a hub");
    let asked = std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|value| !value.is_empty());
    assert_eq!(hub.is_real(), asked);
    a_definition_is_served(&hub).await;
    a_namespace_is_equipped_and_goes(&hub).await;
    garbage_is_collected(&hub).await;
    rights_are_asked(&hub).await;
    hub.shutdown().await;
}

async fn a_definition_is_served(hub: &TestHub) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.test.example.io" },
        "spec": {
            "group": "test.example.io", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    });
    hub.define(&definition).await.expect("a definition");
    hub.define(&definition).await.expect("a second time is as good");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test.example.io", "v1", "Thing"));
    let things: Api<DynamicObject> = Api::default_namespaced_with(hub.client(), &resource);
    let thing = DynamicObject::new("a", &resource);
    let made = things
        .create(&PostParams::default(), &thing)
        .await
        .expect("a thing");
    assert!(made.uid().is_some());
}

async fn a_namespace_is_equipped_and_goes(hub: &TestHub) {
    let spaces: Api<Namespace> = Api::all(hub.client());
    let space: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": "team" } })).expect("an answer");
    spaces
        .create(&PostParams::default(), &space)
        .await
        .expect("a namespace");
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), "team");
    let maps: Api<ConfigMap> = Api::namespaced(hub.client(), "team");
    let equipped = async || {
        let account = accounts.get_opt("default").await.expect("an answer");
        let map = maps.get_opt("kube-root-ca.crt").await.expect("an answer");
        let text = map.and_then(|map| map.data).unwrap_or_default().remove("ca.crt");
        account.is_some() && text.is_some_and(|text| text.contains("BEGIN CERTIFICATE"))
    };
    eventually("equipment", equipped).await;
    accounts
        .delete("default", &DeleteParams::default())
        .await
        .expect("an answer");
    let patch = kube::api::Patch::Merge(json!({ "data": { "ca.crt": "nonsense" } }));
    maps.patch("kube-root-ca.crt", &kube::api::PatchParams::default(), &patch)
        .await
        .expect("an answer");
    eventually("new equipment", equipped).await;
    spaces
        .delete("team", &DeleteParams::default())
        .await
        .expect("an answer");
    eventually("the end of a namespace", async || {
        spaces.get_opt("team").await.expect("an answer").is_none()
    })
    .await;
}

async fn garbage_is_collected(hub: &TestHub) {
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let owner: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "owner" } })).expect("an answer");
    let owner = maps
        .create(&PostParams::default(), &owner)
        .await
        .expect("an owner");
    let owned: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "owned", "ownerReferences": [
        { "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid() },
    ] } }))
        .expect("an answer");
    maps.create(&PostParams::default(), &owned)
        .await
        .expect("an owned one");
    maps.delete("owner", &DeleteParams::default())
        .await
        .expect("an answer");
    eventually("garbage collection", async || {
        maps.get_opt("owned").await.expect("an answer").is_none()
    })
    .await;
}

async fn rights_are_asked(hub: &TestHub) {
    let reviews: Api<SubjectAccessReview> = Api::all(hub.client());
    let ask = async |user: &str, group: &str| {
        let review: SubjectAccessReview = serde_json::from_value(json!({
            "spec": { "user": user, "groups": [group], "resourceAttributes": { "verb": "list", "resource": "secrets" } },
        }))
        .expect("an answer");
        let answer = reviews
            .create(&PostParams::default(), &review)
            .await
            .expect("an answer");
        answer.status.is_some_and(|status| status.allowed)
    };
    assert!(ask("jane", "system:masters").await);
    assert!(!ask("jane", "system:authenticated").await);
}

#[tokio::test]
async fn a_folder_without_programs_is_reported_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Choice::from_value(Some(folder.path().as_os_str())).expect_err("it is empty");
    assert!(
        error
            .to_string()
            .contains("there is no etcd in it and there is no kube-apiserver in it")
    );
}
