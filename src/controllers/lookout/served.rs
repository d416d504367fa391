//! How a type is addressed: version, kind and scope, as the hub itself says.
//!
//! Decides the version: the one that the hub prefers, or else the first in which the type can be read and watched. Never
//! guesses a kind from a resource name.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use kube::core::ApiResource;

use crate::snapshot::ConfigType;

/// What must be possible with a type of configuration.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// A type that the hub serves.
#[derive(Debug, Clone)]
pub(super) struct Served {
    /// How it is addressed.
    pub(super) resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub(super) namespaced: bool,
}

/// Asks the hub how a type is addressed; `None` when it serves no such type that can be watched.
pub(super) async fn read_served(client: &Client, of: &ConfigType) -> kube::Result<Option<Served>> {
    for version in read_versions(client, &of.group).await? {
        let listed = if of.group.is_empty() {
            client.list_core_api_resources(&version).await
        } else {
            client
                .list_api_group_resources(&format!("{}/{version}", of.group))
                .await
        };
        let resources = match listed {
            Ok(listed) => listed.resources,
            Err(kube::Error::Api(status)) if status.code == 404 => continue,
            Err(error) => return Err(error),
        };
        if let Some(found) = resources.iter().find(|one| is_usable(one, &of.resource)) {
            return Ok(Some(served(of, &version, found)));
        }
    }
    Ok(None)
}

/// The preferred version comes first.
async fn read_versions(client: &Client, group: &str) -> kube::Result<Vec<String>> {
    if group.is_empty() {
        return Ok(client.list_core_api_versions().await?.versions);
    }
    let groups = client.list_api_groups().await?.groups;
    let Some(found) = groups.into_iter().find(|one| one.name == group) else {
        return Ok(Vec::new());
    };
    let preferred = found.preferred_version.map(|version| version.version);
    let others = found.versions.into_iter().map(|version| version.version);
    let others = others.filter(|version| Some(version) != preferred.as_ref());
    let others: Vec<String> = others.collect();
    Ok(preferred.into_iter().chain(others).collect())
}

fn is_usable(resource: &APIResource, name: &str) -> bool {
    let can = |verb: &&str| resource.verbs.iter().any(|known| known == verb);
    resource.name == name && VERBS.iter().all(can)
}

fn served(of: &ConfigType, version: &str, found: &APIResource) -> Served {
    let api_version = if of.group.is_empty() {
        version.to_owned()
    } else {
        format!("{}/{version}", of.group)
    };
    Served {
        resource: ApiResource {
            group: of.group.to_string(),
            version: version.to_owned(),
            api_version,
            kind: found.kind.clone(),
            plural: found.name.clone(),
        },
        namespaced: found.namespaced,
    }
}
