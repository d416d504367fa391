//! What pods expect in every namespace.
//!
//! Decides that a namespace has a `default` service account and the certificate of the API server, also after a client
//! has removed or changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::{BoxStream, select_all};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde_json::json;

const ACCOUNT: &str = "default";
const MAP: &str = "kube-root-ca.crt";
const KEY: &str = "ca.crt";
/// How often a namespace that could not be equipped is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// Creates the service account and the CA ConfigMap of every namespace, in a loop.
pub(super) async fn run(client: Client, ca_pem: String) {
    let mut touched = touched(&client);
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut again = tokio::time::interval(AGAIN);
    loop {
        tokio::select! {
            namespace = touched.next() => match namespace {
                Some(namespace) => { open.insert(namespace); }
                None => return,
            },
            _ = again.tick(), if !open.is_empty() => {}
        }
        for namespace in std::mem::take(&mut open) {
            if let Err(error) = equip(&client, &namespace, &ca_pem).await {
                tracing::debug!(%namespace, %error, "cannot equip a namespace yet");
                open.insert(namespace);
            }
        }
    }
}

/// Returns the namespaces that are new or in which something of ours changed.
fn touched(client: &Client) -> impl Stream<Item = String> + use<> {
    let named = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::all(client.clone());
    let streams: [BoxStream<'static, Option<String>>; 3] = [
        watcher(namespaces, watcher::Config::default())
            .default_backoff()
            .map(|event| place(event, Namespace::name_any))
            .boxed(),
        watcher(accounts, named(ACCOUNT))
            .default_backoff()
            .map(|event| place(event, |account| account.namespace().unwrap_or_default()))
            .boxed(),
        watcher(maps, named(MAP))
            .default_backoff()
            .map(|event| place(event, |map| map.namespace().unwrap_or_default()))
            .boxed(),
    ];
    select_all(streams).filter_map(std::future::ready)
}

fn place<K: Resource>(
    event: Result<Event<K>, watcher::Error>,
    namespace: impl Fn(&K) -> String,
) -> Option<String> {
    match event {
        Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => {
            Some(namespace(&object))
        }
        Ok(Event::Init | Event::InitDone) => None,
        Err(error) => {
            tracing::debug!(%error, "watching namespaces failed");
            None
        }
    }
}

async fn equip(client: &Client, namespace: &str, ca_pem: &str) -> Result<(), kube::Error> {
    let spaces: Api<Namespace> = Api::all(client.clone());
    let goes = spaces
        .get_opt(namespace)
        .await?
        .is_none_or(|found| found.metadata.deletion_timestamp.is_some());
    if goes {
        return Ok(());
    }
    let named = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    if accounts.get_metadata_opt(ACCOUNT).await?.is_none() {
        let account = ServiceAccount {
            metadata: named(ACCOUNT),
            ..ServiceAccount::default()
        };
        existing(accounts.create(&PostParams::default(), &account).await)?;
    }
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let wanted = BTreeMap::from([(KEY.to_owned(), ca_pem.to_owned())]);
    match maps.get_opt(MAP).await? {
        None => {
            let map = ConfigMap {
                metadata: named(MAP),
                data: Some(wanted),
                ..ConfigMap::default()
            };
            existing(maps.create(&PostParams::default(), &map).await)
        }
        Some(map) if map.data.as_ref() == Some(&wanted) => Ok(()),
        Some(map) => {
            let extra = map.data.into_iter().flatten().filter(|(key, _)| key != KEY);
            let mut data: BTreeMap<String, Option<String>> = extra.map(|(key, _)| (key, None)).collect();
            data.insert(KEY.to_owned(), Some(ca_pem.to_owned()));
            let patch = Patch::Merge(json!({ "data": data }));
            let patched = maps.patch(MAP, &PatchParams::default(), &patch).await;
            existing(patched)
        }
    }
}

/// An object that is there already is as good as a new one, and nothing new comes into a namespace that goes.
fn existing<K>(outcome: Result<K, kube::Error>) -> Result<(), kube::Error> {
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}
