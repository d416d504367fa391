//! The writes of `tidegate release`: each on the revision that it was decided from.
//!
//! Decides nothing. What another client has changed meanwhile is not written; the next run sees it.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::hub::Of;
use operate::release::{Act, Step};

/// Name under which the API server records our writes.
const FIELD_MANAGER: &str = "tidegate";

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is taken.
    Done,
    /// The object is not the one that the step was decided from.
    Changed,
}

/// Takes a step; nothing happens if the object was deleted.
///
/// A plan may step on one object twice, its status and its metadata: `fresh` says that the revision is still the one that was
/// read.
pub(super) async fn take(client: &Client, step: &Step, fresh: bool) -> kube::Result<Taken> {
    let text = |pointer: &str| step.object.pointer(pointer).and_then(Value::as_str);
    let Some(of) = Of::object(&step.object) else {
        return Ok(Taken::Done);
    };
    let (namespace, name) = (
        text("/metadata/namespace"),
        text("/metadata/name").unwrap_or_default(),
    );
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &of.resource()),
        None => Api::all_with(client.clone(), &of.resource()),
    };
    let uid = text("/metadata/uid").map(ToOwned::to_owned);
    let version = text("/metadata/resourceVersion")
        .filter(|_| fresh)
        .map(ToOwned::to_owned);
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let guarded = |patch: &Value| {
        let mut patch = patch.clone();
        json_patch::merge(
            &mut patch,
            &json!({"metadata": {"uid": uid, "resourceVersion": version}}),
        );
        without_nothing(&mut patch, "uid");
        without_nothing(&mut patch, "resourceVersion");
        Patch::Merge(patch)
    };
    let done = match &step.act {
        Act::Status(patch) => api.patch_status(name, &params, &guarded(patch)).await.map(drop),
        Act::Patch(patch) => api.patch(name, &params, &guarded(patch)).await.map(drop),
        Act::Delete => {
            let preconditions = Preconditions {
                uid: uid.clone(),
                resource_version: version.clone(),
            };
            let params = DeleteParams::background().preconditions(preconditions);
            api.delete(name, &params).await.map(drop)
        }
    };
    match done {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Taken::Done),
        Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Taken::Changed),
        other => other.map(|()| Taken::Done),
    }
}

/// A guard that is not known must not be sent: `null` in a patch takes a field away.
fn without_nothing(patch: &mut Value, field: &str) {
    let metadata = patch.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata
        && metadata.get(field).is_none_or(Value::is_null)
    {
        metadata.remove(field);
    }
}
