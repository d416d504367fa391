//! What a write through a subresource can change at all.
//!
//! Decides which fields no field manager owns through it.

use std::collections::BTreeMap;
use std::sync::Arc;

use managed_fields::{Element, Set, Types};
use serde_json::Value;

use super::types::Ownable;
use super::version_views::VersionViews;
use crate::resource::Resource;

/// Fields that every object has and no field manager owns.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
const METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// What ownership needs to know of one kind of write.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Types of the objects in all versions.
    pub(super) types: Types,
    /// `group/version` of the write.
    pub(super) version: String,
    /// Kind, for messages.
    pub(super) kind: String,
    /// Fields that this write cannot change, by version.
    pub(super) ignored: BTreeMap<String, Set>,
    /// What a new object is compared with.
    pub(super) zero: Value,
    /// How objects look in other versions.
    pub(super) version_views: Arc<VersionViews>,
}

impl Scope {
    /// Returns the scope of writes through a subresource, "" for the object itself; `types` are those of other versions.
    pub(crate) fn new(resource: &Resource, ownable: &Ownable, mut types: Types, subresource: &str) -> Self {
        let version = resource.api_version();
        types.insert(version.clone(), ownable.of.clone());
        let is_definition = resource.kind == "CustomResourceDefinition" && !resource.custom;
        let ignored: &[&[&str]] = match subresource {
            "status" if resource.custom || is_definition => &[&["metadata"], &["spec"]],
            "status" => &[&["spec"]],
            // Only the verdict on a request is decided through its approval.
            "approval" => &[&["spec"], &["status", "certificate"]],
            "finalize" => &[&["status"]],
            "" if resource.status => &[&["status"]],
            _ => &[],
        };
        let ignored = set_of(ignored.iter().map(|path| path.to_vec()));
        // A custom resource's status is the same place in every version; otherwise only the version of the write counts.
        let ignored = if subresource == "status" && resource.custom {
            types
                .keys()
                .map(|version| (version.clone(), ignored.clone()))
                .collect()
        } else {
            BTreeMap::from([(version.clone(), ignored)])
        };
        Self {
            types,
            version,
            kind: resource.kind.clone(),
            ignored,
            zero: ownable.zero.clone(),
            version_views: Arc::default(),
        }
    }

    /// Returns this scope with another knowledge of how objects look in other versions.
    pub(crate) fn with_version_views(self, version_views: Arc<VersionViews>) -> Self {
        Self {
            version_views,
            ..self
        }
    }

    /// Returns group, version and kind as messages write them.
    pub(super) fn described(&self) -> String {
        described(&self.version, &self.kind)
    }
}

/// Returns group, version and kind as messages write them.
pub(super) fn described(version: &str, kind: &str) -> String {
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={kind}")
}

fn set_of<'n>(paths: impl Iterator<Item = Vec<&'n str>>) -> Set {
    let mut set = Set::default();
    for path in paths {
        let path: Vec<Element> = path.into_iter().map(field).collect();
        set.insert(&path);
    }
    set
}

fn field(name: &str) -> Element {
    Element::Field(name.to_owned())
}

/// Returns a set without what is never owned.
pub(super) fn stripped(set: &Set) -> Set {
    let head = HEAD.iter().map(|name| vec![*name]);
    let metadata = METADATA.iter().map(|name| vec!["metadata", *name]);
    set.difference(&set_of(head.chain(metadata)))
}
