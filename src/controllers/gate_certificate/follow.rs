//! What a Secret with the gate's certificate holds, for the gate that shows it.
//!
//! Decides nothing about certificates. Only reads, and never prints a key.

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::controllers::runtime::api_watch::{ObservedObject, observed};
use kubernetes::certificates::{CERTIFICATE, KEY};

/// What is known of the Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretState {
    /// Nothing yet.
    Unread,
    /// It cannot be read, and why.
    Unreadable(String),
    /// There is none.
    Absent,
    /// It holds this chain and this key, which may be empty.
    Holds {
        /// The chain.
        chain: String,
        /// The private key.
        key: String,
    },
}

impl std::fmt::Debug for SecretState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unread => "unread",
            Self::Unreadable(why) => why,
            Self::Absent => "absent",
            Self::Holds { .. } => "holds something",
        })
    }
}

/// Follows a Secret until it is dropped.
#[derive(Debug)]
pub struct SecretFollower {
    sight: watch::Receiver<SecretState>,
    task: JoinHandle<()>,
}

impl SecretFollower {
    /// Begins to follow a Secret.
    pub fn start(client: Client, namespace: &str, name: &str) -> Self {
        let api: Api<Secret> = Api::namespaced(client, namespace);
        let mut seen = observed(api, name);
        let (told, sight) = watch::channel(SecretState::Unread);
        let task = tokio::spawn(async move {
            while let Some(next) = seen.next().await {
                told.send_replace(read(next));
            }
        });
        Self { sight, task }
    }

    /// Returns what is known, now and whenever it changes.
    pub fn sight(&self) -> watch::Receiver<SecretState> {
        self.sight.clone()
    }
}

impl Drop for SecretFollower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn read(sight: ObservedObject<Secret>) -> SecretState {
    match sight {
        ObservedObject::Absent => SecretState::Absent,
        ObservedObject::Unreadable { why, .. } => SecretState::Unreadable(why),
        ObservedObject::There(secret) => {
            let data = secret.data.unwrap_or_default();
            let text = |key: &str| {
                let bytes = data.get(key).map(|bytes| bytes.0.as_slice());
                String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
            };
            SecretState::Holds {
                chain: text(CERTIFICATE),
                key: text(KEY),
            }
        }
    }
}
