//! The hub as its users meet it: over TLS, in-process, with controllers, and at its end.

#![expect(
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    reason = "a test reads files and clocks"
)]
#![expect(clippy::panic, reason = "a test that sees something else has failed")]

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use devhub::{DevHub, StartError};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

fn versions(versions: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.test.example.io" },
        "spec": {
            "group": "test.example.io", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" }, "versions": versions,
        },
    })
}

fn definition() -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": {
        "type": "object", "properties": { "size": { "type": "integer", "default": 3 } },
    } } } });
    versions(&json!([
        { "name": "v1", "served": true, "storage": true, "schema": schema },
        { "name": "v1beta1", "served": true, "storage": false, "schema": schema },
    ]))
}

fn things(client: &Client, version: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test.example.io", version, "Thing"));
    Api::default_namespaced_with(client.clone(), &resource)
}

fn thing(name: &str) -> DynamicObject {
    let value = json!({ "apiVersion": "test.example.io/v1", "kind": "Thing", "metadata": { "name": name }, "spec": {} });
    serde_json::from_value(value).expect("a thing is an object")
}

fn map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.owner_references = owner.map(|owner| {
        vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: owner.name_any(),
            uid: owner.uid().unwrap_or_default(),
            block_owner_deletion: Some(true),
            controller: None,
        }]
    });
    map
}

async fn hub() -> DevHub {
    let hub = DevHub::builder().crd(definition()).start().await;
    hub.expect("a hub starts")
}

/// Waits until a question is answered with yes; what it waits for comes by watches, so there is no event to wait on here.
async fn eventually<F: Future<Output = bool>>(what: &str, question: impl Fn() -> F) {
    let start = Instant::now();
    while !question().await {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("no answer: {other}"),
    }
}

#[tokio::test]
async fn serves_over_tls_only_with_a_token_or_a_certificate() {
    let hub = hub().await;
    let by_token = Client::try_from(hub.config()).unwrap();
    assert_eq!(
        by_token.apiserver_version().await.unwrap().git_version,
        "v1.36.2+devhub"
    );

    let mut file = Kubeconfig::from_yaml(&hub.kubeconfig()).unwrap();
    for user in &mut file.auth_infos {
        user.auth_info.as_mut().unwrap().token = None;
    }
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    let by_certificate = Client::try_from(config).unwrap();
    things(&by_certificate, "v1")
        .create(&PostParams::default(), &thing("a"))
        .await
        .unwrap();

    let mut config = hub.config();
    config.auth_info.token = Some("wrong".to_owned().into());
    let error = Client::try_from(config)
        .unwrap()
        .list_core_api_versions()
        .await
        .unwrap_err();
    assert_eq!(code(&error), 401);
    let mut config = hub.config();
    config.auth_info.token = None;
    let error = Client::try_from(config)
        .unwrap()
        .list_core_api_versions()
        .await
        .unwrap_err();
    assert_eq!(code(&error), 401);
    hub.shutdown().await;
}

#[tokio::test]
async fn writes_its_kubeconfig_for_its_owner_only() {
    let hub = hub().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, "open to all").unwrap();
    hub.write_kubeconfig(&path).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(Kubeconfig::read_from(&path).is_ok());
    hub.shutdown().await;
}

#[tokio::test]
async fn refuses_to_serve_the_world_and_tells_what_it_cannot_load() {
    let world = DevHub::builder().bind("0.0.0.0:0".parse().unwrap()).start().await;
    assert!(matches!(world, Err(StartError::NotLoopback(_))));
    let taken = hub().await;
    let second = DevHub::builder().bind(taken.address()).start().await;
    assert!(matches!(second, Err(StartError::Listen { .. })));
    taken.shutdown().await;
    let broken = DevHub::builder().crd(versions(&json!([]))).start().await;
    let Err(StartError::Preload { name, message, .. }) = broken else {
        panic!("a broken definition was loaded")
    };
    assert_eq!(name, "things.test.example.io");
    assert!(
        message.contains("must have exactly one version marked as storage version"),
        "{message}"
    );
}

