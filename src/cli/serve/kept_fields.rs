//! Whether the hub keeps Tidegate's fields: checked every few minutes, and logged as an error where it does not.
//!
//! Reads two definitions, a page of add-ons, and one of them in its other version; `api::definitions` decides what they mean. Without the
//! permissions for it nothing is reported.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::core::ObjectMeta;
use kube::{Api, Client};
use serde_json::{Value, json};
use tracing::{debug, error, info};

use crate::cli::Only;
use crate::telemetry::Metrics;
use api::definitions::{Erasure, converter, erasure, extended, has_something_to_lose, is_kept};

/// An operator takes minutes to write its conversion back.
const LOOK_EVERY: Duration = Duration::from_mins(5);
/// How many objects are looked through for one that has something to lose.
const PAGE: u32 = 100;
/// The kinds that fields are added to; the others of the group get columns.
const KINDS: [(&str, &str); 2] = [
    ("clustermanagementaddons", "ClusterManagementAddOn"),
    ("managedclusteraddons", "ManagedClusterAddOn"),
];
const GROUP: &str = api::v1alpha1::GROUP;

/// What is known of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preservation {
    /// There is nothing to erase yet.
    NoFields,
    Kept,
    Erased,
    Unknown,
}

/// What is checked, and where it is reported.
pub(super) struct Watch {
    pub(super) client: Client,
    pub(super) metrics: Metrics,
    pub(super) only: Option<Only>,
}

impl Watch {
    /// Checks and logs, until it is dropped.
    pub(super) async fn follow(&self) {
        // The gate alone writes none of the fields and may read no definitions.
        if self.only == Some(Only::Gate) {
            return std::future::pending().await;
        }
        let ours: BTreeMap<String, Value> = extended().into_iter().collect();
        let mut told = BTreeMap::new();
        loop {
            // One program converts all kinds as a rule: what one of them shows counts for the others.
            let mut shown = Vec::new();
            for (resource, kind) in KINDS {
                let Some(ours) = ours.get(&format!("{resource}.{GROUP}")) else {
                    continue;
                };
                match look(&self.client, resource, kind, ours).await {
                    Ok((by, found)) => {
                        let same = shown.iter().find(|(other, _)| by.is_some() && *other == by);
                        let found = match same {
                            Some((_, other)) if found == Preservation::Unknown => *other,
                            Some(_) | None => found,
                        };
                        shown.push((by, found));
                        self.metrics.erases(resource, found == Preservation::Erased);
                        if told.insert(resource, found) != Some(found) {
                            tell(resource, found);
                        }
                    }
                    Err(error) => {
                        debug!(
                            resource,
                            error = &error as &dyn std::error::Error,
                            "cannot check the conversion"
                        );
                    }
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn tell(resource: &'static str, found: Preservation) {
    match found {
        Preservation::NoFields => info!(
            resource,
            "the CRD on the hub has none of Tidegate's fields; run `tidegate definitions plan` to see them, and whether the conversion \
             would erase them"
        ),
        Preservation::Kept => info!(resource, "no version of the hub erases Tidegate's fields"),
        Preservation::Unknown => info!(
            resource,
            "cannot determine yet whether the conversion of the hub erases Tidegate's fields; run `tidegate definitions plan`"
        ),
        Preservation::Erased => error!(
            resource,
            "the hub has Tidegate's fields, and every write through another version erases them: configure Tidegate's /convert as \
             conversion webhook, \
             or remove the fields with `tidegate definitions revert` (docs/ocm/definitions.md)"
        ),
    }
}

/// Returns what becomes of the fields of a kind, and who converts it where that depends on him.
async fn look(
    client: &Client,
    resource: &str,
    kind: &str,
    ours: &Value,
) -> Result<(Option<Value>, Preservation), kube::Error> {
    let definitions: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            "customresourcedefinitions",
        ),
    );
    let live = json!(definitions.get(&format!("{resource}.{GROUP}")).await?);
    match erasure(&live, ours) {
        Erasure::NoFields => Ok((None, Preservation::NoFields)),
        Erasure::Impossible => Ok((None, Preservation::Kept)),
        Erasure::Certain => Ok((None, Preservation::Erased)),
        Erasure::ByConverter => Ok((converter(&live), shown(client, resource, kind).await?)),
    }
}

/// Reads an object that has something to lose, in its other version.
async fn shown(client: &Client, resource: &str, kind: &str) -> Result<Preservation, kube::Error> {
    let of = |version: &str| {
        let kind = GroupVersionKind::gvk(GROUP, version, kind);
        ApiResource::from_gvk_with_plural(&kind, resource)
    };
    let (alpha, beta) = (of("v1alpha1"), of("v1beta1"));
    let stored: Api<DynamicObject> = Api::all_with(client.clone(), &alpha);
    let page = stored.list(&ListParams::default().limit(PAGE)).await?;
    let Some(evidence) = page.items.iter().find_map(|item| evidence(item, &alpha)) else {
        return Ok(Preservation::Unknown);
    };
    let other: Api<DynamicObject> = match evidence.namespace.as_deref() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &beta),
        None => Api::all_with(client.clone(), &beta),
    };
    let other = other.get(evidence.name.as_deref().unwrap_or_default()).await?;
    Ok(if is_kept(&json!(other)) {
        Preservation::Kept
    } else {
        Preservation::Erased
    })
}

/// Returns which object it is, when it has something to lose. Items of a list carry no kind of their own.
fn evidence(item: &DynamicObject, of: &ApiResource) -> Option<ObjectMeta> {
    let mut whole = json!(item);
    let fields = whole.as_object_mut()?;
    fields.insert("apiVersion".to_owned(), of.api_version.clone().into());
    fields.insert("kind".to_owned(), of.kind.clone().into());
    has_something_to_lose(&whole).then(|| item.metadata.clone())
}
