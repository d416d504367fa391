//! The kinds that the tide watches or writes, and the key of one object.
//!
//! Decides how a kind is addressed on the API. Never knows the content of an object.

use serde_json::Value;

use super::names::Name;
use super::terms;

/// A kind of object that the store knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `ManagedCluster`
    Cluster,
    /// `Placement`
    Placement,
    /// `PlacementDecision`
    Decision,
    /// `ClusterManagementAddOn`
    AddOn,
    /// `ManagedClusterAddOn`
    Instance,
    /// `AddOnDeploymentConfig`
    DeploymentConfig,
    /// `AddOnTemplate`
    Template,
    /// `AddOnHubConfig`
    HubConfig,
    /// `ManifestWork`
    Work,
    /// `ServiceAccount` of the token infrastructure
    ServiceAccount,
    /// `Role` of the token infrastructure
    Role,
    /// `RoleBinding` of an agent
    RoleBinding,
    /// `CertificateSigningRequest` of an agent
    SigningRequest,
    /// `Namespace`, of which only policies ask
    Namespace,
    /// `ClusterRole` that is labelled as one that agents may have
    HubClusterRole,
    /// `Role` that is labelled so
    HubRole,
}

/// How a kind is addressed on the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The API group.
    pub group: &'static str,
    /// The version that the tide speaks.
    pub version: &'static str,
    /// The kind, as manifests spell it.
    pub kind: &'static str,
    /// The resource (plural), as URLs spell it.
    pub resource: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// Group of the add-on kinds.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
const WORK_GROUP: &str = "work.open-cluster-management.io";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// What a kind is needed for.
#[derive(Clone, Copy)]
enum Need {
    /// There is no hub without it.
    Always,
    /// Where the hub serves it.
    WhereServed,
    /// The registration of agents.
    ForRegistration,
    /// The roles that agents may have.
    ForRights,
    /// What policies ask about namespaces.
    ForPolicies,
}

impl Kind {
    /// Every kind, in the order in which a start reads them: what others point to comes first.
    pub const ALL: [Self; 16] = [
        Self::Cluster,
        Self::Placement,
        Self::Decision,
        Self::DeploymentConfig,
        Self::Template,
        Self::HubConfig,
        Self::HubClusterRole,
        Self::HubRole,
        Self::AddOn,
        Self::Instance,
        Self::Work,
        Self::ServiceAccount,
        Self::Role,
        Self::RoleBinding,
        Self::SigningRequest,
        Self::Namespace,
    ];

    /// Returns how the kind is addressed on the API.
    pub const fn address(self) -> Address {
        match self {
            Self::Cluster => cluster_scoped(CLUSTER_GROUP, "v1", "ManagedCluster", "managedclusters"),
            Self::Placement => namespaced(CLUSTER_GROUP, "v1beta1", "Placement", "placements"),
            Self::Decision => namespaced(
                CLUSTER_GROUP,
                "v1beta1",
                "PlacementDecision",
                "placementdecisions",
            ),
            Self::AddOn => cluster_scoped(
                ADDON_GROUP,
                "v1alpha1",
                "ClusterManagementAddOn",
                "clustermanagementaddons",
            ),
            Self::Instance => namespaced(
                ADDON_GROUP,
                "v1alpha1",
                "ManagedClusterAddOn",
                "managedclusteraddons",
            ),
            Self::DeploymentConfig => namespaced(
                ADDON_GROUP,
                "v1alpha1",
                "AddOnDeploymentConfig",
                "addondeploymentconfigs",
            ),
            Self::Template => cluster_scoped(ADDON_GROUP, "v1alpha1", "AddOnTemplate", "addontemplates"),
            Self::HubConfig => cluster_scoped(ADDON_GROUP, "v1alpha1", "AddOnHubConfig", "addonhubconfigs"),
            Self::Work => namespaced(WORK_GROUP, "v1", "ManifestWork", "manifestworks"),
            Self::ServiceAccount => namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
            Self::Role | Self::HubRole => namespaced(RBAC_GROUP, "v1", "Role", "roles"),
            Self::HubClusterRole => cluster_scoped(RBAC_GROUP, "v1", "ClusterRole", "clusterroles"),
            Self::RoleBinding => namespaced(RBAC_GROUP, "v1", "RoleBinding", "rolebindings"),
            Self::SigningRequest => cluster_scoped(
                "certificates.k8s.io",
                "v1",
                "CertificateSigningRequest",
                "certificatesigningrequests",
            ),
            Self::Namespace => cluster_scoped("", "v1", "Namespace", "namespaces"),
        }
    }

    const fn need(self) -> Need {
        match self {
            Self::Cluster
            | Self::Placement
            | Self::Decision
            | Self::AddOn
            | Self::Instance
            | Self::DeploymentConfig
            | Self::Template
            | Self::Work => Need::Always,
            Self::HubConfig => Need::WhereServed,
            Self::ServiceAccount | Self::Role | Self::RoleBinding | Self::SigningRequest => {
                Need::ForRegistration
            }
            Self::HubClusterRole | Self::HubRole => Need::ForRights,
            Self::Namespace => Need::ForPolicies,
        }
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

    /// Returns the word that tells the kind from all others, also where two of them are one on the API.
    pub const fn word(self) -> &'static str {
        if matches!(self, Self::HubRole) {
            return "HubRole";
        }
        self.address().kind
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

const fn cluster_scoped(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Address {
    Address {
        group,
        version,
        kind,
        resource,
        namespaced: false,
    }
}

const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Address {
    Address {
        group,
        version,
        kind,
        resource,
        namespaced: true,
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
