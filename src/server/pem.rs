//! What PEM files hold, in words.
//!
//! Decides how errors in the files of a certificate and of its key are reported. Never repeats a byte of them.

use std::path::Path;

use rustls::pki_types::pem::{PemObject, SectionKind};

/// What a file is to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Certificate,
    Key,
}

impl Wanted {
    fn word(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Key => "private key",
        }
    }

    /// The word for metrics when it is not there.
    fn reason(self) -> &'static str {
        match self {
            Self::Certificate => "no-certificate",
            Self::Key => "no-key",
        }
    }

    fn is(self, kind: SectionKind) -> bool {
        match kind {
            SectionKind::Certificate => self == Self::Certificate,
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                self == Self::Key
            }
            _ => false,
        }
    }
}

/// Returns what is wrong with the files of a chain and of its key, and a word for metrics;
/// nothing where each holds what it should.
pub(super) fn wrong_files(
    chain: &Path,
    certificate: &str,
    key: &Path,
    secret: &str,
) -> Option<(Vec<String>, &'static str)> {
    let sights = [
        (Wanted::Certificate, Wanted::Key, chain, kinds(certificate)),
        (Wanted::Key, Wanted::Certificate, key, kinds(secret)),
    ];
    // A file whose PEM is broken passes here: reading the certificate tells what is broken.
    let holds = |wanted: Wanted, kinds: &Option<Vec<SectionKind>>| {
        let Some(kinds) = kinds else {
            return true;
        };
        kinds.iter().any(|kind| wanted.is(*kind))
    };
    let wrong = || {
        sights
            .iter()
            .filter(|(wanted, _, _, kinds)| !holds(*wanted, kinds))
    };
    let (first, ..) = wrong().next()?;
    let mut words: Vec<String> = wrong()
        .map(|(wanted, _, path, kinds)| {
            let path = path.display();
            let kinds = kinds.as_deref().unwrap_or_default();
            let wanted = wanted.word();
            if kinds.is_empty() {
                format!("\"{path}\" contains no {wanted}")
            } else {
                format!("\"{path}\" contains {} instead of a {wanted}", told(kinds))
            }
        })
        .collect();
    if sights.iter().all(|(_, other, _, kinds)| holds(*other, kinds)) && words.len() == sights.len() {
        words.push("--certificate and --key are swapped".to_owned());
    }
    Some((words, first.reason()))
}

/// What blocks a text has; nothing when one of them is broken.
fn kinds(text: &str) -> Option<Vec<SectionKind>> {
    <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes())
        .map(|block| Some(block.ok()?.0))
        .collect()
}

fn told(kinds: &[SectionKind]) -> String {
    let mut words: Vec<&str> = kinds
        .iter()
        .map(|kind| match kind {
            SectionKind::Certificate => "a certificate",
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                "a private key"
            }
            SectionKind::PublicKey => "a public key",
            SectionKind::Csr => "a certificate signing request",
            SectionKind::Crl => "a certificate revocation list",
            _ => "another PEM block",
        })
        .collect();
    words.dedup();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Authority;

    fn wrong(chain: &str, key: &str) -> Option<(Vec<String>, &'static str)> {
        wrong_files(Path::new("a"), chain, Path::new("b"), key)
    }

    #[test]
    fn each_file_is_reported_with_what_it_holds() {
        let authority = Authority::generate().expect("an authority");
        let issued = authority.issue(["localhost"]).expect("a certificate");
        let (chain, key) = (issued.chain_pem(), issued.key_pem());
        assert_eq!(wrong(chain, key), None);
        let both = [chain, key].concat();
        assert_eq!(wrong(&both, &both), None, "one file may hold both");
        let (words, reason) = wrong(key, chain).expect("they are swapped");
        assert_eq!(reason, "no-certificate");
        assert_eq!(
            words,
            [
                "\"a\" contains a private key instead of a certificate",
                "\"b\" contains a certificate instead of a private key",
                "--certificate and --key are swapped"
            ]
        );
        let (words, reason) = wrong(chain, "nonsense").expect("no key");
        assert_eq!(reason, "no-key");
        assert_eq!(words, ["\"b\" contains no private key"]);
        let cut = chain.get(..chain.len() / 2).expect("letters");
        assert_eq!(
            wrong(cut, key),
            None,
            "the reader of the chain says what is wrong"
        );
    }
}
