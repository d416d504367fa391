//! What a write through a subresource can change at all.
//!
//! Decides which fields nobody owns through it.

use std::sync::Arc;

use fields::{Element, Set, Type};

use crate::resource::Resource;

/// Fields that every object has and nobody owns.
const HEAD: [&str; 2] = ["apiVersion", "kind"];
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
    /// The type of the objects.
    pub(super) of: Type,
    /// `group/version` of the objects.
    pub(super) version: String,
    /// Fields that this write cannot change.
    pub(super) ignored: Arc<Set>,
}

impl Scope {
    /// Returns the scope of writes through a subresource, "" for the object itself.
    pub(crate) fn new(resource: &Resource, of: &Type, subresource: &str) -> Self {
        let mut ignored = Set::default();
        let mut ignore = |path: &[&str]| {
            let path: Vec<Element> = path
                .iter()
                .map(|name| Element::Field((*name).to_owned()))
                .collect();
            ignored.insert(&path);
        };
        match subresource {
            "status" if resource.custom => {
                for name in top_level(of)
                    .into_iter()
                    .filter(|name| name != "status" && name != "metadata")
                {
                    ignore(&[&name]);
                }
                ignore(&["metadata"]);
            }
            "status" => ignore(&["spec"]),
            "" if resource.status => ignore(&["status"]),
            _ => {}
        }
        Self {
            of: of.clone(),
            version: resource.api_version(),
            ignored: Arc::new(ignored),
        }
    }
}

fn top_level(of: &Type) -> Vec<String> {
    match of {
        Type::Map(map) => map.fields.keys().cloned().collect(),
        Type::Leaf | Type::List(_) | Type::Deduced => Vec::new(),
    }
}

/// Returns what is never owned.
pub(super) fn stripped(set: &Set) -> Set {
    let field = |name: &str| Element::Field(name.to_owned());
    let mut head = Set::default();
    for name in HEAD {
        head.insert(&[field(name)]);
    }
    head.insert(&[field("metadata")]);
    for name in METADATA {
        head.insert(&[field("metadata"), field(name)]);
    }
    set.difference(&head)
}
