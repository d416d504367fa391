//! The certificate that the server shows, and its replacement while connections are open.
//!
//! Decides what a usable certificate is. Never prints a key, not even in an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::pem;
use crate::files::read_text;
use kubernetes::certificates::{Fault, Validity};

/// The largest file of a certificate or key, in bytes.
const LARGEST: u64 = 1 << 20;

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
    #[error("it contains no certificate (PEM block CERTIFICATE)")]
    EmptyChain,
    /// The key is no PEM private key. The cause is left out: it might quote the key.
    #[error("cannot parse the private key")]
    ParseKey,
    /// The key does not belong to the certificate, or is of a kind that the TLS library does not support.
    #[error("the private key does not match the certificate")]
    Mismatch(#[source] rustls::Error),
    /// The first certificate of the chain is none.
    #[error("cannot parse the first certificate of the chain")]
    ParseLeaf,
    /// It has no subject alternative name, and callers look at no other name.
    #[error(
        "the certificate has no name: it needs a subject alternative name, such as the DNS name of the service"
    )]
    Nameless,
    /// It may not be shown by servers.
    #[error("the certificate is not for servers: its extended key usage lacks serverAuth")]
    NotForServers,
    /// It does not hold now.
    #[error("the certificate is not valid now: {0}")]
    OutOfTime(String, &'static str),
    /// It is for other names.
    #[error("the certificate is for {found}, not for {wanted}")]
    OtherNames {
        /// Its names.
        found: String,
        /// What it should be for.
        wanted: String,
    },
    /// Files that are not what they should be, in words for each.
    #[error("{}", words.join("; "))]
    WrongFiles {
        /// What is wrong with each.
        words: Vec<String>,
        /// A word for metrics.
        reason: &'static str,
    },
    /// What these files hold cannot be served with.
    #[error("cannot serve with {} and {}", chain.display(), key.display())]
    UseFiles {
        /// The file of the chain.
        chain: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why not.
        source: Box<Self>,
    },
}

impl CertificateError {
    /// Returns a word for metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::ReadFile { .. } => "unreadable",
            Self::ParseChain(_) | Self::ParseLeaf | Self::EmptyChain => "no-certificate",
            Self::ParseKey => "no-key",
            Self::Mismatch(_) => "mismatch",
            Self::Nameless => "nameless",
            Self::NotForServers => "not-for-servers",
            Self::OutOfTime(_, reason) | Self::WrongFiles { reason, .. } => reason,
            Self::OtherNames { .. } => "other-names",
            Self::UseFiles { source, .. } => source.reason(),
        }
    }
}

/// A certificate chain with its private key.
#[derive(Clone)]
pub struct Certificate {
    key: Arc<CertifiedKey>,
    validity: Validity,
}

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
        let leaf = chain.first().and_then(|leaf| Validity::read(leaf));
        let validity = leaf.ok_or(CertificateError::ParseLeaf)?;
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
            .map_err(CertificateError::Mismatch)?;
        if validity.names.is_empty() {
            return Err(CertificateError::Nameless);
        }
        if !validity.serves {
            return Err(CertificateError::NotForServers);
        }
        Ok(Self {
            key: Arc::new(key),
            validity,
        })
    }

    /// Returns whether the certificate is valid at this time.
    pub fn holds(&self, now: Timestamp) -> Result<(), CertificateError> {
        self.validity.fault(now).map_or(Ok(()), |fault| {
            let reason = match fault {
                Fault::NotYet(_) => "not-yet-valid",
                Fault::Ended(_) => "expired",
            };
            Err(CertificateError::OutOfTime(fault.to_string(), reason))
        })
    }

    /// Returns whether the certificate is for this name.
    pub fn is_for(&self, name: &str) -> Result<(), CertificateError> {
        if self.validity.covers(name) {
            return Ok(());
        }
        Err(self.other_names(name.to_owned()))
    }

    /// Returns whether the certificate has a name of another one, which it replaces.
    fn succeeds(&self, other: &Validity) -> Result<(), CertificateError> {
        if !self.validity.names.is_disjoint(&other.names) {
            return Ok(());
        }
        Err(self.other_names(listed(other)))
    }

    fn other_names(&self, wanted: String) -> CertificateError {
        CertificateError::OtherNames {
            found: listed(&self.validity),
            wanted,
        }
    }

    pub(super) fn validity(&self) -> &Validity {
        &self.validity
    }

    /// Reads a chain and its key from two PEM files. Errors of both are reported together.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let files = [chain, key].map(|path| (path, read_text(path, LARGEST)));
        match &files {
            [(_, Ok(certificate)), (_, Ok(secret))] => {
                let wrong = pem::wrong_files(chain, certificate, key, secret);
                if let Some((words, reason)) = wrong {
                    return Err(CertificateError::WrongFiles { words, reason });
                }
                Self::from_pem(certificate, secret).map_err(|source| CertificateError::UseFiles {
                    chain: chain.to_owned(),
                    key: key.to_owned(),
                    source: Box::new(source),
                })
            }
            _ => Err(unreadable(files)),
        }
    }
}

/// Returns for each file why it cannot be read.
fn unreadable(files: [(&Path, std::io::Result<String>); 2]) -> CertificateError {
    let failed = files
        .into_iter()
        .filter_map(|(path, read)| Some((path.to_owned(), read.err()?)));
    let mut failed: Vec<(PathBuf, std::io::Error)> = failed.collect();
    match failed.pop() {
        Some((path, source)) if failed.is_empty() => CertificateError::ReadFile { path, source },
        last => CertificateError::WrongFiles {
            words: failed
                .into_iter()
                .chain(last)
                .map(|(path, why)| format!("cannot read {}: {why}", path.display()))
                .collect(),
            reason: "unreadable",
        },
    }
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate")
    }
}

/// Few names are enough to tell what a certificate is for.
fn listed(validity: &Validity) -> String {
    let names: Vec<&str> = validity.names.iter().take(5).map(String::as_str).collect();
    names.join(", ")
}

/// The certificate in use; new connections see a replacement at once, open ones keep theirs.
#[derive(Debug)]
pub(super) struct Shown {
    certificate: ArcSwap<Certificate>,
    /// The name that callers use, if that is known.
    name: Option<String>,
}

impl Shown {
    pub(super) fn new(certificate: &Certificate, name: Option<String>) -> Result<Self, CertificateError> {
        if let Some(name) = &name {
            certificate.is_for(name)?;
        }
        Ok(Self {
            certificate: ArcSwap::from_pointee(certificate.clone()),
            name,
        })
    }

    pub(super) fn validity(&self) -> Validity {
        self.certificate.load().validity.clone()
    }

    /// Shows another one, unless callers could not accept it: then the old one stays, however old it is.
    pub(super) fn replace(&self, certificate: &Certificate, now: Timestamp) -> Result<(), CertificateError> {
        certificate.holds(now)?;
        match &self.name {
            Some(name) => certificate.is_for(name)?,
            None => certificate.succeeds(self.certificate.load().validity())?,
        }
        self.certificate.store(Arc::new(certificate.clone()));
        Ok(())
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.certificate.load().key))
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
        let said = missing.to_string();
        for file in ["cannot read /no/such.crt: ", "; cannot read /no/such.key: "] {
            assert!(said.contains(file), "{said}");
        }
        assert_eq!(missing.reason(), "unreadable");
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
            "the private key does not match the certificate"
        );
        assert!(!format!("{mismatch:?} {one:?} {:?}", one.certificate()).contains("PRIVATE"));
    }
}
