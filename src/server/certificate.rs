//! The certificate that the server shows, and its replacement while connections are open.
//!
//! Decides what a usable certificate is. Never prints a key, not even in an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Why something is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The chain is no list of PEM certificates.
    #[error("cannot parse the certificate chain")]
    ParseChain(#[source] rustls::pki_types::pem::Error),
    /// There is no certificate in the chain.
    #[error("the certificate chain is empty")]
    EmptyChain,
    /// The key is no PEM private key. The cause is left out: it might quote the key.
    #[error("cannot parse the private key")]
    ParseKey,
    /// The key does not belong to the certificate, or is of a kind that nobody supports.
    #[error("the private key does not fit the certificate")]
    Mismatch(#[source] rustls::Error),
}

/// A certificate chain with its private key.
#[derive(Clone)]
pub struct Certificate(Arc<CertifiedKey>);

impl Certificate {
    /// Reads a chain, leaf first, and its key from PEM.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, CertificateError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(CertificateError::ParseChain)?;
        if chain.is_empty() {
            return Err(CertificateError::EmptyChain);
        }
        let Ok(key) = PrivateKeyDer::from_pem_slice(key.as_bytes()) else {
            return Err(CertificateError::ParseKey);
        };
        let certified = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider());
        certified
            .map(|key| Self(Arc::new(key)))
            .map_err(CertificateError::Mismatch)
    }

    /// Reads a chain and its key from two PEM files.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|source| CertificateError::ReadFile {
                path: path.to_owned(),
                source,
            })
        };
        Self::from_pem(&read(chain)?, &read(key)?)
    }
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate")
    }
}

/// The certificate in use; new connections see a replacement at once, open ones keep theirs.
#[derive(Debug)]
pub(super) struct Shown(ArcSwap<CertifiedKey>);

impl Shown {
    pub(super) fn new(certificate: &Certificate) -> Self {
        Self(ArcSwap::new(Arc::clone(&certificate.0)))
    }

    pub(super) fn replace(&self, certificate: &Certificate) {
        self.0.store(Arc::clone(&certificate.0));
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Authority;

    #[test]
    fn errors_name_the_file_and_never_the_key() {
        let missing =
            Certificate::read(Path::new("/no/such.crt"), Path::new("/no/such.key")).expect_err("no file");
        assert_eq!(missing.to_string(), "cannot read /no/such.crt");
        let authority = Authority::generate().expect("an authority");
        let one = authority.issue(["localhost"]).expect("a certificate");
        let other = authority.issue(["localhost"]).expect("a certificate");
        assert!(matches!(
            Certificate::from_pem("", one.key_pem()),
            Err(CertificateError::EmptyChain)
        ));
        assert!(matches!(
            Certificate::from_pem(one.chain_pem(), "nonsense"),
            Err(CertificateError::ParseKey)
        ));
        let mismatch = Certificate::from_pem(one.chain_pem(), other.key_pem()).expect_err("another key");
        assert_eq!(
            mismatch.to_string(),
            "the private key does not fit the certificate"
        );
        assert!(!format!("{mismatch:?} {one:?} {:?}", one.certificate()).contains("PRIVATE"));
    }
}
