//! A writer that only writes: the lower bound for a manager that changes every work.
//!
//! Decides what it writes: the workload of each work with another edition, as many at a time as the controllers of `tidegate` write;
//! or the status of the add-on on the cluster before that, as a manager does that assigns a configuration before it deploys it.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::error::BenchError;
use crate::scene::{MCA, Sort, WORK};

/// Writes at a time, as in `tidegate serve`.
const AT_ONCE: usize = 32;
/// The label of a work with the name of its add-on (OCM's work API).
const ADDON_LABEL: &str = "open-cluster-management.io/addon-name";

/// What is written to one cluster for one add-on, read before time is measured.
struct Target {
    namespace: String,
    work: String,
    workload: Value,
    addon: String,
    references: Value,
}

/// All works with their changed workload.
pub(crate) struct Bare {
    targets: Vec<Target>,
    assigns: bool,
}

impl Bare {
    /// Reads all works. With `assigns`, it writes the status of each add-on first.
    pub(crate) async fn read(client: &Client, assigns: bool) -> Result<Self, BenchError> {
        let list = async |sort: Sort| {
            let listed = sort.everywhere(client).list(&ListParams::default()).await;
            listed.map_err(|error| BenchError::Hub(error.to_string()))
        };
        let known = list(MCA).await?.items.into_iter().map(|mut instance| {
            let key = (instance.namespace().unwrap_or_default(), instance.name_any());
            (key, instance.data["status"]["configReferences"].take())
        });
        let mut known: BTreeMap<_, _> = known.collect();
        let edition = if assigns { "four" } else { "three" };
        let targets = list(WORK).await?.items.into_iter().map(|mut work| {
            let mut workload = work.data["spec"]["workload"].take();
            if let Some(text) = workload.pointer_mut("/manifests/0/data/edition") {
                *text = json!(edition);
            }
            let namespace = work.namespace().unwrap_or_default();
            let addon = work.labels().get(ADDON_LABEL).cloned().unwrap_or_default();
            let mut references = known
                .remove(&(namespace.clone(), addon.clone()))
                .unwrap_or_default();
            for reference in references.as_array_mut().into_iter().flatten() {
                reference["desiredConfigSpecHash"] = json!(edition);
            }
            Target {
                work: work.name_any(),
                namespace,
                workload,
                addon,
                references,
            }
        });
        Ok(Self {
            targets: targets.collect(),
            assigns,
        })
    }

    /// Writes them all.
    pub(crate) async fn write(&self, client: &Client) -> Result<(), BenchError> {
        let (instances, works) = (MCA.resource(), WORK.resource());
        let each = self.targets.iter().map(|target| {
            let instances: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), &target.namespace, &instances);
            let works: Api<DynamicObject> = Api::namespaced_with(client.clone(), &target.namespace, &works);
            async move {
                let refused = |source| BenchError::Write {
                    object: format!("for cluster {}", target.namespace),
                    source: Box::new(source),
                };
                let params = PatchParams::default();
                if self.assigns {
                    let patch = Patch::Merge(json!({"status": {"configReferences": target.references}}));
                    let written = instances.patch_status(&target.addon, &params, &patch).await;
                    written.map_err(refused)?;
                }
                let patch = Patch::Merge(json!({"spec": {"workload": target.workload}}));
                works
                    .patch(&target.work, &params, &patch)
                    .await
                    .map_err(refused)?;
                Ok(())
            }
        });
        stream::iter(each).buffer_unordered(AT_ONCE).try_collect().await
    }
}
