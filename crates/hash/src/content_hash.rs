//! The hash of everything that a cluster is to run with: what somebody looks at who approves of a change.
//!
//! Decides what it is made of: which objects, and the hash of each. Never knows what they say.

use std::collections::BTreeMap;

use super::spec_hash::{ConfigKey, SpecHash, render_config_spec_hash};

/// Digits of the hash that are told. Whoever may write configurations could look for two contents with the same hash and have the harmless
/// one approved: with 32 digits that takes 2^64 tries.
const DIGITS: usize = 32;

/// Returns the hash of configurations with their hashes, as 32 hexadecimal digits. It is made of the text that a `ManifestWork` with them
/// carries.
pub fn content_hash(hashes: &BTreeMap<ConfigKey, String>) -> String {
    let whole = SpecHash::of_text(&render_config_spec_hash(hashes)).to_string();
    whole.chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ConfigKey {
        format!("things.g/ns/{name}").parse().expect("a key")
    }

    #[test]
    fn another_object_or_another_content_is_another_hash() {
        let of = |pairs: &[(&str, &str)]| {
            let each = pairs.iter().map(|(name, hash)| (key(name), (*hash).to_owned()));
            content_hash(&each.collect())
        };
        let one = of(&[("a", "1"), ("b", "2")]);
        assert_eq!(one, of(&[("b", "2"), ("a", "1")]));
        assert_eq!(one.len(), 32);
        for other in [
            of(&[]),
            of(&[("a", "1")]),
            of(&[("a", "2"), ("b", "1")]),
            of(&[("a", "1"), ("c", "2")]),
        ] {
            assert_ne!(one, other);
        }
    }
}
