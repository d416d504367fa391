//! Faults on purpose: real clients get through them, and the same seed does the same again.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use devhub::{DevHub, Faults};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

async fn start(wish: &str) -> DevHub {
    let faults = Faults::parse(wish).expect("a wish");
    DevHub::builder()
        .faults(faults)
        .start()
        .await
        .expect("a hub starts")
}

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some(BTreeMap::from([("key".to_owned(), value.to_owned())]));
    map
}

/// Does something until no fault meets it.
async fn insist<T>(mut attempt: impl AsyncFnMut() -> Result<T, kube::Error>) -> (T, usize) {
    let mut met = 0;
    loop {
        match attempt().await {
            Ok(done) => return (done, met),
            Err(kube::Error::Api(status)) if matches!(status.code, 409 | 410 | 429 | 500) => met += 1,
            Err(error) => unreachable!("no fault on purpose: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_converges_under_every_fault() {
    let hub = start("seed=7,409=0.1,410=0.2,429=0.05,500=0.1,watch-drop=0.1,delay=1ms").await;
    let client = Client::try_from(hub.config()).expect("a client");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let (reader, writer) = reflector::store();
    let watched = watcher(api.clone(), watcher::Config::default())
        .reflect(writer)
        .for_each(|_| async {});
    let watching = tokio::spawn(watched);

    let mut met = 0;
    for number in 0..60 {
        let name = format!("map-{number}");
        met += insist(async || api.create(&PostParams::default(), &map(&name, "1")).await)
            .await
            .1;
        let patch = Patch::Merge(json!({ "data": { "key": number.to_string() } }));
        met += insist(async || api.patch(&name, &PatchParams::default(), &patch).await)
            .await
            .1;
        if number % 3 == 0 {
            met += insist(async || api.delete(&name, &DeleteParams::default()).await)
                .await
                .1;
        }
    }
    assert!(met > 5, "only {met} faults were met");
    let (list, _) = insist(async || api.list(&ListParams::default()).await).await;
    let expected: BTreeMap<String, Option<String>> = list
        .items
        .iter()
        .map(|map| (map.name_any(), map.resource_version()))
        .collect();
    assert_eq!(expected.len(), 40);
    let started = Instant::now();
    loop {
        let state = reader.state();
        let seen: BTreeMap<String, Option<String>> = state
            .iter()
            .map(|map| (map.name_any(), map.resource_version()))
            .collect();
        if seen == expected {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{seen:?} is not {expected:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    watching.abort();
    hub.shutdown().await;
}

#[tokio::test]
async fn the_same_seed_does_the_same_again() {
    let outcomes = async |seed: u64| -> Vec<u16> {
        let hub = start(&format!("seed={seed},409=0.2,429=0.1,500=0.1")).await;
        let api: Api<ConfigMap> = Api::default_namespaced(hub.client());
        insist(async || api.create(&PostParams::default(), &map("a", "0")).await).await;
        let mut codes = Vec::new();
        for number in 0..40 {
            let patch = Patch::Merge(json!({ "data": { "key": number.to_string() } }));
            codes.push(match api.patch("a", &PatchParams::default(), &patch).await {
                Ok(_) => 200,
                Err(kube::Error::Api(status)) => status.code,
                Err(error) => unreachable!("{error}"),
            });
        }
        hub.shutdown().await;
        codes
    };
    let first = outcomes(7).await;
    assert_eq!(first, outcomes(7).await);
    assert_ne!(first, outcomes(8).await);
    let kinds: BTreeSet<u16> = first.into_iter().collect();
    assert_eq!(kinds, [200, 409, 429, 500].into());
}

#[tokio::test]
async fn a_torn_watch_ends_after_an_event_and_a_fault_names_itself() {
    let hub = start("watch-drop=1,429=0").await;
    let api: Api<ConfigMap> = Api::default_namespaced(hub.client());
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &map(name, "1"))
            .await
            .expect("an answer");
    }
    let events = api
        .watch(&kube::api::WatchParams::default(), "0")
        .await
        .expect("an answer");
    assert_eq!(events.collect::<Vec<_>>().await.len(), 1);
    hub.shutdown().await;

    let hub = start("429=1").await;
    let request = http::Request::get("/api/v1/namespaces/default/configmaps");
    let request = request.body(kube::client::Body::empty()).expect("an answer");
    let answer = hub.client().send(request).await.expect("an answer");
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["x-devhub-fault"], "429");
    assert_eq!(answer.headers()["retry-after"], "1");
    hub.shutdown().await;
}

#[tokio::test]
async fn a_slow_definition_is_served_after_its_time() {
    let hub = start("crd-delay=2s").await;
    let started = Instant::now();
    hub.preload(&definition()).await.expect("an answer");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test.example.io", "v1", "Thing"));
    let things: Api<DynamicObject> = Api::default_namespaced_with(hub.client(), &resource);
    assert!(
        things.list(&ListParams::default()).await.is_err(),
        "not served yet"
    );
    while things.list(&ListParams::default()).await.is_err() {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(started.elapsed() >= Duration::from_secs(2));
    hub.shutdown().await;
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.test.example.io" },
        "spec": {
            "group": "test.example.io", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    })
}
