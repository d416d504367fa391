//! When and for which names a certificate holds.
//!
//! Decides whether an API server could accept it at a given time, as far as that can be told without knowing the authority that
//! the API server trusts. Never asks for the time.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{ASN1Time, FromDer as _, X509Certificate};

/// Until when, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validity {
    /// When it begins to hold.
    pub not_before: Timestamp,
    /// When it ends.
    pub not_after: Timestamp,
    /// Names and addresses of its subject.
    pub names: BTreeSet<String>,
    /// Whether it may be shown by a server.
    pub serves: bool,
}

/// Why a certificate does not hold at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It begins then.
    NotYet(Timestamp),
    /// It has ended then.
    Ended(Timestamp),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotYet(begin) => write!(f, "it begins at {begin}"),
            Self::Ended(end) => write!(f, "it expired at {end}"),
        }
    }
}

impl Validity {
    /// Reads it out of a certificate in DER; nothing when that is no certificate.
    pub fn read(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let time = |time: ASN1Time| Timestamp::from_second(time.timestamp()).ok();
        let purposes = certificate.extended_key_usage().ok()?;
        Some(Self {
            not_before: time(certificate.validity().not_before)?,
            not_after: time(certificate.validity().not_after)?,
            names: names(&certificate),
            serves: purposes.is_none_or(|purposes| purposes.value.server_auth || purposes.value.any),
        })
    }

    /// Returns what is wrong with it at a time.
    pub fn fault(&self, now: Timestamp) -> Option<Fault> {
        if now < self.not_before {
            return Some(Fault::NotYet(self.not_before));
        }
        (now > self.not_after).then_some(Fault::Ended(self.not_after))
    }

    /// Tells whether the last tenth of its life has begun: by then it should have been renewed.
    pub fn ends_soon(&self, now: Timestamp) -> bool {
        let life = self.not_after.duration_since(self.not_before);
        self.not_after.duration_since(now) < life / 10
    }

    /// Tells whether it holds for a name; `*.example` stands for one label.
    pub fn covers(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let star = name.split_once('.').map(|(_, rest)| format!("*.{rest}"));
        self.names.contains(&name) || star.is_some_and(|star| self.names.contains(&star))
    }
}

/// Returns the DNS names and addresses that a certificate is for.
fn names(certificate: &X509Certificate<'_>) -> BTreeSet<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return BTreeSet::new();
    };
    let names = extension.value.general_names.iter();
    names
        .filter_map(|name| {
            if let GeneralName::DNSName(name) = name {
                return Some(name.to_ascii_lowercase());
            }
            let GeneralName::IPAddress(bytes) = name else {
                return None;
            };
            address(bytes).map(|address| address.to_string())
        })
        .collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(v4.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

/// Returns the names by which the holder of a certificate may be called: its common name, and all of its alternative ones.
pub fn holder(der: &[u8]) -> BTreeSet<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return BTreeSet::new();
    };
    let common = certificate.subject().iter_common_name();
    let common = common.filter_map(|name| name.as_str().ok().map(str::to_owned));
    let uris = match certificate.subject_alternative_name() {
        Ok(Some(extension)) => extension.value.general_names.clone(),
        Ok(None) | Err(_) => Vec::new(),
    };
    let uris = uris.into_iter().filter_map(|name| {
        if let GeneralName::URI(uri) = name {
            Some(uri.to_owned())
        } else {
            None
        }
    });
    common.chain(uris).chain(names(&certificate)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(not_before: &str, not_after: &str) -> Validity {
        let time = |text: &str| text.parse().expect("a time");
        Validity {
            not_before: time(not_before),
            not_after: time(not_after),
            names: BTreeSet::from(["*.tidegate.svc".to_owned(), "10.0.0.1".to_owned()]),
            serves: true,
        }
    }

    #[test]
    fn names_are_whole_or_one_star() {
        let validity = holding("2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z");
        for (name, covered) in [
            ("gate.tidegate.svc", true),
            ("GATE.Tidegate.svc", true),
            ("a.gate.tidegate.svc", false),
            ("tidegate.svc", false),
            ("10.0.0.1", true),
            ("10.0.0.2", false),
        ] {
            assert_eq!(validity.covers(name), covered, "{name}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        for der in [b"".as_slice(), b"\x30\x03", &[0xff; 100]] {
            assert_eq!(Validity::read(der), None);
            assert!(holder(der).is_empty());
        }
    }
}
