//! The kinds of the store, in files: how objects of a kind are read, filed and removed.
//!
//! A table of contents. A new kind is a row of `kind::row`, a file here, its `mod` and its line in the list below.

mod addon;
mod approval;
mod check;
mod cluster;
pub(super) mod cluster_set;
mod configs;
pub(super) mod decision;
mod freeze;
pub(super) mod granted;
mod instance;
pub(super) mod kept_content;
pub(super) mod namespace;
pub(super) mod profile;
pub(super) mod rollout;
mod signing_request;
mod stored;
pub(super) mod upgrade;
mod upgrade_work;
mod work;

stored::list! {
    addon::AddOn, cluster::Cluster, cluster_set::ClusterSet, decision::Decision, configs::DeploymentConfig, approval::Approval, check::Check, freeze::Freeze,
    granted::HubClusterRole, configs::HubConfig, granted::HubRole, instance::Instance,
    kept_content::KeptContent, namespace::Namespace, decision::Placement, profile::Profile, granted::Role, granted::RoleBinding, rollout::Rollout,
    granted::ServiceAccount, cluster_set::SetBinding, signing_request::SigningRequest,
    configs::Template, upgrade::Upgrade, upgrade_work::UpgradeWork, work::Work,
}
