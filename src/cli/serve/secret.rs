//! The Secret that the gate's certificate comes from.
//!
//! Decides what is said while there is nothing to show, and when something new is there. What is in it is judged like a file; never
//! prints a key.

use jiff::Timestamp;
use kube::Client;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tracing::{error, warn};

use super::load_error::{FileDigest, LoadError};
use crate::cli::LeasePlace;
use crate::controllers::{SecretFollower, SecretState};
use crate::server::{Certificate, Health};

/// The Secret.
#[derive(Debug)]
pub(super) struct SecretSource {
    place: String,
    sight: watch::Receiver<SecretState>,
    _follower: SecretFollower,
}

impl SecretSource {
    /// Begins to follow it.
    pub(super) fn new(client: Client, place: &LeasePlace) -> Self {
        let follower = SecretFollower::start(client, &place.namespace, &place.name);
        Self {
            place: format!("Secret {}/{}", place.namespace, place.name),
            sight: follower.sight(),
            _follower: follower,
        }
    }

    /// Returns what it is, for the log and the probes.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Waits for something else than before.
    pub(super) async fn changed(&mut self) {
        if self.sight.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns what tells one content from another, and no key.
    pub(super) fn digest(&self) -> FileDigest {
        let mut hash = Sha256::new();
        match &*self.sight.borrow() {
            SecretState::Holds { chain, key } => {
                for text in [chain, key] {
                    hash.update(text.len().to_be_bytes());
                    hash.update(text);
                }
            }
            SecretState::Absent => hash.update("absent"),
            SecretState::Unread | SecretState::Unreadable(_) => hash.update("unread"),
        }
        hash.finalize().into()
    }

    pub(super) fn read(&self) -> Result<Certificate, LoadError> {
        let in_secret = |words: String| LoadError::Secret {
            place: self.place.clone(),
            words,
        };
        match &*self.sight.borrow() {
            SecretState::Holds { chain, key } if !chain.is_empty() && !key.is_empty() => {
                Certificate::from_pem(chain, key).map_err(|source| LoadError::UseSecret {
                    place: self.place.clone(),
                    source,
                })
            }
            SecretState::Holds { .. } => Err(in_secret("no certificate yet".to_owned())),
            SecretState::Absent => Err(in_secret("not found".to_owned())),
            SecretState::Unread => Err(in_secret("not read yet".to_owned())),
            SecretState::Unreadable(why) => Err(in_secret(why.clone())),
        }
    }

    /// Waits until there is something to show; probes and the log say what is waited for.
    pub(super) async fn first(&mut self, health: &Health) -> Certificate {
        let mut told = String::new();
        loop {
            let trouble = match self.read() {
                Ok(certificate) => {
                    health.waits_for(None);
                    if let Err(fault) = certificate.holds(Timestamp::now()) {
                        error!(
                            secret = %self.place,
                            error = &fault as &dyn std::error::Error,
                            "the serving certificate is not valid; the gate is not ready"
                        );
                    }
                    return certificate;
                }
                Err(trouble) => trouble,
            };
            let words = trouble.words();
            health.waits_for(Some(format!("a certificate: {words}")));
            let is_read = !matches!(*self.sight.borrow(), SecretState::Unread);
            if is_read && words != told {
                warn!(why = %words, "waiting for a certificate");
                told = words;
            }
            self.changed().await;
        }
    }
}
