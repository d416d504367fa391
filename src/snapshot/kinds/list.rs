//! The list of the kinds.
//!
//! Decides which kinds there are, and in which order a start reads them: what others point to comes first.

use super::row::Row;
use super::{
    addon, cluster, decision, deployment_config, hub_cluster_role, hub_config, hub_role, instance, namespace,
    placement, role, role_binding, service_account, signing_request, template, work,
};

macro_rules! kinds {
    ($($(#[$doc:meta])* $file:ident::$kind:ident),+ $(,)?) => {
        /// A kind of object that the store knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind),+
        }

        impl Kind {
            /// Every kind, in the order in which a start reads them.
            pub const ALL: [Self; [$(stringify!($kind)),+].len()] = [$(Self::$kind),+];

            /// Returns what the program knows of the kind.
            pub(in crate::snapshot) const fn row(self) -> &'static Row {
                match self {
                    $(Self::$kind => const { &Row::of::<$file::$kind>() }),+
                }
            }
        }
    };
}

kinds! {
    /// `ManagedCluster`
    cluster::Cluster,
    /// `Placement`
    placement::Placement,
    /// `PlacementDecision`
    decision::Decision,
    /// `AddOnDeploymentConfig`
    deployment_config::DeploymentConfig,
    /// `AddOnTemplate`
    template::Template,
    /// `AddOnHubConfig`
    hub_config::HubConfig,
    /// `ClusterRole` that is labelled as one that agents may have
    hub_cluster_role::HubClusterRole,
    /// `Role` that is labelled so
    hub_role::HubRole,
    /// `ClusterManagementAddOn`
    addon::AddOn,
    /// `ManagedClusterAddOn`
    instance::Instance,
    /// `ManifestWork`
    work::Work,
    /// `ServiceAccount` of the token infrastructure
    service_account::ServiceAccount,
    /// `Role` of the token infrastructure
    role::Role,
    /// `RoleBinding` of an agent
    role_binding::RoleBinding,
    /// `CertificateSigningRequest` of an agent
    signing_request::SigningRequest,
    /// `Namespace`, of which only policies ask
    namespace::Namespace,
}
