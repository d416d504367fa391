//! Answers what a schema knows: whether a field path exists and which names stand at a place.
//!
//! Decides nothing about values; serves suggestions for misspelt fields.

use crate::node::{Additional, Flags, Node};
use crate::objectmeta;
use crate::prune::is_resource_field;
use crate::schema::Schema;

/// One step of a field path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// A member of an object or map.
    Name(&'a str),
    /// An item of a list.
    Index(usize),
}

/// What stands at a path.
enum Place<'n, 'p> {
    Node(&'n Node),
    /// Inside `metadata`, after these names.
    Metadata(Vec<&'p str>),
    /// In a part that keeps every field.
    Open,
}

impl Schema {
    /// Tells whether a field path exists in the schema. Parts that keep unknown fields know every path.
    pub fn knows(&self, path: &[Segment<'_>]) -> bool {
        match self.place(path) {
            Some(Place::Metadata(names)) => objectmeta::knows(&names),
            Some(Place::Node(_) | Place::Open) => true,
            None => false,
        }
    }

    /// Returns the names that may stand below a path, sorted; empty where any name may.
    pub fn field_names_at(&self, path: &[Segment<'_>]) -> Vec<&str> {
        match self.place(path) {
            Some(Place::Node(node)) => {
                let mut names: Vec<&str> = node.properties.keys().map(String::as_str).collect();
                if path.is_empty() || node.is(Flags::EMBEDDED) {
                    names.extend(["apiVersion", "kind", "metadata"]);
                }
                names.sort_unstable();
                names.dedup();
                names
            }
            Some(Place::Metadata(names)) if names.is_empty() => objectmeta::FIELDS.to_vec(),
            Some(Place::Metadata(_) | Place::Open) | None => Vec::new(),
        }
    }

    fn place<'p>(&self, path: &[Segment<'p>]) -> Option<Place<'_, 'p>> {
        let mut node = self.root();
        let mut rest = path.iter();
        let mut at_root = true;
        while let Some(segment) = rest.next() {
            let next = match segment {
                Segment::Index(_) => node.items.as_deref(),
                Segment::Name(name) if (at_root || node.is(Flags::EMBEDDED)) && is_resource_field(name) => {
                    return resource_place(name, rest.as_slice());
                }
                Segment::Name(name) => node.member(name),
            };
            at_root = false;
            node = match next {
                Some(next) => next,
                None if node.is(Flags::PRESERVE_UNKNOWN) => return Some(Place::Open),
                None if matches!(node.additional, Additional::Anything) => return Some(Place::Open),
                None => return None,
            };
        }
        Some(Place::Node(node))
    }
}

/// Returns what stands below `apiVersion`, `kind` or `metadata`.
fn resource_place<'n, 'p>(field: &str, rest: &[Segment<'p>]) -> Option<Place<'n, 'p>> {
    if field != "metadata" {
        return rest.is_empty().then_some(Place::Open);
    }
    let names = rest.iter().filter_map(|segment| match segment {
        Segment::Name(name) => Some(*name),
        Segment::Index(_) => None,
    });
    Some(Place::Metadata(names.collect()))
}

#[cfg(test)]
mod tests {
    use super::Segment::{Index, Name};
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::parse(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "ports": {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}}}))
        .expect("a valid schema")
    }

    #[test]
    fn paths_are_known_or_not() {
        let rows: [(&[Segment<'_>], bool); 11] = [
            (&[Name("spec"), Name("ports"), Index(3), Name("port")], true),
            (&[Name("spec"), Name("ports"), Index(3), Name("porr")], false),
            (&[Name("spec"), Name("labels"), Name("anything")], true),
            (
                &[Name("spec"), Name("labels"), Name("anything"), Name("deeper")],
                false,
            ),
            (&[Name("spec"), Name("open"), Name("any"), Name("thing")], true),
            (&[Name("metadata"), Name("labels"), Name("x")], true),
            (&[Name("metadata"), Name("lables")], false),
            (
                &[Name("metadata"), Name("ownerReferences"), Index(0), Name("uid")],
                true,
            ),
            (&[Name("kind")], true),
            (&[Name("kind"), Name("x")], false),
            (&[Name("sepc")], false),
        ];
        let schema = schema();
        for (path, wanted) in rows {
            assert_eq!(schema.knows(path), wanted, "{path:?}");
        }
    }

    #[test]
    fn names_are_listed_for_suggestions() {
        let schema = schema();
        assert_eq!(
            schema.field_names_at(&[]),
            ["apiVersion", "kind", "metadata", "spec"]
        );
        assert_eq!(
            schema.field_names_at(&[Name("spec"), Name("ports"), Index(0)]),
            ["port"]
        );
        assert!(schema.field_names_at(&[Name("metadata")]).contains(&"labels"));
        assert!(schema.field_names_at(&[Name("spec"), Name("nope")]).is_empty());
    }
}
