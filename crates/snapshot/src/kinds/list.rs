//! What is done with each kind.
//!
//! Decides nothing: one line a kind.

use super::stored::Stores;
use super::{
    addon, cluster, cluster_set, decision, deployment_config, hub_cluster_role, hub_config, hub_role,
    instance, namespace, placement, role, role_binding, rollout, service_account, set_binding,
    signing_request, template, upgrade, upgrade_work, work,
};
use crate::kind::Kind;

/// Returns what the store does with the objects of a kind.
pub(crate) const fn stores(kind: Kind) -> &'static Stores {
    macro_rules! of {
        ($stored:path) => {
            const { &Stores::of::<$stored>() }
        };
    }
    match kind {
        Kind::Cluster => of!(cluster::Cluster),
        Kind::Placement => of!(placement::Placement),
        Kind::Decision => of!(decision::Decision),
        Kind::DeploymentConfig => of!(deployment_config::DeploymentConfig),
        Kind::Template => of!(template::Template),
        Kind::HubConfig => of!(hub_config::HubConfig),
        Kind::HubClusterRole => of!(hub_cluster_role::HubClusterRole),
        Kind::HubRole => of!(hub_role::HubRole),
        Kind::AddOn => of!(addon::AddOn),
        Kind::Instance => of!(instance::Instance),
        Kind::Work => of!(work::Work),
        Kind::ServiceAccount => of!(service_account::ServiceAccount),
        Kind::Role => of!(role::Role),
        Kind::RoleBinding => of!(role_binding::RoleBinding),
        Kind::SigningRequest => of!(signing_request::SigningRequest),
        Kind::Rollout => of!(rollout::Rollout),
        Kind::Namespace => of!(namespace::Namespace),
        Kind::ClusterSet => of!(cluster_set::ClusterSet),
        Kind::SetBinding => of!(set_binding::SetBinding),
        Kind::Upgrade => of!(upgrade::Upgrade),
        Kind::UpgradeWork => of!(upgrade_work::UpgradeWork),
    }
}
