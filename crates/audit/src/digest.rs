//! What of an object counts for its judgement, as a short digest.
//!
//! Decides when an object has to be judged again because of itself: when its spec changes, or a part of its metadata that policies may
//! read (labels, annotations, finalizers, owners), which is when the gate looks at an update. A new status changes nothing.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Digest of the parts of an object that judgements look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Returns the digest of an object.
    pub fn of(object: &Value) -> Self {
        let mut hash = Sha256::new();
        for pointer in [
            "/spec",
            "/metadata/labels",
            "/metadata/annotations",
            "/metadata/finalizers",
            "/metadata/ownerReferences",
            "/metadata/uid",
        ] {
            // The text of a value that is there is never empty, so that the parts cannot run together.
            let part = object.pointer(pointer).map(Value::to_string).unwrap_or_default();
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let mut short = [0; 16];
        for (to, from) in short.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        Self(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_gate_looks_at_counts() {
        let object =
            json!({"metadata": {"uid": "u", "labels": {"a": "b"}, "resourceVersion": "1"}, "spec": {"x": 1}});
        let with = |pointer: &str, value: Value| {
            let mut other = object.clone();
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            other.pointer_mut(parent).expect("a parent")[name] = value;
            Digest::of(&other)
        };
        let same = Digest::of(&object);
        assert_eq!(with("/metadata/resourceVersion", json!("2")), same);
        assert_eq!(with("/status", json!({"conditions": []})), same);
        for (pointer, value) in [
            ("/spec", json!({"x": 2})),
            ("/metadata/labels", json!({})),
            ("/metadata/annotations", json!({"a": "b"})),
            ("/metadata/finalizers", json!(["x"])),
            (
                "/metadata/ownerReferences",
                json!([{"kind": "Deployment", "name": "x"}]),
            ),
            ("/metadata/uid", json!("v")),
        ] {
            assert_ne!(with(pointer, value), same, "{pointer}");
        }
    }
}
