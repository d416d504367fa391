//! The key of one object, and the owners whose plans objects concern.
//!
//! Decides nothing. Never knows the content of an object.

use std::collections::BTreeSet;

use serde_json::Value;

use super::row::Kind;
use model::Name;

/// Namespace and name.
pub type Place = (Name, Name);

/// Which object: kind, namespace ("" when cluster-scoped) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The kind.
    pub kind: Kind,
    /// The namespace, "" for cluster-scoped kinds.
    pub namespace: Name,
    /// The name.
    pub name: Name,
}

impl ObjectKey {
    /// Builds the key of one object.
    pub fn new(kind: Kind, namespace: impl Into<Name>, name: impl Into<Name>) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the key of an object, as far as it has one.
    pub fn of(kind: Kind, object: &Value) -> Self {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self::new(kind, text("/metadata/namespace"), text("/metadata/name"))
    }

    /// Builds the key of the object of a kind in a place.
    pub fn at(kind: Kind, (namespace, name): &Place) -> Self {
        Self::new(kind, namespace.clone(), name.clone())
    }

    /// Returns whether a question about the object is one about what an add-on of a cluster is given: such questions are for
    /// what the gate fills in, and no rule asks them.
    pub fn is_about_a_default(&self) -> bool {
        self.kind == Kind::Instance
    }

    /// Returns namespace and name.
    pub fn place(&self) -> Place {
        (self.namespace.clone(), self.name.clone())
    }
}

/// The object whose plan something concerns. Queue, memos, expectations, back-off, troubles and events are keyed by owners; only
/// the kind of one tells which controller plans for it.
pub type Owner = ObjectKey;

/// Those whose plans something touches.
pub type Touched = BTreeSet<Owner>;

impl ObjectKey {
    /// Returns the key of the `ClusterManagementAddOn` of a name, which owns everything of that name, also after its deletion.
    pub fn addon(name: &Name) -> Self {
        Self::new(Kind::AddOn, Name::default(), name.clone())
    }
}

/// Writes of one lane happen one after the other, and one that fails ends the others behind it.
pub type WriteQueue = (Name, Option<ObjectKey>);

impl ObjectKey {
    /// Returns the lane of the object: its namespace, or its own when nothing else relies on it. A cluster belongs to its
    /// own namespace: fleets have thousands of them.
    pub fn lane(&self) -> WriteQueue {
        let own = self.kind.is_for_registration().then(|| self.clone());
        let namespace = if self.kind == Kind::Cluster {
            &self.name
        } else {
            &self.namespace
        };
        (namespace.clone(), own)
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.address().kind;
        if self.namespace.is_empty() {
            return write!(f, "{kind} {}", self.name);
        }
        write!(f, "{kind} {}/{}", self.namespace, self.name)
    }
}
