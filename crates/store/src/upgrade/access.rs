//! The record that the author of an upgrade may use the placements of other namespaces that it names.
//!
//! Who may create an upgrade in one namespace need not have any right in another. The webhook asks the hub whether the author has
//! `get` on each such placement, and writes a signed record into the object. The signature covers namespace, name, spec and user, so
//! that no record can be written by hand or be copied to another upgrade, and a changed spec needs another one.

use std::collections::BTreeSet;

use serde_json::json;

use api::cluster::ManagedClustersUpgradeSpec;
use api::hash::{Keys, SpecHash};
use api::names::annotations::PLACEMENT_ACCESS;
use model::upgrade::PlacementKey;

/// What a record is about.
#[derive(Clone, Copy, Debug)]
pub struct PlacementAccess<'a> {
    /// Namespace of the upgrade.
    pub namespace: &'a str,
    /// Name of the upgrade.
    pub name: &'a str,
    /// What is asked.
    pub spec: &'a ManagedClustersUpgradeSpec,
}

impl PlacementAccess<'_> {
    /// Returns the placements that need a record: those of other namespaces.
    pub fn foreign(&self) -> BTreeSet<PlacementKey> {
        let all = self.spec.placement.iter();
        all.filter(|place| place.namespace != self.namespace)
            .map(|place| PlacementKey {
                namespace: place.namespace.clone(),
                name: place.name.clone(),
            })
            .collect()
    }

    /// Returns the record that a user was allowed these placements. An upgrade without a name gets none, and neither does one
    /// without keys.
    pub fn record(&self, user: &str, keys: &Keys) -> Option<String> {
        let digest = self.digest()?;
        let signature = keys.sign(&self.parts(&digest, user))?;
        Some(format!("{signature} {user}"))
    }

    /// Returns whether a record is one of this upgrade, as it is.
    pub fn is_recorded(&self, record: &str, keys: &Keys) -> bool {
        let Some(((signature, user), digest)) = record.split_once(' ').zip(self.digest()) else {
            return false;
        };
        keys.verifies(&self.parts(&digest, user), signature)
    }

    fn digest(&self) -> Option<String> {
        let spec = serde_json::to_value(self.spec)
            .ok()
            .filter(|_| !self.name.is_empty())?;
        Some(SpecHash::of(&json!({"spec": spec})).to_string())
    }

    fn parts<'p>(&'p self, digest: &'p str, user: &'p str) -> [&'p str; 5] {
        [PLACEMENT_ACCESS, self.namespace, self.name, digest, user]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn spec(version: &str) -> ManagedClustersUpgradeSpec {
        let spec: Value = json!({"placement": [{"name": "all", "namespace": "default"}, {"name": "own", "namespace": "tenant"}],
            "clusterVersion": {"version": version}});
        serde_json::from_value(spec).expect("a spec")
    }

    #[test]
    fn a_record_is_of_one_upgrade_as_it_is_and_of_one_user() {
        let (spec, changed) = (spec("4.12.0"), spec("4.13.0"));
        let keys = Keys::new([vec![7; 32]]);
        let access = PlacementAccess {
            namespace: "tenant",
            name: "a",
            spec: &spec,
        };
        assert_eq!(access.foreign().len(), 1, "its own namespace needs no record");
        let record = access.record("alice", &keys).expect("keys");
        assert!(access.is_recorded(&record, &keys));
        let forged = record.replace(" alice", " bob");
        for (access, record) in [
            (access, forged.as_str()),
            (access, ""),
            (access, "renew"),
            (PlacementAccess { name: "b", ..access }, &record),
            (
                PlacementAccess {
                    namespace: "default",
                    ..access
                },
                &record,
            ),
            (
                PlacementAccess {
                    spec: &changed,
                    ..access
                },
                &record,
            ),
        ] {
            assert!(!access.is_recorded(record, &keys), "{access:?} {record}");
        }
        assert!(
            !access.is_recorded(&record, &Keys::default()),
            "without a key there is no valid record"
        );
        assert_eq!(
            PlacementAccess { name: "", ..access }.record("alice", &keys),
            None
        );
    }
}
