//! The calls that a fleet makes to its hub. Nothing is decided here, and nothing is tried twice.

use std::{fmt, future, time::Duration};

use futures::{StreamExt, stream::BoxStream};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use serde_json::{Value, json};
use tracing::{debug, warn};

use crate::wire::{Kind, Meta};

/// One change that a watch tells of.
pub(super) type Change = Event<DynamicObject>;

/// The hub, as an API client.
#[derive(Clone)]
pub(super) struct Hub {
    client: Client,
}

impl Hub {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Watches all objects of a kind. A broken watch is taken up again; the stream has no end.
    pub(super) fn watch(&self, kind: Kind) -> BoxStream<'static, Change> {
        watcher::watcher(self.all(kind), watcher::Config::default())
            .default_backoff()
            .filter_map(move |change| {
                future::ready(
                    change
                        .map_err(
                            |error| warn!(kind = kind.plural(), %error, "watch broke, taking it up again"),
                        )
                        .ok(),
                )
            })
            .boxed()
    }

    /// Reads whether the hub serves a kind at all.
    pub(super) async fn read_any(&self, kind: Kind) -> kube::Result<()> {
        self.all(kind)
            .list(&ListParams::default().limit(1))
            .await
            .map(|_any| ())
    }

    /// Reads one object.
    pub(super) async fn read(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> kube::Result<Option<DynamicObject>> {
        self.api(kind, namespace).get_opt(name).await
    }

    /// Creates an object; returns none when there is one of that name.
    pub(super) async fn create(
        &self,
        kind: Kind,
        namespace: &str,
        object: Value,
    ) -> kube::Result<Option<DynamicObject>> {
        let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        match self
            .api(kind, namespace)
            .create(&PostParams::default(), &object)
            .await
        {
            Ok(created) => Ok(Some(created)),
            Err(error) if status(&error).is_some_and(kube::core::Status::is_already_exists) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes an object by a merge patch; returns none when there is none of that name.
    pub(super) async fn patch(
        &self,
        kind: Kind,
        meta: &Meta,
        patch: Value,
    ) -> kube::Result<Option<DynamicObject>> {
        let api = self.api(kind, &meta.namespace);
        found(
            api.patch(&meta.name, &PatchParams::default(), &Patch::Merge(patch))
                .await,
        )
    }

    /// Writes a status, if the object is still as it was when the status was made.
    pub(super) async fn patch_status(
        &self,
        kind: Kind,
        meta: &Meta,
        status: Value,
    ) -> kube::Result<Option<DynamicObject>> {
        let patch = json!({"metadata": {"resourceVersion": meta.resource_version}, "status": status});
        let api = self.api(kind, &meta.namespace);
        found(
            api.patch_status(&meta.name, &PatchParams::default(), &Patch::Merge(patch))
                .await,
        )
    }

    /// Deletes an object, if it is there.
    pub(super) async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> kube::Result<()> {
        found(
            self.api(kind, namespace)
                .delete(name, &DeleteParams::default())
                .await,
        )
        .map(|_gone| ())
    }

    fn all(&self, kind: Kind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.resource())
    }

    fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            self.all(kind)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &kind.resource())
        }
    }
}

/// Tells of a call that failed and will be made again. That another client wrote first is no failure.
pub(super) fn log_failure(job: &impl fmt::Debug, error: &kube::Error, wait: Duration) {
    if status(error).is_some_and(kube::core::Status::is_conflict) {
        debug!(?job, "write conflict, retrying");
    } else {
        warn!(?job, %error, ?wait, "request failed, retrying");
    }
}

fn found<T>(outcome: kube::Result<T>) -> kube::Result<Option<T>> {
    match outcome {
        Ok(object) => Ok(Some(object)),
        Err(error) if status(&error).is_some_and(kube::core::Status::is_not_found) => Ok(None),
        Err(error) => Err(error),
    }
}

fn status(error: &kube::Error) -> Option<&kube::core::Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}
