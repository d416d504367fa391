//! An own certificate authority for development and for tests.
//!
//! Decides names and lifetimes of the certificates it issues. The authority's key never leaves memory; a leaf's key is
//! written only on request, readable by its owner alone. In a cluster the certificate is issued elsewhere: see `certs/`.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::certificate::{Certificate, CertificateError};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
const AUTHORITY_LIFE: Duration = Duration::from_secs(365 * DAY);
const LEAF_LIFE: Duration = Duration::from_secs(30 * DAY);
/// Certificates count from an hour ago, for callers whose clock is behind ours.
const CLOCK_SLACK: Duration = Duration::from_secs(HOUR);

/// Why a certificate cannot be issued or kept.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// A key or a certificate cannot be made.
    #[error("cannot issue a certificate")]
    Sign(#[from] rcgen::Error),
    /// What was issued cannot be served with.
    #[error("cannot use the issued certificate")]
    Use(#[from] CertificateError),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    WriteFile {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// A certificate authority that lives as long as the process.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    ca_pem: String,
}

/// A certificate, also as text.
pub struct Issued {
    certificate: Certificate,
    chain_pem: String,
    key_pem: String,
}

impl Authority {
    /// Makes an authority with a new key.
    pub fn generate() -> Result<Self, IssueError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "tidegate development authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        lives(&mut params, AUTHORITY_LIFE);
        let ca_pem = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            ca_pem,
        })
    }

    /// Returns the certificate that callers must trust.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Issues a server certificate for these names and addresses.
    pub fn issue<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Issued, IssueError> {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "tidegate");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        lives(&mut params, LEAF_LIFE);
        self.sign(params)
    }

    /// Issues what `params` say, whether or not it can be served with: PEM of the chain and of the key.
    pub(super) fn sign_pem(&self, mut params: CertificateParams) -> Result<(String, String), IssueError> {
        let key = KeyPair::generate()?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let chain_pem = params.signed_by(&key, &self.issuer)?.pem();
        Ok((chain_pem, key.serialize_pem()))
    }

    fn sign(&self, params: CertificateParams) -> Result<Issued, IssueError> {
        let (chain_pem, key_pem) = self.sign_pem(params)?;
        let certificate = Certificate::from_pem(&chain_pem, &key_pem)?;
        Ok(Issued {
            certificate,
            chain_pem,
            key_pem,
        })
    }
}

impl Issued {
    /// Returns the certificate to serve with.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns the chain as PEM.
    pub fn chain_pem(&self) -> &str {
        &self.chain_pem
    }

    /// Returns the private key as PEM; not for logs.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// Writes chain and key; the key is readable by its owner alone from its first byte on.
    pub fn write(&self, chain: &Path, key: &Path) -> Result<(), IssueError> {
        write(chain, &self.chain_pem, 0o644)?;
        write(key, &self.key_pem, 0o600)
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Issued")
    }
}

fn lives(params: &mut CertificateParams, life: Duration) {
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let now = rcgen::date_time_ymd(1970, 1, 1) + since_epoch;
    params.not_before = now - CLOCK_SLACK;
    params.not_after = now + life;
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), IssueError> {
    // A file that exists keeps its mode and may be a link to somewhere else, so it is replaced and never reused.
    let removed = match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    };
    let file = removed.and_then(|()| {
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
    });
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| IssueError::WriteFile {
            path: path.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_written_key_is_for_its_owner_alone_even_over_an_open_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (chain, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
        std::fs::write(&key, "world-readable").expect("an old file");
        let issued = Authority::generate()
            .expect("an authority")
            .issue(["localhost", "127.0.0.1"])
            .expect("a leaf");
        issued.write(&chain, &key).expect("both files");
        let mode = std::fs::metadata(&key).expect("the key").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        Certificate::read(&chain, &key).expect("what was written can be served with");
    }
}
