//! A hub that keeps its data: what is there after a new start, and what is said about damaged data.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use std::collections::BTreeMap;
use std::path::Path;

use devhub::{Authz, DevHub, StartError};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

async fn start(dir: &Path) -> DevHub {
    DevHub::builder()
        .data_dir(dir)
        .start()
        .await
        .expect("a hub starts")
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.test.example.io" },
        "spec": {
            "group": "test.example.io", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": {
                    "type": "object", "properties": { "size": { "type": "integer", "default": 3 } },
                } },
            } } }],
        },
    })
}

fn things(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test.example.io", "v1", "Thing"));
    Api::default_namespaced_with(client.clone(), &resource)
}

fn thing(name: &str) -> DynamicObject {
    let value = json!({ "apiVersion": "test.example.io/v1", "kind": "Thing", "metadata": { "name": name, "labels": { "of": name } }, "spec": {} });
    serde_json::from_value(value).expect("a thing is an object")
}

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some(BTreeMap::from([("key".to_owned(), value.to_owned())]));
    map
}

#[tokio::test]
async fn everything_is_as_it_was_after_a_new_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = start(folder.path()).await;
    hub.preload(&definition()).await.expect("a definition");
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let first = maps
        .create(&PostParams::default(), &map("a", "1"))
        .await
        .expect("an answer");
    let apply = PatchParams::apply("me");
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "other": "x" } });
    let map_before = maps
        .patch("a", &apply, &Patch::Apply(&body))
        .await
        .expect("an answer");
    let thing_before = things(&hub.client())
        .create(&PostParams::default(), &thing("t"))
        .await
        .expect("an answer");
    maps.create(&PostParams::default(), &map("gone", "1"))
        .await
        .expect("an answer");
    maps.delete("gone", &DeleteParams::default())
        .await
        .expect("an answer");
    let newest = maps
        .list(&ListParams::default())
        .await
        .expect("an answer")
        .metadata
        .resource_version;
    let (url, token, ca) = (hub.url(), hub.token().to_owned(), hub.ca_pem().to_owned());
    let config = hub.config();
    hub.shutdown().await;

    let hub = start(folder.path()).await;
    assert_eq!(
        (hub.url(), hub.token(), hub.ca_pem()),
        (url, token.as_str(), ca.as_str())
    );
    // The client of the first hub is a client of the second one.
    let client = Client::try_from(config).expect("an answer");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    assert_eq!(
        maps.get("a").await.expect("an answer"),
        map_before,
        "owners and uids are kept"
    );
    assert_eq!(first.uid(), map_before.uid());
    assert!(maps.get_opt("gone").await.expect("an answer").is_none());
    let now = maps
        .list(&ListParams::default())
        .await
        .expect("an answer")
        .metadata
        .resource_version;
    assert_eq!(now, newest, "the resource version goes on");
    definitions_are_served(&client, &thing_before).await;
    history_goes_on(&maps, &first, &newest.expect("an answer")).await;
    hub.shutdown().await;
}

async fn definitions_are_served(client: &Client, thing_before: &DynamicObject) {
    let things = things(client);
    assert_eq!(
        things.get("t").await.expect("an answer"),
        *thing_before,
        "definitions are served again"
    );
    let labelled = things
        .list(&ListParams::default().labels("of=t"))
        .await
        .expect("an answer");
    assert_eq!(labelled.items.len(), 1);
}

/// Reads what happened before the end of the first hub, and writes more.
async fn history_goes_on(maps: &Api<ConfigMap>, first: &ConfigMap, newest: &str) {
    let watch = WatchParams::default();
    let since = first.resource_version().expect("an answer");
    let mut changes = maps.watch(&watch, &since).await.expect("an answer").boxed();
    let change = changes.next().await.expect("an answer").expect("an answer");
    assert!(
        matches!(change, WatchEvent::Modified(map) if map.name_any() == "a"),
        "history is kept"
    );
    let next = maps
        .create(&PostParams::default(), &map("b", "1"))
        .await
        .expect("an answer");
    let number = |text: &str| text.parse::<u64>().expect("an answer");
    assert!(number(&next.resource_version().expect("an answer")) > number(newest));
}

