//! Signatures of what one replica writes into an object and another reads back: HMAC-SHA256 with keys that they share.
//!
//! Decides which key signs, and that a signature covers its parts one by one. Never decides what a missing signature means.

use std::collections::BTreeMap;
use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// How many letters of the digest of a key are its id.
const ID: usize = 8;

/// Keys by their ids. One signs, all of them verify: a key is replaced by adding its successor first.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys {
    signing: String,
    all: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.all.keys()).finish()
    }
}

impl Keys {
    /// The shortest key that is of use, in bytes.
    pub const SHORTEST: usize = 32;

    /// Makes keys of secrets; the last one signs.
    pub fn new(secrets: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut keys = Self::default();
        for secret in secrets {
            keys.signing = id(&secret);
            keys.all.insert(keys.signing.clone(), secret);
        }
        keys
    }

    /// Returns whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Signs parts: `ID.MAC`. Without a key there is no signature.
    pub fn sign(&self, parts: &[&str]) -> Option<String> {
        let mac = mac(self.all.get(&self.signing)?, parts)?.finalize();
        Some(format!("{}.{}", self.signing, hex(&mac.into_bytes())))
    }

    /// Returns whether one of the keys has signed these parts.
    pub fn verifies(&self, parts: &[&str], signature: &str) -> bool {
        let verified = signature.split_once('.').and_then(|(id, given)| {
            let mac = mac(self.all.get(id)?, parts)?;
            mac.verify_slice(&bytes(given)?).ok()
        });
        verified.is_some()
    }
}

/// Every part is preceded by its length, so that no two lists of parts are the same text.
fn mac(key: &[u8], parts: &[&str]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    for part in parts {
        mac.update(format!("{}:", part.len()).as_bytes());
        mac.update(part.as_bytes());
    }
    Some(mac)
}

fn id(secret: &[u8]) -> String {
    let mut id = hex(&Sha256::digest(secret));
    id.truncate(ID);
    id
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| (high << 4) | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Vec<u8> {
        vec![byte; Keys::SHORTEST]
    }

    #[test]
    fn a_signature_is_of_a_key_and_of_its_parts() {
        let keys = Keys::new([key(1)]);
        let signed = keys.sign(&["ns", "name", "value"]).expect("a key");
        assert!(keys.verifies(&["ns", "name", "value"], &signed));
        for parts in [
            &["ns", "name", "valu"][..],
            &["n", "sname", "value"],
            &["ns", "name"],
            &["name", "ns", "value"],
        ] {
            assert!(!keys.verifies(parts, &signed), "{parts:?}");
        }
        let (id, mac) = signed.split_once('.').expect("an id");
        for forged in [
            "",
            ".",
            mac,
            &format!("{id}."),
            &format!("{id}.00"),
            &format!("other.{mac}"),
            &format!("{id}.{mac}0"),
            &format!("{id}.x{}", mac.get(1..).unwrap_or_default()),
        ] {
            assert!(!keys.verifies(&["ns", "name", "value"], forged), "{forged}");
        }
        assert!(
            !Keys::new([key(2)]).verifies(&["ns", "name", "value"], &signed),
            "another key"
        );
        assert_eq!(Keys::default().sign(&["a"]), None);
    }

    #[test]
    fn a_key_that_was_replaced_still_verifies_until_it_is_removed() {
        let old = Keys::new([key(1)]).sign(&["a"]).expect("a key");
        let both = Keys::new([key(1), key(2)]);
        assert!(both.verifies(&["a"], &old));
        let new = both.sign(&["a"]).expect("a key");
        assert!(Keys::new([key(2)]).verifies(&["a"], &new), "the last one signs");
        assert!(!Keys::new([key(2)]).verifies(&["a"], &old));
    }

    #[test]
    fn a_key_is_not_shown() {
        assert!(!format!("{:?}", Keys::new([key(0xab)])).contains("ab, "));
    }
}
