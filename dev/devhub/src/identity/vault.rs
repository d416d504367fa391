//! Keys and tokens of a hub, in memory or in a folder.
//!
//! Decides what outlives a hub that keeps its data: its authority, the administrator's credentials and the key that signs
//! tokens, so that a kubeconfig and a service account's token still hold after a new start.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::tokens::Signer;
use super::{Authority, Credentials, IdentityError, Users};
use crate::program::write_private;

const FILE: &str = "identity.json";

/// Who a hub is.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its authority.
    pub(crate) authority: Authority,
    /// The administrator's certificate.
    pub(crate) admin: Credentials,
    /// The administrator's token.
    pub(crate) token: String,
    signer: Signer,
}

/// The keys of a hub cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The file cannot be read or written.
    #[error("cannot use \"{}\"", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file says nothing of use.
    #[error("cannot read \"{}\": {reason}; remove it to make new keys", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Keys could not be made.
    #[error("cannot make the hub's certificates: {0}")]
    Certificates(String),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    authority_certificate: String,
    authority_key: String,
    admin_certificate: String,
    admin_key: String,
    token: String,
    signing_key: String,
}

impl From<IdentityError> for VaultError {
    fn from(error: IdentityError) -> Self {
        Self::Certificates(error.to_string())
    }
}

impl Identity {
    /// Returns a new identity.
    pub(crate) fn new(token: Option<String>) -> Result<Self, VaultError> {
        let authority = Authority::new()?;
        let admin = authority.client("admin", super::ADMINS)?;
        Ok(Self {
            authority,
            admin,
            token: token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string()),
            signer: Signer::new(),
        })
    }

    /// Returns the identity that is kept in a folder; makes and keeps one where none is.
    pub(crate) fn kept(dir: &Path, token: Option<String>) -> Result<Self, VaultError> {
        let path = dir.join(FILE);
        let identity = match std::fs::read_to_string(&path) {
            Ok(text) => Self::read(&text, token.as_ref()).map_err(|reason| VaultError::Unreadable {
                path: path.clone(),
                reason,
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::new(token)?,
            Err(source) => return Err(VaultError::System { path, source }),
        };
        let text = serde_json::to_string_pretty(&identity.stored()).unwrap_or_default();
        write_private(&path, &text).map_err(|source| VaultError::System { path, source })?;
        Ok(identity)
    }

    fn read(text: &str, token: Option<&String>) -> Result<Self, String> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let named = |what: &'static str| move |error: IdentityError| format!("{what}: {error}");
        let authority = Authority::restored(stored.authority_certificate, &stored.authority_key)
            .map_err(named("the authority"))?;
        let admin = Credentials::restored(stored.admin_certificate, stored.admin_key)
            .map_err(named("the administrator's certificate"))?;
        let key = BASE64
            .decode(&stored.signing_key)
            .map_err(|error| format!("the signing key: {error}"))?;
        Ok(Self {
            authority,
            admin,
            token: token.cloned().unwrap_or(stored.token),
            signer: Signer::restored(&key).ok_or("the signing key has another length")?,
        })
    }

    fn stored(&self) -> Stored {
        Stored {
            authority_certificate: self.authority.pem.clone(),
            authority_key: self.authority.key_pem.clone(),
            admin_certificate: self.admin.certificate.clone(),
            admin_key: self.admin.key.clone(),
            token: self.token.clone(),
            signing_key: BASE64.encode(self.signer.key()),
        }
    }

    /// Returns the users of a hub with this identity.
    pub(crate) fn users(&self) -> Users {
        Users::new(&self.token, self.signer.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_is_kept_is_the_same_after_a_new_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Identity::kept(folder.path(), None).expect("an identity");
        let second = Identity::kept(folder.path(), None).expect("an identity");
        assert_eq!(
            (&first.token, &first.authority.pem, &first.admin.certificate),
            (&second.token, &second.authority.pem, &second.admin.certificate)
        );
        assert_eq!(first.authority.root(), second.authority.root());
        assert_eq!(first.signer.key(), second.signer.key());
        second.authority.serving().expect("the restored authority signs");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, told) in [
            ("{", "EOF"),
            ("{\"token\": \"x\"}", "missing field"),
            ("[]", "invalid"),
        ] {
            std::fs::write(folder.path().join(FILE), text).expect("writable");
            let error = Identity::kept(folder.path(), None).expect_err("it cannot be read");
            let said = error.to_string();
            assert!(said.contains(told) && said.contains(FILE), "{said}");
        }
    }
}
