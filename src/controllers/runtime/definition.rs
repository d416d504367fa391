//! When it is worth while to ask again for a kind that the hub did not show.
//!
//! Decides that by the kind's definition, which is watched: a hub without it is not asked again and again. Where definitions may not
//! be watched, where the kind has none, or where it is forbidden, pauses grow. Never lists the kind itself.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client};
use tracing::debug;

use super::api_watch::{api_code, list_code, observe_object};
use super::apply_error::root;

/// Pauses between the creation of a CRD and the first list of its kind: a server needs a moment to serve it.
const TRIES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_secs(3),
    Duration::from_secs(10),
];
/// First and longest pause where there is nothing to watch.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// How long to wait for a CRD that may be watched before the kind is listed anyway.
const AT_LEAST: Duration = Duration::from_mins(10);

type Definitions = BoxStream<'static, watcher::Result<Option<PartialObjectMeta<CustomResourceDefinition>>>>;

/// Why a kind has no objects here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controllers) enum Absent {
    /// The hub does not serve it.
    NotServed,
    /// It may not be listed.
    Forbidden,
}

impl Absent {
    /// Returns why a list was refused, if not because of a passing fault.
    pub(in crate::controllers) fn of(error: &watcher::Error) -> Option<Self> {
        match list_code(error) {
            Some(404) => Some(Self::NotServed),
            Some(403) => Some(Self::Forbidden),
            _ => None,
        }
    }
}

/// The definition of a kind, as far as it tells when to ask again.
pub(in crate::controllers) struct Definition {
    client: Client,
    /// `metadata.name`; absent for kinds that are part of Kubernetes.
    name: Option<String>,
    watch: Option<Definitions>,
    /// How often the kind was listed since its CRD has changed.
    tries: usize,
    /// Whether a definition was seen since the kind was last served.
    is_there: bool,
    /// How often in a row nothing but a pause could be waited for.
    pauses: u32,
}

impl Definition {
    /// The definition of this name. Watches nothing yet.
    pub(in crate::controllers) fn new(client: &Client, name: Option<String>) -> Self {
        Self {
            client: client.clone(),
            name,
            watch: None,
            tries: 0,
            is_there: false,
            pauses: 0,
        }
    }

    /// The kind is served: what was seen of the definition is over.
    pub(in crate::controllers) fn is_served(&mut self) {
        (self.watch, self.tries, self.is_there, self.pauses) = (None, 0, false, 0);
    }

    /// Returns when there is reason to ask for the kind again, by why it was not shown. May be dropped and begun again.
    pub(in crate::controllers) async fn is_worth_a_try(&mut self, absent: Option<Absent>) {
        let Some(name) = self.name.clone().filter(|_| absent == Some(Absent::NotServed)) else {
            return self.pause().await;
        };
        if let Some(pause) = TRIES.get(self.tries).filter(|_| self.is_there) {
            self.tries += 1;
            tokio::time::sleep(*pause).await;
            return;
        }
        let client = &self.client;
        let watch = self
            .watch
            .get_or_insert_with(|| observe_object(Api::all(client.clone()), &name));
        let seen = tokio::time::timeout(AT_LEAST, next_change(watch)).await;
        match seen {
            Ok(DefinitionSight::Changed) => {
                (self.tries, self.is_there, self.pauses) = (1, true, 0);
                tokio::time::sleep(TRIES[0]).await;
            }
            Ok(DefinitionSight::Nothing) => {
                self.watch = None;
                self.pause().await;
            }
            Err(_elapsed) => {}
        }
    }

    async fn pause(&mut self) {
        let pause = FIRST.saturating_mul(1 << self.pauses.min(8)).min(LONGEST);
        self.pauses = self.pauses.saturating_add(1);
        tokio::time::sleep(pause).await;
    }
}

/// What came of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefinitionSight {
    /// The definition is there, or has changed.
    Changed,
    /// It may not be watched.
    Nothing,
}

async fn next_change(watch: &mut Definitions) -> DefinitionSight {
    loop {
        match watch.next().await {
            Some(Ok(Some(_))) => return DefinitionSight::Changed,
            Some(Ok(None)) => {}
            Some(Err(watcher::Error::InitialListFailed(error))) => {
                debug!(error = %root(&error), "cannot watch CustomResourceDefinitions");
                return DefinitionSight::Nothing;
            }
            Some(Err(error)) if api_code(&error) == Some(403) => return DefinitionSight::Nothing,
            Some(Err(error)) => {
                debug!(error = %root(&error), "watch of a CustomResourceDefinition interrupted");
            }
            None => return DefinitionSight::Nothing,
        }
    }
}
