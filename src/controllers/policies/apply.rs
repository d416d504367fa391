//! Writes the status of policies, and nothing else.
//!
//! Decides nothing. A write that comes too late fails, and the watch brings the object again.

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::watch::resource;
use crate::controllers::runtime::raw::Raw;
use admission::policy::is_former;
use api::names::OWN_GROUP;
use api::v1alpha1::GROUP;

/// Name under which the API server records our writes.
const FIELD_MANAGER: &str = "tidegate";

/// Writes the status of the policy that `object` is.
pub(super) async fn apply_status(client: &Client, object: &Value, status: Value) -> kube::Result<()> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let group = if is_former(object) { GROUP } else { OWN_GROUP };
    let api: Api<Raw> = Api::all_with(client.clone(), &resource(group));
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    // The revision makes the API server refuse a status of another generation than the one that was compiled.
    let metadata =
        json!({"uid": text("/metadata/uid"), "resourceVersion": text("/metadata/resourceVersion")});
    let patch = json!({"metadata": metadata, "status": status});
    api.patch_status(text("/metadata/name"), &params, &Patch::Merge(patch))
        .await
        .map(drop)
}
