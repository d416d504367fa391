//! The keys of records, from the Secret that all replicas of the webhook and of the controllers share.
//!
//! The Secret comes with the installation, empty, so that no account needs the right to create Secrets. The webhook, which signs,
//! puts a first key into an empty one. Keys that are there are never changed. Never logs a key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::StreamExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{info, warn};
use uuid::Uuid;

use super::gate_certificate::apply::apply_secret;
use super::runtime::api_watch::{ObservedObject, observed};
use super::runtime::apply_error::root;
use api::hash::Keys;

/// The name of the first key. Keys that are added later sort behind it when they are named by a date.
const FIRST: &str = "1";
/// Name under which the API server records that the first key is written here.
const FIELD_MANAGER: &str = "tidegate-record-keys";
/// Before an empty Secret that could not be filled is filled again.
const AGAIN: Duration = Duration::from_secs(10);

/// Keys that are replaced while the program runs.
pub type SharedKeys = Arc<ArcSwap<Keys>>;

/// Returns keys that no other process has: 244 random bits.
pub fn own_keys() -> SharedKeys {
    Arc::new(ArcSwap::from_pointee(Keys::new([random()])))
}

fn random() -> Vec<u8> {
    let halves = [Uuid::new_v4(), Uuid::new_v4()];
    halves
        .iter()
        .flat_map(|half| half.simple().to_string().into_bytes())
        .collect()
}

/// The Secret of the keys.
#[derive(Clone, Debug)]
pub struct KeySecret {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether this process puts a first key into it while it is empty.
    pub is_filled: bool,
}

/// What is known of the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It has not been read yet.
    Unread,
    /// Its keys are used.
    Used,
    /// It has no usable key, for this reason; the keys from before stay.
    Unusable(String),
}

/// Follows the Secret until it is dropped.
#[derive(Debug)]
pub struct KeyFollower {
    state: watch::Receiver<KeyState>,
    task: JoinHandle<()>,
}

impl KeyFollower {
    /// Begins to follow the Secret; what it holds replaces the keys.
    pub fn start(client: Client, secret: KeySecret, keys: SharedKeys) -> Self {
        let (told, state) = watch::channel(KeyState::Unread);
        let task = tokio::spawn(follow(client, secret, keys, told));
        Self { state, task }
    }

    /// Returns what is known of the Secret, now and whenever that or a key changes.
    pub fn state(&self) -> watch::Receiver<KeyState> {
        self.state.clone()
    }
}

impl Drop for KeyFollower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(client: Client, secret: KeySecret, keys: SharedKeys, told: watch::Sender<KeyState>) {
    let api: Api<Secret> = Api::namespaced(client, &secret.namespace);
    let place = format!("Secret {}/{}", secret.namespace, secret.name);
    let mut seen = observed(api.clone(), &secret.name);
    let mut last = None;
    loop {
        let waits = last.is_some();
        tokio::select! {
            next = seen.next() => match next {
                Some(next) => last = Some(next),
                None => return,
            },
            () = tokio::time::sleep(AGAIN), if waits => {}
        }
        let state = match &last {
            Some(ObservedObject::There(found)) => match read(found) {
                Ok(Some(found)) => {
                    if **keys.load() != found {
                        keys.store(Arc::new(found));
                        info!(secret = %place, "record keys replaced");
                    }
                    KeyState::Used
                }
                Ok(None) if secret.is_filled => match fill(&api, found).await {
                    // The watch shows what was written, here or by another replica.
                    Ok(()) => continue,
                    Err(error) => KeyState::Unusable(format!(
                        "{place} is empty, and the webhook cannot write a key into it: {}",
                        root(&error)
                    )),
                },
                Ok(None) => KeyState::Unusable(format!("{place} is empty; the webhook writes a key into it")),
                Err(fault) => KeyState::Unusable(format!("{place}: {fault}")),
            },
            Some(ObservedObject::Absent) => KeyState::Unusable(format!(
                "{place} does not exist; it is part of the installation: apply the installation again"
            )),
            Some(ObservedObject::Unreadable { why, .. }) => {
                KeyState::Unusable(format!("{place} cannot be read: {why}"))
            }
            None => continue,
        };
        last = last.filter(|_| matches!(state, KeyState::Unusable(_)));
        told.send_if_modified(|known| {
            let is_new = *known != state || state == KeyState::Used;
            if let (true, KeyState::Unusable(why)) = (*known != state, &state) {
                warn!(
                    why,
                    "cannot load the shared signing keys; the current keys remain in use"
                );
            }
            *known = state;
            is_new
        });
    }
}

/// Returns the keys in a Secret, in the order of their names, or what is wrong with one of them.
pub fn secret_keys(secret: &Secret) -> Result<Vec<Vec<u8>>, String> {
    let data = secret.data.iter().flatten();
    let keys = data.map(|(name, ByteString(key))| {
        let length = key.len();
        if length < Keys::SHORTEST {
            return Err(format!(
                "key {name} has {length} bytes, but a key must have at least {}",
                Keys::SHORTEST
            ));
        }
        Ok(key.clone())
    });
    keys.collect()
}

fn read(secret: &Secret) -> Result<Option<Keys>, String> {
    let keys = secret_keys(secret)?;
    Ok((!keys.is_empty()).then(|| Keys::new(keys)))
}

/// Puts a first key into an empty Secret, at the revision that was read: of two replicas one succeeds.
async fn fill(api: &Api<Secret>, empty: &Secret) -> kube::Result<()> {
    let mut secret = empty.clone();
    secret.data = Some(BTreeMap::from([(FIRST.to_owned(), ByteString(random()))]));
    match apply_secret(api, &secret, FIELD_MANAGER).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        written => written.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(keys: &[(&str, &str)]) -> Secret {
        let data = keys
            .iter()
            .map(|(name, key)| ((*name).to_owned(), ByteString(key.as_bytes().to_vec())));
        Secret {
            data: Some(data.collect()),
            ..Secret::default()
        }
    }

    #[test]
    fn the_last_key_by_name_signs_and_every_key_counts() {
        let (first, second) = ("a".repeat(32), "b".repeat(32));
        assert_eq!(read(&Secret::default()), Ok(None));
        assert_eq!(read(&secret(&[])), Ok(None), "as it is installed");
        let old = read(&secret(&[("1", &first)])).expect("keys").expect("one");
        let signed = old.sign(&["x"]).expect("a key");
        let both = secret(&[("20261127", &second), ("1", &first)]);
        let both = read(&both).expect("keys").expect("two");
        assert!(both.verifies(&["x"], &signed) && both.sign(&["x"]) != Some(signed));
        let fault = read(&secret(&[("1", &first), ("2", "short")])).expect_err("a short key");
        assert_eq!(fault, "key 2 has 5 bytes, but a key must have at least 32");
        assert!(random().len() >= Keys::SHORTEST && random() != random());
    }
}
