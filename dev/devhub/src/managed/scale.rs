//! Owners of replicas, as a scale shows them and as the scaled object keeps them.
//!
//! Decides how one list becomes the other, with the habits of Kubernetes: who takes the replicas through the scale is noted
//! without a time. Never decides who owns what.

use std::collections::BTreeMap;

use managed_fields::{Element, Owned, Set};
use serde_json::{Value, json};

use super::entries::Managers;
use super::scope::SCALE_VERSION;

/// The list of an object and the path of its replicas, for instance `.spec.replicas`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled<'a> {
    /// `metadata.managedFields` of the object.
    pub(crate) list: &'a Value,
    /// Where its replicas are.
    pub(crate) path: &'a str,
    /// `group/version` of the object.
    pub(crate) version: &'a str,
    /// Where they are in its other versions; absent where such a version has no scale.
    pub(crate) others: &'a BTreeMap<String, Option<String>>,
}

impl Scaled<'_> {
    /// Returns the list of the object's scale: the managers that own the replicas.
    pub(crate) fn to_scale(self) -> Value {
        let mut managers = Managers::decode(self.list).unwrap_or_default();
        managers.owners.retain(|_, owned| {
            let path = self.path_in(&owned.version);
            path.is_some_and(|path| owned.set.has(&path))
        });
        for owned in managers.owners.values_mut() {
            owned.set = replicas();
            SCALE_VERSION.clone_into(&mut owned.version);
        }
        listed(&managers)
    }

    /// Returns the list of the object after its scale got another list.
    pub(crate) fn to_object(self, scale: &Value) -> Value {
        let own = only(&elements(self.path));
        let mut managers = Managers::decode(self.list).unwrap_or_default();
        let mut takers = Managers::decode(scale).unwrap_or_default();
        managers.owners.retain(|identity, owned| {
            let path = self.path_in(&owned.version).filter(|path| owned.set.has(path));
            let Some(path) = path else {
                // Who writes a version that is gone is forgotten.
                return self.knows(&owned.version);
            };
            if takers.owners.remove(identity).is_none() {
                owned.set = owned.set.difference(&only(&path));
            }
            !owned.set.is_empty()
        });
        for (identity, owned) in takers.owners {
            let Some(mut record) = takers.records.remove(&identity) else {
                continue;
            };
            if !owned.set.has(&elements(".spec.replicas")) {
                continue;
            }
            record.time = managers
                .records
                .get(&identity)
                .and_then(|record| record.time.clone());
            managers.records.insert(identity.clone(), record);
            let owned = Owned {
                set: own.clone(),
                applied: owned.applied,
                version: self.version.to_owned(),
            };
            managers.owners.insert(identity, owned);
        }
        listed(&managers)
    }
}

impl Scaled<'_> {
    /// Tells whether there is such a version.
    fn knows(&self, version: &str) -> bool {
        version == self.version || self.others.contains_key(version)
    }

    /// Returns where the replicas are in a version that has a scale.
    fn path_in(&self, version: &str) -> Option<Vec<Element>> {
        if version == self.version {
            return Some(elements(self.path));
        }
        self.others.get(version)?.as_deref().map(elements)
    }
}

fn elements(path: &str) -> Vec<Element> {
    let names = path.split('.').skip(1);
    names.map(|name| Element::Field(name.to_owned())).collect()
}

fn only(path: &[Element]) -> Set {
    let mut set = Set::default();
    set.insert(path);
    set
}

fn replicas() -> Set {
    only(&elements(".spec.replicas"))
}

fn listed(managers: &Managers) -> Value {
    if managers.is_empty() {
        json!(null)
    } else {
        managers.encode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, version: &str, fields: &Value, time: Option<&str>) -> Value {
        let mut entry = json!({ "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": manager, "operation": "Update" });
        if let Some(time) = time {
            entry["time"] = json!(time);
        }
        entry
    }

    #[test]
    fn who_scales_takes_the_replicas_and_nothing_else() {
        let list = json!([entry(
            "a",
            "g/v1",
            &json!({ "f:spec": { "f:n": {}, "f:x": {} } }),
            Some("t")
        )]);
        let scaled = Scaled {
            list: &list,
            path: ".spec.n",
            version: "g/v1",
            others: &BTreeMap::new(),
        };
        let replicas = || json!({ "f:spec": { "f:replicas": {} } });
        assert_eq!(
            scaled.to_scale(),
            json!([entry("a", SCALE_VERSION, &replicas(), Some("t"))])
        );
        let taken = json!([entry("b", SCALE_VERSION, &replicas(), Some("now"))]);
        let wanted = json!([
            entry("b", "g/v1", &json!({ "f:spec": { "f:n": {} } }), None),
            entry("a", "g/v1", &json!({ "f:spec": { "f:x": {} } }), Some("t")),
        ]);
        assert_eq!(scaled.to_object(&taken), wanted);
    }

    #[test]
    fn owners_by_other_versions_keep_and_lose_the_replicas_by_their_own_path() {
        let fields = |name: &str| json!({ "f:spec": { name: {}, "f:x": {} } });
        let list = json!([
            entry("new", "g/v2", &fields("f:m"), None),
            entry("none", "g/v3", &fields("f:m"), None),
            entry("gone", "g/v0", &fields("f:m"), None),
        ]);
        let others = BTreeMap::from([
            ("g/v2".to_owned(), Some(".spec.m".to_owned())),
            ("g/v3".to_owned(), None),
        ]);
        let scaled = Scaled {
            list: &list,
            path: ".spec.n",
            version: "g/v1",
            others: &others,
        };
        let replicas = json!({ "f:spec": { "f:replicas": {} } });
        assert_eq!(
            scaled.to_scale(),
            json!([entry("new", SCALE_VERSION, &replicas, None)])
        );
        let taken = json!([entry("b", SCALE_VERSION, &replicas, None)]);
        let wanted = json!([
            entry("b", "g/v1", &json!({ "f:spec": { "f:n": {} } }), None),
            entry("new", "g/v2", &json!({ "f:spec": { "f:x": {} } }), None),
            entry("none", "g/v3", &fields("f:m"), None),
        ]);
        assert_eq!(scaled.to_object(&taken), wanted);
    }
}
