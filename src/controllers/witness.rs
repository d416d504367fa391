//! Whether single objects exist, asked of the hub itself; and of a namespace, what policies may ask of it.
//!
//! Decides nothing: a hub that does not say, or does not let this program look, leaves the question open.

use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};

use crate::snapshot::{Kind, Names, NamespaceFacts, ObjectKey, Told};

/// Returns what the hub says of an object, if it does.
pub async fn ask(client: Client, object: ObjectKey) -> Option<Told> {
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
    let found = api.get_metadata_opt(&object.name).await.ok()?;
    Some(match found {
        None => Told::Absent,
        Some(found) if object.kind == Kind::Namespace => {
            Told::Namespace(NamespaceFacts::of(&found.metadata, &mut Names::default()))
        }
        Some(_) => Told::Exists,
    })
}
