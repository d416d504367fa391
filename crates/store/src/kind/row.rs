//! The list of the kinds: how each is addressed, what it is needed for, and which of its objects count.
//!
//! Decides which kinds there are, and in which order a start reads them: what others point to comes first. Knows nothing of what
//! is in an object (`kinds/`).

use super::address::{Address, Label, NO_ROLES, Need, cluster_scoped, namespaced};
use crate::terms;

/// Group of the add-on kinds.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
/// Group of the kinds that are no extension of Open Cluster Management's.
const OWN_GROUP: &str = api::names::OWN_GROUP;
const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
const WORK_GROUP: &str = "work.open-cluster-management.io";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const CERTIFICATES_GROUP: &str = "certificates.k8s.io";

/// A label for which agents' objects are told from those of others.
const OF_AN_AGENT: &[Label] = &[Label::Has(terms::TOKEN_ADDON_NAME)];
const FOR_AGENTS: &[Label] = &[Label::Is(terms::HUB_PERMISSIONS, terms::ALLOWED)];

/// What is known of a kind.
pub(super) struct Row {
    /// How it is addressed.
    pub(super) address: Address,
    /// What it is needed for.
    pub(super) need: Need,
    /// The labels that an object must have to count; none where all do.
    pub(super) selector: &'static [Label],
    /// What is lost where a hub withholds it; nothing where Tidegate needs it.
    pub(super) lost: Option<&'static str>,
    /// The word that tells the kind from all others, also where two of them are one on the API.
    pub(super) word: &'static str,
}

impl Row {
    const fn new(address: Address, need: Need) -> Self {
        Self {
            address,
            need,
            selector: &[],
            lost: need.lost(),
            word: address.kind,
        }
    }

    const fn selected_by(self, selector: &'static [Label]) -> Self {
        Self { selector, ..self }
    }

    const fn losing(self, lost: &'static str) -> Self {
        Self {
            lost: Some(lost),
            ..self
        }
    }

    const fn called(self, word: &'static str) -> Self {
        Self { word, ..self }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $row:expr;)+) => {
        /// A kind of object that the store knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind),+
        }

        impl Kind {
            /// Every kind, in the order in which a start reads them.
            pub const ALL: [Self; [$(stringify!($kind)),+].len()] = [$(Self::$kind),+];

            pub(super) const fn row(self) -> &'static Row {
                match self {
                    $(Self::$kind => const { &$row }),+
                }
            }
        }
    };
}

kinds! {
    /// `ManagedCluster`
    Cluster = Row::new(cluster_scoped(CLUSTER_GROUP, "v1", "ManagedCluster", "managedclusters"), Need::Always);
    /// `Placement`
    Placement = Row::new(namespaced(CLUSTER_GROUP, "v1beta1", "Placement", "placements"), Need::Always);
    /// `PlacementDecision`
    Decision = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta1", "PlacementDecision", "placementdecisions"),
        Need::Always,
    );
    /// `AddOnDeploymentConfig`
    DeploymentConfig = Row::new(
        namespaced(ADDON_GROUP, "v1alpha1", "AddOnDeploymentConfig", "addondeploymentconfigs"),
        Need::Always,
    );
    /// `AddOnTemplate`
    Template = Row::new(cluster_scoped(ADDON_GROUP, "v1alpha1", "AddOnTemplate", "addontemplates"), Need::Always);
    /// `AddOnHubConfig`
    HubConfig = Row::new(cluster_scoped(ADDON_GROUP, "v1alpha1", "AddOnHubConfig", "addonhubconfigs"), Need::WhereServed);
    /// `ClusterRole` that is labelled as one that agents may have
    HubClusterRole = Row::new(cluster_scoped(RBAC_GROUP, "v1", "ClusterRole", "clusterroles"), Need::ForRights)
        .selected_by(FOR_AGENTS);
    /// `Role` that is labelled so
    HubRole = Row::new(namespaced(RBAC_GROUP, "v1", "Role", "roles"), Need::ForRights)
        .selected_by(FOR_AGENTS)
        .called("HubRole");
    /// `ClusterManagementAddOn`
    AddOn = Row::new(
        cluster_scoped(ADDON_GROUP, "v1alpha1", "ClusterManagementAddOn", "clustermanagementaddons"),
        Need::Always,
    );
    /// `ManagedClusterAddOn`
    Instance = Row::new(
        namespaced(ADDON_GROUP, "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"),
        Need::Always,
    );
    /// `ManifestWork`
    Work = Row::new(namespaced(WORK_GROUP, "v1", "ManifestWork", "manifestworks"), Need::Always)
        .selected_by(&[Label::Has(terms::ADDON_NAME)]);
    /// `ServiceAccount` of the token infrastructure
    ServiceAccount = Row::new(namespaced("", "v1", "ServiceAccount", "serviceaccounts"), Need::ForRegistration)
        .selected_by(OF_AN_AGENT);
    /// `Role` of the token infrastructure
    Role = Row::new(namespaced(RBAC_GROUP, "v1", "Role", "roles"), Need::ForRegistration)
        .selected_by(OF_AN_AGENT)
        .losing(NO_ROLES);
    /// `RoleBinding` of an agent
    RoleBinding = Row::new(namespaced(RBAC_GROUP, "v1", "RoleBinding", "rolebindings"), Need::ForRegistration)
        .selected_by(OF_AN_AGENT)
        .losing(NO_ROLES);
    /// `CertificateSigningRequest` of an agent. Other clients make requests too; only requests that say
    /// whose they are can be answered.
    SigningRequest = Row::new(
        cluster_scoped(CERTIFICATES_GROUP, "v1", "CertificateSigningRequest", "certificatesigningrequests"),
        Need::ForRegistration,
    )
    .selected_by(&[Label::Has(terms::ADDON_NAME), Label::Has(terms::CLUSTER_NAME)])
    .losing("agents get no certificate");
    /// `AddOnRollout`, the roll-up of an add-on
    Rollout = Row::new(cluster_scoped(OWN_GROUP, "v1alpha1", "AddOnRollout", "addonrollouts"), Need::ForRollUps);
    /// `Namespace`, of which only policies ask
    Namespace = Row::new(cluster_scoped("", "v1", "Namespace", "namespaces"), Need::ForPolicies);
    /// `ManagedClusterSet`, from which upgrades select
    ClusterSet = Row::new(
        cluster_scoped(CLUSTER_GROUP, "v1beta2", "ManagedClusterSet", "managedclustersets"),
        Need::ForUpgrades,
    );
    /// `ManagedClusterSetBinding`, which lets a namespace select from a set
    SetBinding = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings"),
        Need::ForUpgrades,
    );
    /// `ManagedClustersUpgrade`
    Upgrade = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta1", "ManagedClustersUpgrade", "managedclustersupgrades"),
        Need::ForUpgrades,
    );
    /// `ManifestWork` of an upgrade
    UpgradeWork = Row::new(namespaced(WORK_GROUP, "v1", "ManifestWork", "manifestworks"), Need::ForUpgrades)
        .selected_by(&[Label::Has(crate::upgrade::marks::UID)])
        .called("UpgradeWork");
    /// `ControllerRevision` in which content is kept that a rollout may go back to
    KeptContent = Row::new(namespaced("apps", "v1", "ControllerRevision", "controllerrevisions"), Need::ForUndo)
        .selected_by(&[Label::Has(terms::KEPT_CONTENT)]);
}
