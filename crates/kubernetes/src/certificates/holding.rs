//! What a Secret holds that the gate's certificate is renewed in.
//!
//! Decides which pairs callers could trust, and why not the others. Whatever is in a Secret is read without fail: it may be
//! half written, or another program's. Never prints a key.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::validity::{Fault, Validity};

/// Chain of the certificate that is shown.
pub const CERTIFICATE: &str = "tls.crt";
/// Its private key.
pub const KEY: &str = "tls.key";
/// All authorities whom callers are to trust.
pub const AUTHORITIES: &str = "ca.crt";
/// Chain of the certificate that is shown as soon as callers trust its authority.
pub const NEXT_CERTIFICATE: &str = "next.crt";
/// Its private key.
pub const NEXT_KEY: &str = "next.key";

/// The data of a Secret.
pub type Data = BTreeMap<String, Vec<u8>>;

/// Why callers could not trust a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is none.
    Absent,
    /// The chain is no list of certificates in PEM.
    NoCertificate,
    /// The key is none.
    NoKey,
    /// The key belongs to another certificate.
    Mismatch,
    /// It is not for servers.
    NotForServers,
    /// It is not for the name that callers use.
    OtherNames,
    /// None of the authorities that are held has signed it.
    UnknownAuthority,
    /// Its time has not come, or is over.
    OutOfTime(Fault),
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("there is none"),
            Self::NoCertificate => f.write_str("the chain is no certificate in PEM"),
            Self::NoKey => f.write_str("the key is no private key in PEM"),
            Self::Mismatch => f.write_str("the key does not match the certificate"),
            Self::NotForServers => f.write_str("it is not for servers"),
            Self::OtherNames => f.write_str("it is for other names"),
            Self::UnknownAuthority => f.write_str("its CA is not in the CA bundle that callers trust"),
            Self::OutOfTime(fault) => fault.fmt(f),
        }
    }
}

/// A certificate with the key that fits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// When, and for whom.
    pub validity: Validity,
    /// Whether one of the authorities that are held has signed it.
    pub is_signed: bool,
}

impl Pair {
    /// Returns why callers who use this name could not trust it at this time.
    pub fn flaw(&self, name: &str, now: Timestamp) -> Option<Flaw> {
        if !self.validity.serves {
            return Some(Flaw::NotForServers);
        }
        if !self.validity.covers(name) {
            return Some(Flaw::OtherNames);
        }
        if let Some(fault) = self.validity.fault(now) {
            return Some(Flaw::OutOfTime(fault));
        }
        (!self.is_signed).then_some(Flaw::UnknownAuthority)
    }
}

/// A certificate authority whose signature callers are to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Its certificate.
    pub der: Vec<u8>,
    /// When it holds.
    pub validity: Validity,
}

/// What a Secret holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// What is shown, or why it cannot be.
    pub shown: Result<Pair, Flaw>,
    /// What is shown next, or why it cannot be.
    pub next: Result<Pair, Flaw>,
    /// Whom callers are to trust, in the order of the Secret.
    pub authorities: Vec<Authority>,
    /// Whether something is in the list of authorities that is none.
    pub has_rubbish: bool,
}

impl Holding {
    /// Reads what a Secret holds.
    pub fn read(data: &Data) -> Self {
        let list = data.get(AUTHORITIES).map(Vec::as_slice).unwrap_or_default();
        let (authorities, has_rubbish) = authorities(list);
        let read = |chain, key| pair(data.get(chain), data.get(key), &authorities);
        Self {
            shown: read(CERTIFICATE, KEY),
            next: read(NEXT_CERTIFICATE, NEXT_KEY),
            authorities,
            has_rubbish,
        }
    }
}

/// Reads authorities, each once; tells whether there is something else among them.
pub(super) fn authorities(pem: &[u8]) -> (Vec<Authority>, bool) {
    let mut found: Vec<Authority> = Vec::new();
    let mut has_rubbish = false;
    for der in CertificateDer::pem_slice_iter(pem) {
        let authority = der.ok().and_then(|der| {
            let is_authority = X509Certificate::from_der(&der).is_ok_and(|(_, read)| read.is_ca());
            let validity = Validity::read(&der).filter(|_| is_authority)?;
            Some(Authority {
                der: der.to_vec(),
                validity,
            })
        });
        match authority {
            Some(authority) if !found.contains(&authority) => found.push(authority),
            Some(_) | None => has_rubbish = true,
        }
    }
    let is_silent = found.is_empty() && !pem.is_empty();
    (found, has_rubbish || is_silent)
}

fn pair(chain: Option<&Vec<u8>>, key: Option<&Vec<u8>>, authorities: &[Authority]) -> Result<Pair, Flaw> {
    let text = |bytes: Option<&Vec<u8>>| bytes.filter(|bytes| !bytes.is_empty()).cloned();
    let (chain, key) = match (text(chain), text(key)) {
        (None, None) => return Err(Flaw::Absent),
        (None, Some(_)) => return Err(Flaw::NoCertificate),
        (Some(_), None) => return Err(Flaw::NoKey),
        (Some(chain), Some(key)) => (chain, key),
    };
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let chain = chain.map_err(|_garbage| Flaw::NoCertificate)?;
    let leaf = chain.first().ok_or(Flaw::NoCertificate)?;
    let validity = Validity::read(leaf).ok_or(Flaw::NoCertificate)?;
    let is_signed = authorities.iter().any(|authority| has_signed(authority, leaf));
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_garbage| Flaw::NoKey)?;
    CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|_mismatch| Flaw::Mismatch)?;
    Ok(Pair { validity, is_signed })
}

fn has_signed(authority: &Authority, leaf: &[u8]) -> bool {
    let (Ok((_, issuer)), Ok((_, leaf))) = (
        X509Certificate::from_der(&authority.der),
        X509Certificate::from_der(leaf),
    ) else {
        return false;
    };
    issuer.subject() == leaf.issuer() && leaf.verify_signature(Some(issuer.public_key())).is_ok()
}
