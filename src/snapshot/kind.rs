//! What is asked about a kind, and the key of one object.
//!
//! Decides nothing that is not said in the row of the kind. Never knows the content of an object.

use serde_json::Value;

use super::kinds::Need;
pub use super::kinds::{Address, Kind};
use super::names::Name;
use super::record::{ConfigRef, ConfigType};
use super::store::Place;
use super::terms;

/// Group of the add-on kinds.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
/// Group of clusters and placements.
pub(super) const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
/// Group of roles and role bindings.
pub(super) const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

impl Kind {
    /// Returns how the kind is addressed on the API.
    pub const fn address(self) -> Address {
        self.row().address
    }

    const fn need(self) -> Need {
        self.row().need
    }

    /// Returns the label selector that an object must match to count, if not all do. Whoever lists or watches the kind asks with it.
    pub fn selector(self) -> Option<String> {
        let all: Vec<String> = self.row().selector.iter().map(ToString::to_string).collect();
        (!all.is_empty()).then(|| all.join(","))
    }

    /// Returns the word that tells the kind from all others, also where two of them are one on the API.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Returns whether the objects of the kind only serve the registration of agents: a hub that lacks or forbids the
    /// kind can do without them, and they wait for nobody in their namespace.
    pub const fn is_for_registration(self) -> bool {
        matches!(self.need(), Need::ForRegistration)
    }

    /// Returns whether admission asks for facts of the kind. A gate that runs alone reads no other.
    pub const fn is_for_admission(self) -> bool {
        !self.is_for_registration() && !matches!(self, Self::Work)
    }

    /// Returns whether a hub may withhold the kind: the others can do without it.
    pub const fn may_be_withheld(self) -> bool {
        matches!(
            self.need(),
            Need::ForRegistration | Need::ForRights | Need::ForPolicies
        )
    }

    /// Returns whether the kind is about roles that agents may have: read, and never written.
    pub const fn is_hub_role(self) -> bool {
        matches!(self.need(), Need::ForRights)
    }

    /// Returns the kind of an object by what manifests call it, if the store knows it.
    pub fn of_object(object: &Value) -> Option<Self> {
        let name = object.get("kind").and_then(Value::as_str)?;
        let labels = object.pointer("/metadata/labels");
        if name == "Role" && labels.is_some_and(|labels| labels.get(terms::HUB_PERMISSIONS).is_some()) {
            return Some(Self::HubRole);
        }
        Self::ALL.into_iter().find(|kind| kind.word() == name)
    }

    /// Returns whether there is no hub without the kind (Open Cluster Management's own have no `AddOnHubConfig`). An answer that such a kind is not there is a fault of the hub or of
    /// the way to it: nobody may conclude from it that there are no objects.
    pub const fn must_exist(self) -> bool {
        matches!(self.need(), Need::Always)
    }

    /// Returns `group/version` as manifests spell it.
    pub fn api_version(self) -> String {
        let Address { group, version, .. } = self.address();
        if group.is_empty() {
            return version.to_owned();
        }
        format!("{group}/{version}")
    }

    /// Returns the configuration kind behind a group and resource, if the store watches it.
    pub fn of_config(group: &str, resource: &str) -> Option<Self> {
        [Self::DeploymentConfig, Self::Template, Self::HubConfig]
            .into_iter()
            .find(|kind| {
                let address = kind.address();
                address.group == group && address.resource == resource
            })
    }
}

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
    pub(super) fn of(kind: Kind, object: &Value) -> Self {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self::new(kind, text("/metadata/namespace"), text("/metadata/name"))
    }

    /// Builds the key of the object of a kind in a place.
    pub(super) fn at(kind: Kind, (namespace, name): &Place) -> Self {
        Self::new(kind, namespace.clone(), name.clone())
    }

    /// Returns namespace and name.
    pub(super) fn place(&self) -> Place {
        (self.namespace.clone(), self.name.clone())
    }
}

impl ConfigRef {
    /// Returns the reference under which a configuration object is filed.
    pub(super) fn of(key: &ObjectKey) -> Self {
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
}

/// The object whose plan something concerns. Queue, memos, expectations, back-off, troubles and events are keyed by owners; only
/// the kind of one tells which controller plans for it.
pub type Owner = ObjectKey;

impl ObjectKey {
    /// Returns the key of the `ClusterManagementAddOn` of a name, which owns everything of that name, also when it is gone.
    pub fn addon(name: &Name) -> Self {
        Self::new(Kind::AddOn, Name::default(), name.clone())
    }
}

/// Writes of one lane happen one after the other, and one that fails ends the others behind it.
pub type Lane = (Name, Option<ObjectKey>);

impl ObjectKey {
    /// Returns the lane of the object: its namespace, or its own when nothing else relies on it. A cluster belongs to its
    /// own namespace: fleets have thousands of them.
    pub fn lane(&self) -> Lane {
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
