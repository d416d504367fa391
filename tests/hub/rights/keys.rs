//! The record keys of the installation: an empty Secret that the webhook's account fills, and that two replicas of the webhook and the
//! controllers read. Each runs with its own account.

use std::sync::Arc;

use api::hash::Keys;
use kube::Client;
use serde_json::json;
use tidegate::controllers::{KeyFollower, KeySecret, KeyState, SharedKeys, own_keys};

use super::recorder::{Record, acting_as};
use super::stories::Admin;
use super::{CONTROLLERS, GATE, Role, hub};
use crate::hub::rights::fit::assert_fit;
use crate::kit::hubs;
use crate::kit::manifests::documents;
use crate::kit::waiting::{eventually, eventually_or};

const SECRETS: &str = "/api/v1/namespaces/tidegate/secrets";
const SECRET: &str = "/api/v1/namespaces/tidegate/secrets/tidegate-record-keys";

struct Replica {
    keys: SharedKeys,
    followed: KeyFollower,
}

impl Replica {
    fn start(client: Client, is_filled: bool) -> Self {
        let keys = own_keys();
        let secret = KeySecret {
            namespace: "tidegate".to_owned(),
            name: "tidegate-record-keys".to_owned(),
            is_filled,
        };
        let followed = KeyFollower::start(client, secret, Arc::clone(&keys));
        Self { keys, followed }
    }

    fn keys(&self) -> Arc<Keys> {
        self.keys.load_full()
    }

    fn state(&self) -> KeyState {
        self.followed.state().borrow().clone()
    }

    async fn lacks(&self, words: &str) {
        let state = || format!("{:?}", self.state());
        eventually_or(words, async || state(), async || state().contains(words)).await;
    }
}

async fn agree(what: &str, replicas: &[&Replica]) -> Arc<Keys> {
    let first = replicas[0];
    let same = || {
        replicas
            .iter()
            .all(|one| one.keys() == first.keys() && one.state() == KeyState::Used)
    };
    eventually(what, || async { same() }).await;
    first.keys()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_signs_every_other_accepts_from_the_installation_to_a_new_key() {
    let hub = hub(&["gate.yaml", "controllers.yaml"]).await;
    let record = Record::default();
    let [gate, controllers] = [GATE, CONTROLLERS].map(|account| acting_as(account, &hub.client(), &record));
    let admin = Admin(hub.client());
    let (one, other) = (Replica::start(gate.clone(), true), Replica::start(gate, true));
    let reader = Replica::start(controllers, false);
    one.lacks("Secret tidegate/tidegate-record-keys does not exist; it is part of the installation")
        .await;
    reader.lacks("does not exist").await;
    let alone = one.keys().sign(&["x"]).expect("a key of its own");
    assert!(!other.keys().verifies(&["x"], &alone));

    let empty = documents("manifests/deploy/gate/secret.yaml");
    hubs::load(&hub, empty.clone()).await;
    let all = [&one, &other, &reader];
    let first = agree("all have the key of the Secret", &all).await;
    let signed = first.sign(&["x"]).expect("a key");
    assert!(all.iter().all(|one| one.keys().verifies(&["x"], &signed)));

    // A new key signs, and what the old one has signed stays valid until it is removed.
    let stored = |key: &str| json!({"stringData": {"20261127": key.repeat(64)}});
    admin.merge(SECRET, stored("a")).await;
    eventually("the new key is there", || async { one.keys() != first }).await;
    let second = agree("all have the new key", &all).await;
    assert!(second.verifies(&["x"], &signed) && second.sign(&["x"]) != Some(signed.clone()));
    admin.merge(SECRET, json!({"data": {"1": null}})).await;
    eventually("the old key is removed", || async { one.keys() != second }).await;
    let third = agree("all have one key", &all).await;
    assert!(!third.verifies(&["x"], &signed));
    assert!(third.verifies(&["x"], &second.sign(&["x"]).expect("a key")));

    // A key that cannot be used, or a Secret that was deleted, changes nothing; an empty one gets a new key.
    admin.merge(SECRET, json!({"stringData": {"3": "short"}})).await;
    one.lacks("key 3 has 5 bytes, but a key must have at least 32")
        .await;
    admin.delete(SECRET).await;
    reader.lacks("does not exist").await;
    assert!(all.iter().all(|one| one.keys() == third));
    hubs::load(&hub, empty).await;
    eventually("a new key", || async { one.keys() != third }).await;
    agree("all have it", &all).await;

    assert_fit(&record, &[Role::RecordKeys, Role::RecordKeysRead]);
    let found = admin.get(SECRETS).await.unwrap_or_default();
    assert_eq!(
        found["items"].as_array().map(Vec::len),
        Some(1),
        "no other Secret was made"
    );
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_without_the_right_says_which_one_it_lacks() {
    let hub = hub(&["gate.yaml", "controllers.yaml"]).await;
    hubs::load(&hub, documents("manifests/deploy/gate/secret.yaml")).await;
    let record = Record::default();
    let client = acting_as(CONTROLLERS, &hub.client(), &record);
    let reader = Replica::start(client.clone(), false);
    reader.lacks("is empty; the webhook writes a key into it").await;
    let writer = Replica::start(client, true);
    writer
        .lacks("is empty, and the webhook cannot write a key into it")
        .await;
    writer.lacks("cannot update resource").await;
    hub.shutdown().await;
}
