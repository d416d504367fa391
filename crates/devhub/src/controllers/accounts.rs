//! What pods expect in every namespace.
//!
//! Decides that a namespace has a `default` service account and the certificate of the API server.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};

/// Equips every namespace, for ever.
pub(super) async fn run(client: Client, ca_pem: String) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut changes = watcher(namespaces, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .boxed();
    while let Some(change) = changes.next().await {
        match change {
            Ok(namespace) if namespace.metadata.deletion_timestamp.is_none() => {
                if let Err(error) = equip(&client, &namespace.name_any(), &ca_pem).await {
                    tracing::debug!(%error, "cannot equip a namespace");
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "watching namespaces failed"),
        }
    }
}

async fn equip(client: &Client, namespace: &str, ca_pem: &str) -> Result<(), kube::Error> {
    let named = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let account = ServiceAccount {
        metadata: named("default"),
        ..ServiceAccount::default()
    };
    existing(accounts.create(&PostParams::default(), &account).await)?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = ConfigMap {
        metadata: named("kube-root-ca.crt"),
        data: Some(BTreeMap::from([("ca.crt".to_owned(), ca_pem.to_owned())])),
        ..ConfigMap::default()
    };
    existing(maps.create(&PostParams::default(), &map).await)
}

/// An object that is there already is as good as a new one.
fn existing<K>(outcome: Result<K, kube::Error>) -> Result<(), kube::Error> {
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}
