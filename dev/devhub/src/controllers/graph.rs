//! Who owns whom.
//!
//! Decides nothing about the hub; answers questions about owners and dependents from what was seen so far.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// One object as far as garbage collection cares.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    /// Id of its kind; see the catalogue.
    pub(super) kind: String,
    /// Namespace, empty for none.
    pub(super) namespace: String,
    /// Name.
    pub(super) name: String,
    /// Owners.
    pub(super) owners: Vec<OwnerReference>,
    /// Whether it is being deleted.
    pub(super) deleting: bool,
    /// Finalizers.
    pub(super) finalizers: Vec<String>,
}

impl Node {
    /// Reads a node out of metadata.
    pub(super) fn of(kind: &str, metadata: &ObjectMeta) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            owners: metadata.owner_references.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.clone().unwrap_or_default(),
        }
    }

    /// Tells whether a finalizer holds a node that is being deleted.
    pub(super) fn waits_for(&self, finalizer: &str) -> bool {
        self.deleting && self.finalizers.iter().any(|held| held == finalizer)
    }
}

/// All objects seen.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<String, Node>,
    dependents: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Notes an object.
    pub(super) fn put(&mut self, uid: &str, node: Node) {
        self.unlink(uid);
        for owner in &node.owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(uid.to_owned());
        }
        self.nodes.insert(uid.to_owned(), node);
    }

    /// Forgets an object.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Node> {
        self.unlink(uid);
        self.nodes.remove(uid)
    }

    fn unlink(&mut self, uid: &str) {
        let Some(node) = self.nodes.get(uid) else { return };
        for owner in &node.owners {
            let Some(dependents) = self.dependents.get_mut(&owner.uid) else {
                continue;
            };
            dependents.remove(uid);
            if dependents.is_empty() {
                self.dependents.remove(&owner.uid);
            }
        }
    }

    /// Returns an object.
    pub(super) fn node(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Returns the uids of an object's dependents.
    pub(super) fn dependents(&self, uid: &str) -> Vec<String> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Returns the uids of a kind's objects.
    pub(super) fn of_kind(&self, kind: &str) -> Vec<String> {
        self.nodes
            .iter()
            .filter(|(_, node)| node.kind == kind)
            .map(|(uid, _)| uid.clone())
            .collect()
    }

    /// Returns the dependents that keep an owner from going in the foreground.
    pub(super) fn blockers(&self, uid: &str) -> Vec<String> {
        let blocks = |dependent: &String| {
            self.node(dependent).is_some_and(|node| {
                node.owners
                    .iter()
                    .any(|owner| owner.uid == uid && owner.block_owner_deletion == Some(true))
            })
        };
        self.dependents(uid).into_iter().filter(blocks).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(owner: &str, blocks: bool) -> Node {
        let owner = OwnerReference {
            uid: owner.to_owned(),
            block_owner_deletion: Some(blocks),
            ..Default::default()
        };
        Node {
            owners: vec![owner],
            ..Node::default()
        }
    }

    #[test]
    fn dependents_follow_the_newest_owners() {
        let mut graph = Graph::default();
        graph.put("a", node("o", true));
        graph.put("b", node("o", false));
        assert_eq!(graph.dependents("o"), ["a", "b"]);
        assert_eq!(graph.blockers("o"), ["a"]);
        graph.put("a", node("p", true));
        assert_eq!(graph.dependents("o"), ["b"]);
        graph.remove("b");
        assert!(graph.dependents("o").is_empty());
        assert_eq!(graph.dependents("p"), ["a"]);
    }
}
