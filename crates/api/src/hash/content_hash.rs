//! The hash of everything that a cluster is to run with: an approval of a change names it.
//!
//! Decides what it is made of: which objects, in which order, and the hash of each. Never knows what they say.

use serde_json::json;

use super::spec_hash::{ConfigKey, SpecHash};

/// Number of digits of the hash. A user who may write configurations could look for two contents with the same hash and have
/// the harmless one approved: with 32 digits that takes 2^64 tries.
const DIGITS: usize = 32;

/// Returns the hash of configurations with their hashes, as 32 hexadecimal digits. The order counts: of several objects of a type
/// the first has the word.
pub fn content_hash(hashes: &[(ConfigKey, String)]) -> String {
    let each = hashes.iter().map(|(key, hash)| [key.to_string(), hash.clone()]);
    let text = json!(each.collect::<Vec<_>>()).to_string();
    let whole = SpecHash::of_text(&text).to_string();
    whole.chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ConfigKey {
        format!("things.g/ns/{name}").parse().expect("a key")
    }

    #[test]
    fn another_object_another_content_or_another_order_is_another_hash() {
        let of = |pairs: &[(&str, &str)]| {
            let each = pairs.iter().map(|(name, hash)| (key(name), (*hash).to_owned()));
            content_hash(&each.collect::<Vec<_>>())
        };
        let one = of(&[("a", "1"), ("b", "2")]);
        assert_eq!(one, of(&[("a", "1"), ("b", "2")]));
        assert_eq!(one.len(), 32);
        for other in [
            of(&[]),
            of(&[("a", "1")]),
            of(&[("a", "2"), ("b", "1")]),
            of(&[("a", "1"), ("c", "2")]),
            of(&[("b", "2"), ("a", "1")]),
        ] {
            assert_ne!(one, other);
        }
    }
}
