//! Which callers are accepted: those with a certificate of a given CA, those that use the path secret, or every caller.
//!
//! Decides whether a caller has shown who it is. Never prints a secret, and compares it in a time that does not depend on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use subtle::{Choice, ConstantTimeEq as _};

/// Why something is no authority of callers, or no secret.
#[derive(Debug, thiserror::Error)]
pub enum CallersError {
    /// The authority is no list of PEM certificates.
    #[error("cannot parse the CA bundle")]
    ParseAuthority(#[source] rustls::pki_types::pem::Error),
    /// There is no certificate in it, or none to trust.
    #[error("it contains no certificate that can be used as a CA")]
    TrustAuthority(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// There is no secret.
    #[error("there is no path secret")]
    NoSecret,
    /// A secret is too short, too long, or has characters that a path has not. It is not quoted.
    #[error("path secret {line} must be {SHORTEST} to {LONGEST} letters, digits, \"-\" or \"_\"")]
    WrongSecret {
        /// Its line.
        line: usize,
    },
}

/// 128 bits in base64.
const SHORTEST: usize = 22;
const LONGEST: usize = 128;
/// A rotation needs two, the one in use and the next one; a line beyond this many is refused.
const MOST_SECRETS: usize = 4;

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct Callers {
    /// CA of client certificates; without one, the server requests no client certificate.
    pub authority: Option<ClientAuthority>,
    /// Names that such a certificate must have one of; without any, every certificate of the authority will do.
    pub names: BTreeSet<String>,
    /// What the path of a question must end with.
    pub secrets: Option<PathSecrets>,
}

impl Callers {
    /// Returns whether the holder of this certificate may send requests.
    pub(super) fn allow(names: &BTreeSet<String>, certificate: &CertificateDer<'_>) -> bool {
        names.is_empty() || !names.is_disjoint(&kubernetes::certificates::holder(certificate))
    }
}

/// An authority whose certificates callers must have.
#[derive(Clone)]
pub struct ClientAuthority(pub(super) Arc<dyn ClientCertVerifier>);

impl ClientAuthority {
    /// Reads one or more authorities from PEM.
    pub fn from_pem(pem: &str) -> Result<Self, CallersError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(CallersError::ParseAuthority)?;
            roots
                .add(certificate)
                .map_err(|error| CallersError::TrustAuthority(Box::new(error)))?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map(Self)
            .map_err(|error| CallersError::TrustAuthority(Box::new(error)))
    }
}

impl std::fmt::Debug for ClientAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientAuthority")
    }
}

/// Secrets that the path of a question may end with; several while one is being replaced.
#[derive(Clone)]
pub struct PathSecrets(Vec<Vec<u8>>);

impl PathSecrets {
    /// Reads one secret a line.
    pub fn parse(text: &str) -> Result<Self, CallersError> {
        let lines = text.lines().map(str::trim).enumerate();
        let mut secrets = Vec::new();
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            let long = (SHORTEST..=LONGEST).contains(&line.len());
            if !long || !line.bytes().all(fits) || secrets.len() == MOST_SECRETS {
                return Err(CallersError::WrongSecret { line: index + 1 });
            }
            secrets.push(line.as_bytes().to_vec());
        }
        if secrets.is_empty() {
            return Err(CallersError::NoSecret);
        }
        Ok(Self(secrets))
    }

    /// Returns the secret that stands first, for the webhook configurations.
    pub fn first(&self) -> &str {
        let first = self.0.first().and_then(|secret| std::str::from_utf8(secret).ok());
        first.expect("a parsed file has a secret, of ASCII letters")
    }

    /// Returns whether this is one of them, and takes as long whichever and however much of it is right.
    pub(super) fn include(&self, offered: &str) -> bool {
        let found = self.0.iter().fold(Choice::from(0), |found, secret| {
            found | secret.as_slice().ct_eq(offered.as_bytes())
        });
        found.into()
    }
}

impl std::fmt::Debug for PathSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PathSecrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_enough_and_never_told() {
        let (one, two) = ("a".repeat(22), "B-_9".repeat(8));
        let secrets = PathSecrets::parse(&format!("{one}\n\n  {two}\n")).expect("two secrets");
        assert!(secrets.include(&one) && secrets.include(&two));
        assert_eq!(secrets.first(), one);
        for wrong in ["", "a", &"a".repeat(23), &"b".repeat(22)] {
            assert!(!secrets.include(wrong), "{wrong}");
        }
        assert!(!format!("{secrets:?}").contains(&one));
        assert!(matches!(PathSecrets::parse(" \n"), Err(CallersError::NoSecret)));
        for short in [
            format!("{one}\nshort"),
            format!("{one}\n{}/{}", "a".repeat(20), "b".repeat(20)),
        ] {
            let error = PathSecrets::parse(&short).map(|_| ()).expect_err("no secret");
            assert!(matches!(error, CallersError::WrongSecret { line: 2 }), "{error}");
            assert!(!error.to_string().contains("short/"));
        }
    }

    #[test]
    fn an_authority_is_a_certificate() {
        for (pem, told) in [
            ("", "it contains no certificate that can be used as a CA"),
            ("nonsense", "it contains no certificate that can be used as a CA"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "it contains no certificate that can be used as a CA",
            ),
            ("-----BEGIN CERTIFICATE-----\n%%\n", "cannot parse the CA bundle"),
        ] {
            let error = ClientAuthority::from_pem(pem)
                .map(|_| ())
                .expect_err("no authority");
            assert_eq!(error.to_string(), told, "{pem}");
        }
    }
}
