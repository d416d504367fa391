//! Which resources there are, as discovery tells.
//!
//! Decides which of them the controllers care for: not events, which have an end of their own (`events.rs`).

use kube::Client;
use kube::discovery::{ApiResource, Discovery, Scope, verbs};

/// A resource that can be watched and deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// How to reach it.
    pub(super) resource: ApiResource,
    /// Whether its objects have namespaces.
    pub(super) namespaced: bool,
}

impl Kind {
    /// Returns `plural.group`.
    pub(super) fn id(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }
}

/// Returns all resources that can be listed, watched and deleted.
pub(super) async fn kinds(client: &Client) -> Result<Vec<Kind>, kube::Error> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let mut kinds = Vec::new();
    for group in discovery.groups_alphabetical() {
        // Each kind in its most stable version: a group may prefer a version that does not have all of its kinds.
        for (resource, capabilities) in group.resources_by_stability() {
            let usable = [verbs::LIST, verbs::WATCH, verbs::DELETE]
                .iter()
                .all(|verb| capabilities.supports_operation(verb));
            if usable && resource.plural != "events" {
                kinds.push(Kind {
                    resource,
                    namespaced: capabilities.scope == Scope::Namespaced,
                });
            }
        }
    }
    Ok(kinds)
}
