//! A writer that only writes: the lower bound for a manager that changes every work.
//!
//! Decides what it writes: the workload of each work with another edition, as many at a time as the controllers of `tidegate` write.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::error::BenchError;
use crate::scene::WORK;

/// Writes at a time, as in `tidegate serve`.
const AT_ONCE: usize = 32;

/// Works with their changed workload, read before time is measured.
pub(crate) struct Bare(Vec<DynamicObject>);

impl Bare {
    /// Reads all works.
    pub(crate) async fn read(client: &Client) -> Result<Self, BenchError> {
        let listed = WORK.everywhere(client).list(&ListParams::default()).await;
        let mut works = listed.map_err(|error| BenchError::Hub(error.to_string()))?.items;
        for work in &mut works {
            work.metadata.managed_fields = None;
            if let Some(edition) = work.data.pointer_mut("/spec/workload/manifests/0/data/edition") {
                *edition = json!("three");
            }
        }
        Ok(Self(works))
    }

    /// Writes them all.
    pub(crate) async fn write(&self, client: &Client) -> Result<(), BenchError> {
        let resource = WORK.resource();
        let each = self.0.iter().map(|work| {
            let namespace = work.namespace().unwrap_or_default();
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
            async move {
                let patch = Patch::Merge(json!({"spec": {"workload": work.data["spec"]["workload"]}}));
                let written = api.patch(&work.name_any(), &PatchParams::default(), &patch).await;
                written.map(|_| ()).map_err(|source| BenchError::Write {
                    object: format!("ManifestWork {namespace}/{}", work.name_any()),
                    source: Box::new(source),
                })
            }
        });
        stream::iter(each).buffer_unordered(AT_ONCE).try_collect().await
    }
}
