//! How fast the hub writes and tells, and what an object costs.
//!
//! `cargo bench -p devhub`. The allocator is counted: the peak of `hold_objects` divided by its objects is the cost of one object.

#![expect(clippy::disallowed_methods, reason = "a bench reads files and clocks")]

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use devhub::DevHub;
use devhub::store::{Store, Write};
use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use futures::StreamExt as _;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// Objects that `hold_objects` holds.
const HELD: usize = 10_000;
/// Changes that every watcher receives in one round.
const CHANGES: usize = 200;

fn main() {
    divan::main();
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "parts.bench.example.io" },
        "spec": {
            "group": "bench.example.io", "scope": "Namespaced",
            "names": { "plural": "parts", "singular": "part", "kind": "Part", "listKind": "PartList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": {
                        "type": "object", "required": ["size"],
                        "x-kubernetes-validations": [{ "rule": "self.size <= 100", "message": "too large" }],
                        "properties": {
                            "size": { "type": "integer", "minimum": 0 },
                            "color": { "type": "string", "enum": ["red", "green"], "default": "red" },
                            "note": { "type": "string", "maxLength": 2000 },
                            "ports": {
                                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                                "items": { "type": "object", "required": ["port"], "properties": { "port": { "type": "integer" } } },
                            },
                        },
                    },
                    "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                } } },
            }],
        },
    })
}

fn part(name: &str) -> DynamicObject {
    let value = json!({
        "apiVersion": "bench.example.io/v1", "kind": "Part", "metadata": { "name": name, "labels": { "app": "bench" } },
        "spec": { "size": 7, "note": "x".repeat(600), "ports": [{ "port": 80 }, { "port": 443 }] },
    });
    serde_json::from_value(value).expect("a part is an object")
}

fn parts(client: Client) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("bench.example.io", "v1", "Part"));
    Api::default_namespaced_with(client, &resource)
}

fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("part-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn hub() -> (Runtime, DevHub) {
    let runtime = Runtime::new().expect("a runtime");
    let start = DevHub::builder()
        .crd(definition())
        .without_controllers()
        .history(1_000)
        .start();
    let hub = runtime.block_on(start).expect("a hub");
    (runtime, hub)
}

/// One create of a custom resource, in-process: decode, schema, CEL rule, owners, admission without webhooks, commit, answer.
#[divan::bench(counters = [ItemsCount::new(1_u32)])]
fn create_in_process(bencher: Bencher<'_, '_>) {
    let (runtime, hub) = hub();
    let api = parts(runtime.block_on(async { hub.client() }));
    bencher.with_inputs(|| part(&unique())).bench_values(|object| {
        runtime
            .block_on(api.create(&PostParams::default(), &object))
            .expect("created")
    });
    runtime.block_on(hub.shutdown());
}

/// The same over TLS on loopback.
#[divan::bench(counters = [ItemsCount::new(1_u32)])]
fn create_over_tls(bencher: Bencher<'_, '_>) {
    let (runtime, hub) = hub();
    let client = runtime
        .block_on(async { Client::try_from(hub.config()) })
        .expect("a client");
    let api = parts(client);
    bencher.with_inputs(|| part(&unique())).bench_values(|object| {
        runtime
            .block_on(api.create(&PostParams::default(), &object))
            .expect("created")
    });
    runtime.block_on(hub.shutdown());
}

/// One server-side apply that changes one field of an object with three managers.
#[divan::bench(counters = [ItemsCount::new(1_u32)])]
fn apply_among_managers(bencher: Bencher<'_, '_>) {
    let (runtime, hub) = hub();
    let api = parts(runtime.block_on(async { hub.client() }));
    let name = unique();
    let apply = |manager: &str, spec: Value| {
        let intent = json!({ "apiVersion": "bench.example.io/v1", "kind": "Part", "metadata": { "name": name }, "spec": spec });
        let params = PatchParams::apply(manager).force();
        runtime
            .block_on(api.patch(&name, &params, &Patch::Apply(intent)))
            .expect("applied")
    };
    runtime
        .block_on(api.create(&PostParams::default(), &part(&name)))
        .expect("created");
    apply("ports", json!({ "ports": [{ "port": 80 }, { "port": 8080 }] }));
    let mut size = 0;
    bencher.bench_local(|| {
        size = (size + 1) % 100;
        apply("size", json!({ "size": size }))
    });
    runtime.block_on(hub.shutdown());
}

/// Changes told to all watchers, from the write to the last watcher.
#[divan::bench(args = [1, 10, 50], sample_count = 10, sample_size = 1)]
fn deliver(bencher: Bencher<'_, '_>, watchers: usize) {
    let (runtime, hub) = hub();
    let api = parts(runtime.block_on(async { hub.client() }));
    bencher
        .counter(ItemsCount::new(watchers * CHANGES))
        .with_inputs(|| {
            runtime.block_on(async {
                let now = api
                    .list(&kube::api::ListParams::default().limit(1))
                    .await
                    .expect("a list");
                let version = now.metadata.resource_version.unwrap_or_default();
                let mut streams = Vec::new();
                for _ in 0..watchers {
                    let params = WatchParams::default().disable_bookmarks();
                    streams.push(api.watch(&params, &version).await.expect("a watch").boxed());
                }
                streams
            })
        })
        .bench_values(|streams| {
            runtime.block_on(async {
                let told = streams
                    .into_iter()
                    .map(|stream| tokio::spawn(stream.take(CHANGES).count()));
                let told: Vec<_> = told.collect();
                for _ in 0..CHANGES {
                    api.create(&PostParams::default(), &part(&unique()))
                        .await
                        .expect("created");
                }
                for count in told {
                    assert_eq!(count.await.expect("a watcher ends"), CHANGES);
                }
            });
        });
    runtime.block_on(hub.shutdown());
}

/// One write into the store alone.
#[divan::bench(counters = [ItemsCount::new(1_u32)])]
fn commit(bencher: Bencher<'_, '_>) {
    let table = Store::new(1_000).table("parts");
    let object = serde_json::to_value(part("a")).expect("an object");
    bencher
        .with_inputs(unique)
        .bench_values(|name| table.write(&name, 0, &Write::Create(&object)).is_ok());
}

/// Memory of many objects of about one kilobyte.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn hold_objects() -> Store {
    let store = Store::new(1);
    let table = store.table("parts");
    let object = serde_json::to_value(part("a")).expect("an object");
    for _ in 0..HELD {
        table
            .write(&format!("default/{}", unique()), 1, &Write::Create(&object))
            .expect("written");
    }
    black_box(store)
}
