//! The list of the kinds: how each is addressed, what it is needed for, and which of its objects count.
//!
//! Decides which kinds there are, in which order a start reads them (what others point to comes first), which accounts read them, and
//! what the controllers write: the roles of `manifests/rbac` are generated from it. Knows nothing of what is in an object (`kinds/`).

use super::address::{Address, Holds, Label, Memory, NO_ROLES, Need, cluster_scoped, namespaced};
use super::rights::{Read, Write};
use crate::terms;

/// Group of the add-on kinds.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
/// Group of the kinds that are no extension of Open Cluster Management's.
const OWN_GROUP: &str = api::names::OWN_GROUP;
const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
const WORK_GROUP: &str = "work.open-cluster-management.io";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const CERTIFICATES_GROUP: &str = "certificates.k8s.io";

/// A label that distinguishes agents' objects from those of others.
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
    /// How the account of the gate reads it. Those of the controllers and of observers read every kind.
    pub(super) gate: Read,
    /// How the account of the controllers reads it.
    pub(super) controllers: Read,
    /// What the controllers write of it.
    pub(super) writes: &'static [Write],
    /// Which limit of memory counts its objects.
    pub(super) memory: Memory,
    /// What is held while an object of it cannot be read.
    pub(super) holds: Holds,
}

impl Row {
    const fn new(address: Address, need: Need, holds: Holds) -> Self {
        Self {
            address,
            need,
            selector: &[],
            lost: need.lost(),
            word: address.kind,
            gate: Read::Not,
            controllers: Read::Watched,
            writes: &[],
            memory: Memory::Unlimited,
            holds,
        }
    }

    const fn for_admission(self, gate: Read) -> Self {
        Self { gate, ..self }
    }

    /// The controllers read single objects by their names too, before they remove what depends on them.
    const fn confirmed(self) -> Self {
        Self {
            controllers: Read::ByName,
            ..self
        }
    }

    const fn writes(self, writes: &'static [Write]) -> Self {
        Self { writes, ..self }
    }

    const fn in_memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
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
                    $(Self::$kind => {
                        const ROW: &Row = &$row;
                        ROW
                    })+
                }
            }
        }
    };
}

const GRANTS: &str = "what agents may do on the hub";
const APPROVALS: &str = "what waits for approval";
const ROLL_UP: &str = "the roll-up of an add-on";
const ASKED_ON_BEHALF: &str = "asked for by the API server where a role is given or a request is approved";
const OWNERS: Write = Write::new("finalizers", &["update"], "owner references")
    .never("asked for by the API server where an owner reference blocks a deletion");
const GRANT: &[Write] = &[Write::new("", &["create", "patch", "delete"], GRANTS)];

