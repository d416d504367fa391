//! How a type is addressed: version, kind and scope, as the hub itself says, asked once for all types.
//!
//! Decides how long an answer counts, and the version: the one that the hub prefers, or else the first in which the type can be
//! read and watched. Never guesses a kind from a resource name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use kube::core::ApiResource;
use tokio::sync::Mutex;
use tokio::time::Instant;

use store::ConfigType;

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

/// How long an answer counts. Thousands of types that no hub serves ask no more often than this together.
const FRESH: Duration = Duration::from_secs(5);
/// Longest pause after a hub that does not answer.
const LONGEST: Duration = Duration::from_secs(30);

/// What the hub serves, asked once for all types.
#[derive(Clone)]
pub(super) struct Discovery {
    client: Client,
    known: Arc<Mutex<DiscoveryCache>>,
}

#[derive(Default)]
struct DiscoveryCache {
    /// The versions of every group, the preferred one first.
    groups: Option<(Instant, BTreeMap<String, Vec<String>>)>,
    /// The resources of a group and version.
    resources: BTreeMap<(String, String), (Instant, Vec<APIResource>)>,
    /// Until when a hub that does not answer is not asked, and how often it has not answered.
    pause: Option<(Instant, u32)>,
}

/// The hub does not say what it serves.
#[derive(Debug)]
pub(super) enum Unknown {
    /// It was asked just now.
    Asked(Box<kube::Error>),
    /// It is asked again after a pause.
    Pausing,
}

impl Discovery {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// Returns how a type is addressed; `None` when the hub serves no such type that can be watched.
    pub(super) async fn read_served(&self, of: &ConfigType) -> Result<Option<Served>, Unknown> {
        // The watch of another type that comes meanwhile waits for this answer instead of asking as well.
        let mut known = self.known.lock().await;
        let now = Instant::now();
        if known.pause.is_some_and(|(until, _)| now < until) {
            return Err(Unknown::Pausing);
        }
        match known.served(&self.client, of, now).await {
            Ok(served) => {
                known.pause = None;
                Ok(served)
            }
            Err(error) => {
                let failures = known.pause.map_or(0, |(_, failures)| failures);
                let pause = Duration::from_secs(1 << failures.min(5)).min(LONGEST);
                known.pause = Some((Instant::now() + pause, failures.saturating_add(1)));
                Err(Unknown::Asked(Box::new(error)))
            }
        }
    }
}

impl DiscoveryCache {
    async fn served(
        &mut self,
        client: &Client,
        of: &ConfigType,
        now: Instant,
    ) -> kube::Result<Option<Served>> {
        for version in self.versions(client, &of.group, now).await? {
            let resources = self.resources(client, &of.group, &version, now).await?;
            if let Some(found) = resources.iter().find(|one| is_usable(one, &of.resource)) {
                return Ok(Some(served(of, &version, found)));
            }
        }
        Ok(None)
    }

    /// The preferred version comes first.
    async fn versions(&mut self, client: &Client, group: &str, now: Instant) -> kube::Result<Vec<String>> {
        if self
            .groups
            .as_ref()
            .is_none_or(|(at, _)| now.duration_since(*at) >= FRESH)
        {
            let mut groups =
                BTreeMap::from([(String::new(), client.list_core_api_versions().await?.versions)]);
            for found in client.list_api_groups().await?.groups {
                let preferred = found.preferred_version.map(|version| version.version);
                let others = found.versions.into_iter().map(|version| version.version);
                let others: Vec<String> = others
                    .filter(|version| Some(version) != preferred.as_ref())
                    .collect();
                groups.insert(found.name, preferred.into_iter().chain(others).collect());
            }
            self.resources
                .retain(|_, (at, _)| now.duration_since(*at) < FRESH);
            self.groups = Some((now, groups));
        }
        let groups = self.groups.as_ref().and_then(|(_, groups)| groups.get(group));
        Ok(groups.cloned().unwrap_or_default())
    }

    async fn resources(
        &mut self,
        client: &Client,
        group: &str,
        version: &str,
        now: Instant,
    ) -> kube::Result<&[APIResource]> {
        let key = (group.to_owned(), version.to_owned());
        let is_fresh = self
            .resources
            .get(&key)
            .is_some_and(|(at, _)| now.duration_since(*at) < FRESH);
        if !is_fresh {
            let listed = if group.is_empty() {
                client.list_core_api_resources(version).await
            } else {
                client
                    .list_api_group_resources(&format!("{group}/{version}"))
                    .await
            };
            let resources = match listed {
                Ok(listed) => listed.resources,
                Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
                Err(error) => return Err(error),
            };
            self.resources.insert(key.clone(), (now, resources));
        }
        Ok(self
            .resources
            .get(&key)
            .map(|(_, resources)| resources.as_slice())
            .unwrap_or_default())
    }
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
