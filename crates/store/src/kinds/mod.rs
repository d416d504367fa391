//! The kinds of the store, one file each: how objects of a kind are read, filed and taken away.
//!
//! A table of contents. A new kind is a row of `kind::row`, a file here, its `mod` and its line in the list below.

mod addon;
mod cluster;
pub(super) mod cluster_set;
mod configs;
mod decision;
mod deployment_config;
pub(super) mod hub_cluster_role;
mod hub_config;
pub(super) mod hub_role;
mod instance;
pub(super) mod kept_content;
pub(super) mod namespace;
pub(super) mod placement;
mod plain;
mod role;
mod role_binding;
pub(super) mod rollout;
mod service_account;
pub(super) mod set_binding;
mod signing_request;
mod stored;
mod template;
pub(super) mod upgrade;
mod upgrade_work;
mod work;

stored::list! {
    addon::AddOn, cluster::Cluster, cluster_set::ClusterSet, decision::Decision, deployment_config::DeploymentConfig,
    hub_cluster_role::HubClusterRole, hub_config::HubConfig, hub_role::HubRole, instance::Instance,
    kept_content::KeptContent, namespace::Namespace, placement::Placement, role::Role, role_binding::RoleBinding, rollout::Rollout,
    service_account::ServiceAccount, set_binding::SetBinding, signing_request::SigningRequest,
    template::Template, upgrade::Upgrade, upgrade_work::UpgradeWork, work::Work,
}