#[tokio::test]
async fn shows_an_object_in_every_served_version() {
    let hub = hub().await;
    let client = hub.client();
    let stored = things(&client, "v1")
        .create(&PostParams::default(), &thing("a"))
        .await
        .unwrap();
    let other = things(&client, "v1beta1").get("a").await.unwrap();
    assert_eq!(other.types.unwrap().api_version, "test.example.io/v1beta1");
    assert_eq!(other.data["spec"]["size"], 3);
    let patch = json!({ "spec": { "size": 4 } });
    things(&client, "v1beta1")
        .patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    let changed = things(&client, "v1").get("a").await.unwrap();
    assert_eq!(
        (changed.uid(), &changed.data["spec"]["size"]),
        (stored.uid(), &json!(4))
    );
    assert_eq!(changed.metadata.generation, Some(2));
    hub.shutdown().await;
}

#[tokio::test]
async fn informers_see_the_state_and_then_every_change_with_both_ways_to_start() {
    let hub = hub().await;
    let client = Client::try_from(hub.config()).unwrap();
    let api = things(&client, "v1");
    api.create(&PostParams::default(), &thing("first")).await.unwrap();
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let name = format!("later-{}", uuid_like(&config));
        let mut changes = watcher(api.clone(), config).applied_objects().boxed();
        assert_eq!(changes.next().await.unwrap().unwrap().name_any(), "first");
        while tokio::time::timeout(Duration::from_millis(200), changes.next())
            .await
            .is_ok()
        {}
        api.create(&PostParams::default(), &thing(&name)).await.unwrap();
        assert_eq!(changes.next().await.unwrap().unwrap().name_any(), name);
        api.delete(&name, &DeleteParams::default()).await.unwrap();
    }
    hub.shutdown().await;
}

fn uuid_like(config: &watcher::Config) -> usize {
    usize::from(config == &watcher::Config::default())
}

#[tokio::test]
async fn a_watch_with_an_expired_resource_version_ends_with_410() {
    let hub = DevHub::builder()
        .crd(definition())
        .history(3)
        .start()
        .await
        .unwrap();
    let api = things(&hub.client(), "v1");
    let first = api.create(&PostParams::default(), &thing("a")).await.unwrap();
    let version = first.resource_version().unwrap();
    let mut slow = api
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    for n in 0..5 {
        api.create(&PostParams::default(), &thing(&format!("b{n}")))
            .await
            .unwrap();
    }
    match slow.next().await.unwrap().unwrap() {
        WatchEvent::Error(status) => assert_eq!(status.code, 410),
        other => panic!("not told: {other:?}"),
    }
    assert!(slow.next().await.is_none());
    hub.shutdown().await;
}

#[tokio::test]
async fn concurrent_patches_all_arrive() {
    let hub = hub().await;
    let api: Api<ConfigMap> = Api::default_namespaced(hub.client());
    api.create(&PostParams::default(), &map("shared", None))
        .await
        .unwrap();
    let writes = (0..40).map(|n| {
        let api = api.clone();
        async move {
            let patch = json!({ "data": { format!("k{n}"): "v" } });
            api.patch("shared", &PatchParams::default(), &Patch::Merge(&patch))
                .await
                .unwrap();
        }
    });
    futures::future::join_all(writes).await;
    assert_eq!(api.get("shared").await.unwrap().data.unwrap().len(), 40);
    hub.shutdown().await;
}

#[tokio::test]
async fn dependents_follow_their_owner() {
    let hub = hub().await;
    let api: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let owner = api
        .create(&PostParams::default(), &map("owner", None))
        .await
        .unwrap();
    let child = api
        .create(&PostParams::default(), &map("child", Some(&owner)))
        .await
        .unwrap();
    api.create(&PostParams::default(), &map("grandchild", Some(&child)))
        .await
        .unwrap();
    api.create(&PostParams::default(), &map("unlabelled", None))
        .await
        .unwrap();
    api.delete("owner", &DeleteParams::background()).await.unwrap();
    eventually("collection", || async {
        let left = api.list(&ListParams::default()).await.unwrap();
        left.items
            .iter()
            .map(kube::ResourceExt::name_any)
            .collect::<Vec<_>>()
            == ["unlabelled"]
    })
    .await;
    hub.shutdown().await;
}

