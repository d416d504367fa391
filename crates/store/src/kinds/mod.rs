//! The kinds of the store, in files: how objects of a kind are read, filed and taken away.
//!
//! A table of contents. A new kind is a row of `kind::row`, a file here, its `mod` and its line in the list below.

mod addon;
mod cluster;
pub(super) mod cluster_set;
mod configs;
mod decision;
mod granted;
pub(super) mod hub_roles;
mod instance;
pub(super) mod kept_content;
pub(super) mod namespace;
pub(super) mod placement;
mod plain;
pub(super) mod rollout;
pub(super) mod set_binding;
mod signing_request;
mod stored;
pub(super) mod upgrade;
mod upgrade_work;
mod work;

stored::list! {
    addon::AddOn, cluster::Cluster, cluster_set::ClusterSet, decision::Decision, configs::DeploymentConfig,
    hub_roles::HubClusterRole, configs::HubConfig, hub_roles::HubRole, instance::Instance,
    kept_content::KeptContent, namespace::Namespace, placement::Placement, granted::Role, granted::RoleBinding, rollout::Rollout,
    granted::ServiceAccount, set_binding::SetBinding, signing_request::SigningRequest,
    configs::Template, upgrade::Upgrade, upgrade_work::UpgradeWork, work::Work,
}
