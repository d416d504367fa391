//! Which object a manifest is about, and a short mark of it that the store can keep for every manifest of every work.
//!
//! Decides when two manifests are about the same object: group, kind, namespace and name; the version does not count,
//! because a manifest that moves to another version of its API still is the same object on the cluster.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Which object a manifest is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// API group, "" for the core group.
    pub group: String,
    /// `kind`
    pub kind: String,
    /// `metadata.namespace`, "" when absent.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

impl Identity {
    /// Returns the identity of a manifest; what is absent is empty.
    pub fn of(manifest: &Value) -> Self {
        let text = |pointer: &str| {
            let found = manifest.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let version = text("/apiVersion");
        Self {
            group: version
                .split_once('/')
                .map_or_else(String::new, |(group, _)| group.to_owned()),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }

    /// Returns the mark of the identity.
    pub fn mark(&self) -> IdentityHash {
        let Self {
            group,
            kind,
            namespace,
            name,
        } = self;
        let full = Sha256::digest(format!("{group}\n{kind}\n{namespace}\n{name}"));
        let begin = full.iter().take(size_of::<u64>());
        IdentityHash(begin.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{kind} {namespace}{slash}{name}")
    }
}

/// The first 64 bits of an identity's SHA-256. Written as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdentityHash(u64);

impl std::fmt::Display for IdentityHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Reads marks that were written one after the other.
pub fn marks(text: &str) -> impl Iterator<Item = IdentityHash> {
    let each = text.as_bytes().chunks(16);
    each.filter_map(|digits| std::str::from_utf8(digits).ok())
        .filter_map(|digits| u64::from_str_radix(digits, 16).ok())
        .map(IdentityHash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_version_of_the_api_does_not_make_another_object() {
        let mark = |api: &str, name: &str| {
            let manifest =
                json!({"apiVersion": api, "kind": "Ingress", "metadata": {"name": name, "namespace": "x"}});
            Identity::of(&manifest).mark()
        };
        assert_eq!(mark("extensions/v1beta1", "a"), mark("extensions/v1", "a"));
        assert_ne!(mark("extensions/v1", "a"), mark("networking.k8s.io/v1", "a"));
        assert_ne!(mark("extensions/v1", "a"), mark("extensions/v1", "b"));
    }

    #[test]
    fn marks_are_read_back_as_they_were_written() {
        let written = [IdentityHash(0), IdentityHash(u64::MAX), IdentityHash(17)];
        let text: String = written.iter().map(IdentityHash::to_string).collect();
        assert_eq!(marks(&text).collect::<Vec<_>>(), written);
        assert_eq!(marks("").count(), 0);
        assert_eq!(marks("not a mark").count(), 0);
    }
}