#[tokio::test]
async fn rights_and_tokens_of_service_accounts_outlive_the_hub() {
    let folder = tempfile::tempdir().expect("a folder");
    let builder = || DevHub::builder().data_dir(folder.path()).authz(Authz::Rbac);
    let hub = builder().start().await.expect("a hub starts");
    let accounts: Api<ServiceAccount> = Api::default_namespaced(hub.client());
    let account: ServiceAccount =
        serde_json::from_value(json!({ "metadata": { "name": "robot" } })).expect("an answer");
    accounts
        .create(&PostParams::default(), &account)
        .await
        .expect("an answer");
    let request = accounts
        .create_token_request(
            "robot",
            &PostParams::default(),
            &k8s_openapi::api::authentication::v1::TokenRequest::default(),
        )
        .await
        .expect("an answer");
    hub.preload(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "robot" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "kind": "ServiceAccount", "name": "robot", "namespace": "default" }],
    }))
    .await
    .expect("a binding");
    hub.shutdown().await;

    let hub = builder().start().await.expect("a hub starts");
    let mut config = hub.config();
    config.auth_info.token = Some(
        request
            .status
            .and_then(|status| status.token)
            .expect("a token")
            .into(),
    );
    let robot = Client::try_from(config).expect("an answer");
    let maps: Api<ConfigMap> = Api::default_namespaced(robot.clone());
    maps.list(&ListParams::default())
        .await
        .expect("a viewer may list");
    let refused = maps.create(&PostParams::default(), &map("a", "1")).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));
    let spaces: Api<Namespace> = Api::all(robot);
    assert!(spaces.list(&ListParams::default()).await.is_err());
    hub.shutdown().await;
}

#[tokio::test]
async fn a_torn_end_is_cut_off_and_a_damaged_middle_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = start(folder.path()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    for name in ["a", "b"] {
        maps.create(&PostParams::default(), &map(name, "1"))
            .await
            .expect("an answer");
    }
    let second = start_error(folder.path()).await;
    assert!(second.contains("another hub uses the data"), "{second}");
    hub.shutdown().await;

    let log = folder.path().join("objects.log");
    let whole = std::fs::read(&log).expect("an answer");
    std::fs::write(&log, &whole[..whole.len() - 5]).expect("an answer");
    let hub = start(folder.path()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let names: Vec<String> = maps
        .list(&ListParams::default())
        .await
        .expect("an answer")
        .iter()
        .map(kube::ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["a"], "only the record that was cut is gone");
    maps.create(&PostParams::default(), &map("c", "1"))
        .await
        .expect("an answer");
    hub.shutdown().await;
    let hub = start(folder.path()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    assert_eq!(
        maps.list(&ListParams::default())
            .await
            .expect("an answer")
            .items
            .len(),
        2
    );
    hub.shutdown().await;

    let mut damaged = whole;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xFF;
    std::fs::write(&log, &damaged).expect("an answer");
    let told = start_error(folder.path()).await;
    assert!(
        told.contains("is damaged, but a whole record stands at byte"),
        "{told}"
    );
    std::fs::write(&log, "something else").expect("an answer");
    let told = start_error(folder.path()).await;
    assert!(told.contains("it is not the log of a hub"), "{told}");
}

async fn start_error(dir: &Path) -> String {
    let refused: StartError = DevHub::builder()
        .data_dir(dir)
        .start()
        .await
        .expect_err("this data cannot be used");
    refused.to_string()
}

#[tokio::test]
async fn a_log_with_more_history_than_state_is_rewritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = start(folder.path()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    let large = "x".repeat(400_000);
    maps.create(&PostParams::default(), &map("a", &large))
        .await
        .expect("an answer");
    for round in 0..20 {
        let patch = json!({ "data": { "round": round.to_string() } });
        maps.patch("a", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("an answer");
    }
    let before = maps.get("a").await.expect("an answer");
    let log = folder.path().join("objects.log");
    hub.shutdown().await;
    let size = std::fs::metadata(&log).expect("an answer").len();
    // 8,000,000 bytes and more were written; the log may hold twice the state and 4 MiB.
    assert!(size < 6_000_000, "the log holds {size} bytes");
    assert!(!folder.path().join("objects.log.new").exists());
    let hub = start(folder.path()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(hub.client());
    assert_eq!(maps.get("a").await.expect("an answer"), before);
    hub.shutdown().await;
}

#[tokio::test]
async fn a_definition_that_was_going_goes_on_going() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = start(folder.path()).await;
    hub.preload(&definition()).await.expect("a definition");
    let mut held = thing("t");
    held.metadata.finalizers = Some(vec!["example.io/held".to_owned()]);
    let api = things(&hub.client());
    api.create(&PostParams::default(), &held)
        .await
        .expect("an answer");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definitions = |hub: &DevHub| -> Api<DynamicObject> { Api::all_with(hub.client(), &resource) };
    definitions(&hub)
        .delete("things.test.example.io", &DeleteParams::default())
        .await
        .expect("an answer");
    hub.shutdown().await;

    let hub = start(folder.path()).await;
    assert!(
        definitions(&hub)
            .get("things.test.example.io")
            .await
            .expect("an answer")
            .metadata
            .deletion_timestamp
            .is_some()
    );
    let release = json!({ "metadata": { "finalizers": null } });
    things(&hub.client())
        .patch("t", &PatchParams::default(), &Patch::Merge(release))
        .await
        .expect("an answer");
    for _ in 0..200 {
        if definitions(&hub)
            .get_opt("things.test.example.io")
            .await
            .expect("an answer")
            .is_none()
        {
            hub.shutdown().await;
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    unreachable!("the definition has not gone");
}