#[tokio::test]
async fn an_owner_in_the_foreground_waits_for_its_dependents() {
    let hub = hub().await;
    let api: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let owner = api
        .create(&PostParams::default(), &map("owner", None))
        .await
        .unwrap();
    let mut held = map("held", Some(&owner));
    held.metadata.finalizers = Some(vec!["test.example.io/hold".to_owned()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    api.delete("owner", &DeleteParams::foreground()).await.unwrap();
    eventually("deletion of the dependent", || async {
        api.get("held")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    })
    .await;
    assert!(
        api.get_opt("owner").await.unwrap().is_some(),
        "the owner went before its dependent"
    );
    let release = json!({ "metadata": { "finalizers": null } });
    api.patch("held", &PatchParams::default(), &Patch::Merge(&release))
        .await
        .unwrap();
    eventually("deletion of the owner", || async {
        api.get_opt("owner").await.unwrap().is_none()
    })
    .await;
    hub.shutdown().await;
}

#[tokio::test]
async fn orphans_lose_their_owner_and_stay() {
    let hub = hub().await;
    let api: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let owner = api
        .create(&PostParams::default(), &map("owner", None))
        .await
        .unwrap();
    api.create(&PostParams::default(), &map("orphan", Some(&owner)))
        .await
        .unwrap();
    api.delete("owner", &DeleteParams::orphan()).await.unwrap();
    eventually("deletion of the owner", || async {
        api.get_opt("owner").await.unwrap().is_none()
    })
    .await;
    assert_eq!(api.get("orphan").await.unwrap().owner_references().len(), 0);
    hub.shutdown().await;
}

#[tokio::test]
async fn a_namespace_goes_when_everything_in_it_has_gone() {
    let hub = DevHub::builder()
        .crd(definition())
        .with_service_accounts()
        .start()
        .await
        .unwrap();
    let client = hub.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("short-lived".to_owned());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "short-lived");
    eventually("a default account", || async {
        accounts.get_opt("default").await.unwrap().is_some()
    })
    .await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "short-lived");
    maps.create(&PostParams::default(), &map("content", None))
        .await
        .unwrap();
    namespaces
        .delete("short-lived", &DeleteParams::default())
        .await
        .unwrap();
    eventually("deletion", || async {
        namespaces.get_opt("short-lived").await.unwrap().is_none()
    })
    .await;
    assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty());
    hub.shutdown().await;
}

#[tokio::test]
async fn a_definition_that_goes_takes_its_instances_and_its_paths_along() {
    let hub = hub().await;
    let client = hub.client();
    let api = things(&client, "v1");
    api.create(&PostParams::default(), &thing("a")).await.unwrap();
    let mut watch = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    assert!(matches!(
        watch.next().await.unwrap().unwrap(),
        WatchEvent::Added(_)
    ));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    definitions
        .delete("things.test.example.io", &DeleteParams::default())
        .await
        .unwrap();
    eventually("removal", || async {
        definitions
            .get_opt("things.test.example.io")
            .await
            .unwrap()
            .is_none()
    })
    .await;
    assert_eq!(code(&api.list(&ListParams::default()).await.unwrap_err()), 404);
    let last = tokio::time::timeout(PATIENCE, async {
        let mut last = None;
        while let Some(event) = watch.next().await {
            last = Some(event.unwrap());
        }
        last
    });
    assert!(
        matches!(last.await.unwrap(), Some(WatchEvent::Deleted(_))),
        "the watch ended without the deletion"
    );
    hub.shutdown().await;
}

#[tokio::test]
async fn ends_its_watches_when_it_stops() {
    let hub = hub().await;
    let api = things(&Client::try_from(hub.config()).unwrap(), "v1");
    let mut watch = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let reader = tokio::spawn(async move { while watch.next().await.is_some() {} });
    tokio::time::timeout(PATIENCE, hub.shutdown()).await.unwrap();
    tokio::time::timeout(PATIENCE, reader).await.unwrap().unwrap();
}
