//! The certificate's files, and what happens when they are replaced.
//!
//! Decides when a certificate has changed: by content, because a mounted Secret is replaced by moving a link. A pair that
//! does not fit together is never shown; the old certificate stays until both files have changed.

use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tracing::warn;

use crate::server::{Certificate, CertificateError, Gate};

/// How often the files are looked at. A certificate is replaced weeks before it ends; seconds do not matter.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Where the certificate and its key lie.
#[derive(Debug)]
pub(super) struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What the files held when they were read; no key can be told from it.
pub(super) type Seen = [u8; 32];

impl Files {
    /// Names the files.
    pub(super) fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }

    /// Reads the certificate, and a digest of the files to compare later ones with.
    pub(super) fn read(&self) -> Result<(Seen, Certificate), CertificateError> {
        let seen = self.digest();
        Ok((seen, Certificate::read(&self.certificate, &self.key)?))
    }

    /// Shows every new certificate at the gate; goes on until it is dropped.
    pub(super) async fn follow(&self, seen: &mut Seen, gate: &Gate) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.digest() == *seen {
                continue;
            }
            match self.read() {
                Ok((now, certificate)) => {
                    *seen = now;
                    gate.swap_certificate(&certificate);
                }
                Err(error) => {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "new certificate cannot be used, the old one stays"
                    );
                }
            }
        }
    }

    /// A file that cannot be read counts as empty: reading it again tells why.
    fn digest(&self) -> Seen {
        let mut hash = Sha256::new();
        for path in [&self.certificate, &self.key] {
            let bytes = std::fs::read(path).unwrap_or_default();
            hash.update(bytes.len().to_be_bytes());
            hash.update(bytes);
        }
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Authority;

    #[test]
    fn replaced_files_are_told_from_untouched_ones() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = Files::new(folder.path().join("tls.crt"), folder.path().join("tls.key"));
        let missing = files.read().expect_err("there are no files yet");
        assert!(missing.to_string().contains("tls.crt"), "{missing}");

        let authority = Authority::generate().expect("an authority");
        let write = |name: &str| {
            let issued = authority.issue([name]).expect("a certificate");
            std::fs::write(&files.certificate, issued.chain_pem()).expect("writable");
            std::fs::write(&files.key, issued.key_pem()).expect("writable");
        };
        write("one.example");
        let (first, _) = files.read().expect("a pair");
        assert_eq!(files.digest(), first, "reading again finds no change");
        write("two.example");
        let (second, _) = files.read().expect("a pair");
        assert_ne!(first, second);

        let other = authority.issue(["three.example"]).expect("a certificate");
        std::fs::write(&files.key, other.key_pem()).expect("writable");
        assert!(files.read().is_err(), "a key of another certificate is not taken");
    }
}