kinds! {
    /// `ManagedCluster`
    Cluster = Row::new(
        cluster_scoped(CLUSTER_GROUP, "v1", "ManagedCluster", "managedclusters"),
        Need::Always,
        Holds::Cluster,
    )
    .for_admission(Read::ByName)
    .confirmed()
    .in_memory(Memory::OfAgents)
    .writes(&[Write::new("", &["patch"], "labels that name the add-ons of a cluster")]);
    /// `Placement`
    Placement = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta1", "Placement", "placements"),
        Need::Always,
        Holds::Placement,
    )
    .for_admission(Read::ByName)
    .confirmed();
    /// `PlacementDecision`
    Decision = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta1", "PlacementDecision", "placementdecisions"),
        Need::Always,
        Holds::Decision,
    )
    .for_admission(Read::Watched)
    .confirmed();
    /// `AddOnDeploymentConfig`
    DeploymentConfig = Row::new(
        namespaced(ADDON_GROUP, "v1alpha1", "AddOnDeploymentConfig", "addondeploymentconfigs"),
        Need::Always,
        Holds::Configuration,
    )
    .for_admission(Read::ByName)
    .in_memory(Memory::Content);
    /// `AddOnTemplate`
    Template = Row::new(
        cluster_scoped(ADDON_GROUP, "v1alpha1", "AddOnTemplate", "addontemplates"),
        Need::Always,
        Holds::Configuration,
    )
    .for_admission(Read::ByName)
    .in_memory(Memory::Content);
    /// `AddOnHubConfig`
    HubConfig = Row::new(
        cluster_scoped(ADDON_GROUP, "v1alpha1", "AddOnHubConfig", "addonhubconfigs"),
        Need::WhereServed,
        Holds::Configuration,
    )
    .for_admission(Read::ByName);
    /// `ClusterRole` that is labelled as one that agents may have
    HubClusterRole = Row::new(
        cluster_scoped(RBAC_GROUP, "v1", "ClusterRole", "clusterroles"),
        Need::ForRights,
        Holds::Nothing,
    )
    .for_admission(Read::ByName)
    .selected_by(FOR_AGENTS);
    /// `Role` that is labelled so
    HubRole = Row::new(
        namespaced(RBAC_GROUP, "v1", "Role", "roles"),
        Need::ForRights,
        Holds::Nothing,
    )
    .for_admission(Read::ByName)
    .selected_by(FOR_AGENTS)
    .called("HubRole");
    /// `ClusterManagementAddOn`
    AddOn = Row::new(
        cluster_scoped(ADDON_GROUP, "v1alpha1", "ClusterManagementAddOn", "clustermanagementaddons"),
        Need::Always,
        Holds::AddOn,
    )
    .for_admission(Read::ByName)
    .confirmed()
    .writes(&[Write::new("status", &["patch"], "the status of add-ons"), OWNERS]);
    /// `ManagedClusterAddOn`
    Instance = Row::new(
        namespaced(ADDON_GROUP, "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"),
        Need::Always,
        Holds::Instance,
    )
    .for_admission(Read::Watched)
    .in_memory(Memory::OfAgentsLarge)
    .writes(&[
        Write::new("", &["create", "delete"], "add-ons on clusters"),
        Write::new("", &["patch"], "marks and owners of add-ons on clusters")
            .when("a cluster is deselected, or marks or owners were changed by another client"),
        Write::new("status", &["patch"], "the status on clusters"),
        OWNERS,
    ]);
    /// `ManifestWork`
    Work = Row::new(
        namespaced(WORK_GROUP, "v1", "ManifestWork", "manifestworks"),
        Need::Always,
        Holds::Work,
    )
    .selected_by(&[Label::Has(terms::ADDON_NAME)])
    .in_memory(Memory::OfAgents)
    .writes(&[Write::new("", &["create", "patch", "delete"], "what agents apply")]);
    /// `ServiceAccount` of the token infrastructure
    ServiceAccount = Row::new(
        namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
        Need::ForRegistration,
        Holds::Nothing,
    )
    .selected_by(OF_AN_AGENT)
    .writes(&[
        Write::new("", &["create", "delete"], GRANTS),
        Write::new("", &["patch"], GRANTS).when("labels, owners or rules were removed by another client"),
        Write::new("token", &["create", "subscribe"], "rules of the token role").never(ASKED_ON_BEHALF),
    ]);
    /// `Role` of the token infrastructure
    Role = Row::new(
        namespaced(RBAC_GROUP, "v1", "Role", "roles"),
        Need::ForRegistration,
        Holds::Nothing,
    )
    .selected_by(OF_AN_AGENT)
    .losing(NO_ROLES)
    .writes(GRANT);
    /// `RoleBinding` of an agent
    RoleBinding = Row::new(
        namespaced(RBAC_GROUP, "v1", "RoleBinding", "rolebindings"),
        Need::ForRegistration,
        Holds::Nothing,
    )
    .selected_by(OF_AN_AGENT)
    .losing(NO_ROLES)
    .writes(GRANT);
    /// `CertificateSigningRequest` of an agent. Other clients make requests too; only requests that say
    /// whose they are can be answered.
    SigningRequest = Row::new(
        cluster_scoped(CERTIFICATES_GROUP, "v1", "CertificateSigningRequest", "certificatesigningrequests"),
        Need::ForRegistration,
        Holds::Nothing,
    )
    .selected_by(&[Label::Has(terms::ADDON_NAME), Label::Has(terms::CLUSTER_NAME)])
    .losing("agents get no certificate")
    .in_memory(Memory::OfAgents)
    .writes(&[Write::new("approval", &["patch"], "certificates of agents")]);
    /// `AddOnRollout`: the settings and the roll-up of an add-on
    Rollout = Row::new(
        cluster_scoped(OWN_GROUP, "v1alpha1", "AddOnRollout", "addonrollouts"),
        Need::WhereServed,
        Holds::AddOn,
    )
    .for_admission(Read::Watched)
    .writes(&[
        Write::new("", &["create"], ROLL_UP),
        Write::new("", &["patch", "delete"], ROLL_UP)
            .when("its owner was removed, or the add-on is not managed here any more"),
        Write::new("status", &["patch"], ROLL_UP),
    ]);
    /// `RolloutApproval`, with the decision about a change that waits
    Approval = Row::new(
        cluster_scoped(OWN_GROUP, "v1alpha1", "RolloutApproval", "rolloutapprovals"),
        Need::WhereServed,
        Holds::Nothing,
    )
    .writes(&[
        Write::new("", &["create"], APPROVALS).when("changes wait for approval"),
        Write::new("", &["delete"], APPROVALS).when("changes do not wait for approval any more"),
        Write::new("status", &["patch"], APPROVALS).when("changes wait for approval"),
    ]);
    /// `RolloutCheck`, with the last result of a check
    Check = Row::new(
        cluster_scoped(OWN_GROUP, "v1alpha1", "RolloutCheck", "rolloutchecks"),
        Need::WhereServed,
        Holds::Nothing,
    )
    .for_admission(Read::Watched)
    .writes(&[Write::new("status", &["patch"], "results of checks in Prometheus")
        .when("the settings of a rollout name such a check")]);
    /// `RolloutFreeze`, while which no change starts
    Freeze = Row::new(
        cluster_scoped(OWN_GROUP, "v1alpha1", "RolloutFreeze", "rolloutfreezes"),
        Need::WhereServed,
        Holds::Everything,
    );
    /// `RolloutProfile`, whose settings many add-ons and upgrades share
    Profile = Row::new(
        cluster_scoped(OWN_GROUP, "v1alpha1", "RolloutProfile", "rolloutprofiles"),
        Need::WhereServed,
        Holds::Everything,
    )
    .for_admission(Read::Watched);
    /// `Namespace`, of which only policies ask
    Namespace = Row::new(
        cluster_scoped("", "v1", "Namespace", "namespaces"),
        Need::ForPolicies,
        Holds::Nothing,
    )
    .for_admission(Read::ByName);
    /// `ManagedClusterSet`, from which upgrades select
    ClusterSet = Row::new(
        cluster_scoped(CLUSTER_GROUP, "v1beta2", "ManagedClusterSet", "managedclustersets"),
        Need::ForUpgrades,
        Holds::AllUpgrades,
    );
    /// `ManagedClusterSetBinding`, which lets a namespace select from a set
    SetBinding = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings"),
        Need::ForUpgrades,
        Holds::AllUpgrades,
    );
    /// `ManagedClustersUpgrade`
    Upgrade = Row::new(
        namespaced(CLUSTER_GROUP, "v1beta1", "ManagedClustersUpgrade", "managedclustersupgrades"),
        Need::ForUpgrades,
        Holds::Upgrade,
    )
    .writes(&[
        Write::new("", &["patch"], "finalizers of upgrades"),
        Write::new("status", &["patch"], "the status of upgrades"),
    ]);
    /// `ManifestWork` of an upgrade
    UpgradeWork = Row::new(
        namespaced(WORK_GROUP, "v1", "ManifestWork", "manifestworks"),
        Need::ForUpgrades,
        Holds::Nothing,
    )
    .selected_by(&[Label::Has(crate::upgrade::marks::UID)])
    .in_memory(Memory::OfAgents)
    .called("UpgradeWork");
    /// `ControllerRevision` in which content is kept that a rollout may go back to
    KeptContent = Row::new(
        namespaced("apps", "v1", "ControllerRevision", "controllerrevisions"),
        Need::ForUndo,
        Holds::Nothing,
    )
    .selected_by(&[Label::Has(terms::KEPT_CONTENT)])
    .in_memory(Memory::Copies)
    .writes(&[
        Write::new("", &["create"], "content that ran well, with the label tidegate.io/kept-content")
            .when("all clusters of a placement run a template add-on well"),
        Write::new("", &["delete"], "content that is no longer needed")
            .when("an add-on has more than ten, or one was replaced"),
    ]);
}
