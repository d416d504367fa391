//! Removes what a schema does not describe, and names what it removed.
//!
//! Decides which members stay: declared ones, those of preserved objects, and `apiVersion`, `kind`, `metadata` of
//! resources. Never changes a value that stays, but for empty members of the metadata of embedded resources.

use crate::node::{Additional, Flags, Node};
use crate::objectmeta;
use serde_json::{Map, Value};

/// Members that every resource has.
pub(crate) fn is_resource_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Prunes a whole resource. The paths come in the order of the API server: metadata first, then the rest, then
/// the metadata of embedded resources, each sorted.
pub(crate) fn prune_resource(root: &Node, value: &mut Value) -> Vec<String> {
    let mut removed = Vec::new();
    if let Some(metadata) = value.get_mut("metadata") {
        objectmeta::prune(metadata, "metadata", &mut removed);
    }
    removed.sort();
    let mut walk = Walk {
        path: String::new(),
        removed: Vec::new(),
    };
    walk.node(value, Some(root), true);
    removed.append(&mut sorted(walk.removed));
    if root.is(Flags::EMBEDDED_WITHIN) {
        let mut embedded = Vec::new();
        walk_embedded(value, root, "", &mut embedded);
        removed.append(&mut sorted(embedded));
    }
    removed
}

/// Prunes a part of a resource, such as a default.
pub(crate) fn prune_value(node: &Node, value: &mut Value) -> Vec<String> {
    let mut walk = Walk {
        path: String::new(),
        removed: Vec::new(),
    };
    walk.node(value, Some(node), false);
    sorted(walk.removed)
}

fn sorted(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths
}

/// A walk that remembers where it is.
struct Walk {
    path: String,
    removed: Vec<String>,
}

impl Walk {
    fn node(&mut self, value: &mut Value, node: Option<&Node>, at_root: bool) {
        match value {
            Value::Object(members) => match node {
                Some(node) if node.is(Flags::PRESERVE_UNKNOWN) => self.preserved(members, node, at_root),
                Some(node) => self.members(members, node, at_root),
                None => self.clear(members),
            },
            Value::Array(items) => self.items(items, node),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn items(&mut self, items: &mut [Value], node: Option<&Node>) {
        let preserved = node.is_some_and(|node| node.is(Flags::PRESERVE_UNKNOWN));
        let schema = node.and_then(|node| node.items.as_deref());
        if preserved && schema.is_none() {
            return;
        }
        for (at, item) in items.iter_mut().enumerate() {
            self.at(&format!("[{at}]"), |walk| walk.node(item, schema, false));
        }
    }

    /// Visits what is described of an object whose other members are kept.
    fn preserved(&mut self, members: &mut Map<String, Value>, node: &Node, at_root: bool) {
        for (name, member) in members.iter_mut().filter(|(name, _)| !keeps(node, name, at_root)) {
            if let Some(schema) = node.member(name) {
                self.below(name, member, Some(schema));
            }
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>, node: &Node, at_root: bool) {
        members.retain(|name, member| {
            if keeps(node, name, at_root) {
                return true;
            }
            match (node.member(name), &node.additional) {
                (Some(schema), _) => self.below(name, member, Some(schema)),
                (None, Additional::Anything) => self.below(name, member, None),
                (None, Additional::Unspecified | Additional::Schema(_)) => {
                    self.report(name);
                    return false;
                }
            }
            true
        });
    }

    fn clear(&mut self, members: &mut Map<String, Value>) {
        for name in members.keys() {
            self.report(name);
        }
        members.clear();
    }

    fn below(&mut self, name: &str, member: &mut Value, schema: Option<&Node>) {
        if !member.is_object() && !member.is_array() {
            return;
        }
        let step = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!(".{name}")
        };
        self.at(&step, |walk| walk.node(member, schema, false));
    }

    fn at(&mut self, step: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        visit(self);
        self.path.truncate(length);
    }

    fn report(&mut self, name: &str) {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.removed.push(format!("{}{dot}{name}", self.path));
    }
}

fn keeps(node: &Node, name: &str, at_root: bool) -> bool {
    (at_root || node.is(Flags::EMBEDDED)) && is_resource_field(name)
}

/// Prunes the metadata of embedded resources, and leaves out of it what is stored by being absent.
fn walk_embedded(value: &mut Value, node: &Node, path: &str, removed: &mut Vec<String>) {
    let dot = if path.is_empty() { "" } else { "." };
    match value {
        Value::Object(members) => {
            if node.is(Flags::EMBEDDED)
                && let Some(metadata) = members.get_mut("metadata")
            {
                objectmeta::prune(metadata, &format!("{path}{dot}metadata"), removed);
                objectmeta::drop_empty(metadata);
            }
            for (name, member) in members.iter_mut() {
                if let Some(schema) = node
                    .member(name)
                    .filter(|schema| schema.is(Flags::EMBEDDED_WITHIN))
                {
                    walk_embedded(member, schema, &format!("{path}{dot}{name}"), removed);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = node
                .items
                .as_deref()
                .filter(|schema| schema.is(Flags::EMBEDDED_WITHIN))
            {
                for (at, item) in items.iter_mut().enumerate() {
                    walk_embedded(item, schema, &format!("{path}[{at}]"), removed);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
