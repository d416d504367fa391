//! Whether single objects exist, asked of the hub itself.
//!
//! Decides nothing: a hub that does not say, or does not let this program look, leaves the question open.

use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};

use crate::snapshot::ObjectKey;

/// Returns whether an object exists, if the hub says.
pub async fn exists(client: Client, object: ObjectKey) -> Option<bool> {
    let address = object.kind.address();
    let resource = ApiResource {
        group: address.group.to_owned(),
        version: address.version.to_owned(),
        api_version: object.kind.api_version(),
        kind: address.kind.to_owned(),
        plural: address.resource.to_owned(),
    };
    let api: Api<DynamicObject> = if address.namespaced {
        Api::namespaced_with(client, &object.namespace, &resource)
    } else {
        Api::all_with(client, &resource)
    };
    let found = api.get_metadata_opt(&object.name).await;
    found.ok().map(|found| found.is_some())
}
