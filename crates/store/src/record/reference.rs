//! References to configurations: which object, with which hash, and what the agent confirmed.
//!
//! Decides when a reference counts as applied. Never knows the content of an object.

use crate::kind::ObjectKey;
use model::Name;

/// Type of a configuration: group and resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigType {
    /// The API group, "" for the core group.
    pub group: Name,
    /// The resource (plural).
    pub resource: Name,
}

impl std::fmt::Display for ConfigType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() {
            return write!(f, "{}", self.resource);
        }
        write!(f, "{}.{}", self.resource, self.group)
    }
}

/// Reference to one configuration object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigRef {
    /// Group and resource.
    pub of: ConfigType,
    /// Namespace, "" when cluster-scoped.
    pub namespace: Name,
    /// Name.
    pub name: Name,
}

impl std::fmt::Display for ConfigRef {
    /// Writes the form that works carry in their annotation: `<resource>.<group>/<namespace>/<name>`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.of, self.namespace, self.name)
    }
}

impl ConfigRef {
    /// Returns the reference under which a configuration object is filed.
    pub fn of(key: &ObjectKey) -> Self {
        let address = key.kind.address();
        Self {
            of: ConfigType {
                group: address.group.into(),
                resource: address.resource.into(),
            },
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        }
    }

    /// Returns the form for people: what has no namespace shows none.
    pub fn told(&self) -> String {
        let Self { of, namespace, name } = self;
        if namespace.is_empty() {
            return format!("{of}/{name}");
        }
        self.to_string()
    }
}

/// One entry of `status.configReferences`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The object referred to.
    pub config: ConfigRef,
    /// Spec hash assigned to this cluster, "" when it is not known.
    pub desired: Name,
    /// What the agent confirmed last.
    pub applied: Option<Applied>,
    /// `lastObservedGeneration`
    pub generation: i64,
    /// Whether the stored entry has exactly the form that this program writes; mirrors may be absent.
    pub exact: bool,
}

impl Reference {
    /// Returns whether the agent confirmed this object with this hash last.
    pub fn applied_as(&self, config: &ConfigRef, hash: &Name) -> bool {
        self.config.of == config.of
            && self.applied.as_ref().is_some_and(|applied| {
                applied.name == config.name && applied.namespace == config.namespace && applied.hash == *hash
            })
    }

    /// Returns whether the agent confirmed what is desired.
    pub fn is_applied(&self) -> bool {
        self.applied.as_ref().is_some_and(|applied| {
            applied.hash == self.desired
                && applied.name == self.config.name
                && applied.namespace == self.config.namespace
        })
    }
}

/// A configuration that the agent confirmed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Applied {
    /// Namespace of the configuration.
    pub namespace: Name,
    /// Name of the configuration.
    pub name: Name,
    /// Its spec hash when it was applied.
    pub hash: Name,
}
