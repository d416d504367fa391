//! Writes the Secrets of the installation, and whom the API server trusts, and nothing else.
//!
//! Decides nothing. A Secret is written at the revision that was read; of a webhook configuration or a definition one field is
//! applied, under a field manager of its own, so that the client that applies the rest sees no difference.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::Value;

/// Name under which the API server records what is written here.
pub(super) const FIELD_MANAGER: &str = "tidegate-certificates";

/// Writes a Secret; one that has no revision yet is made. Returns it as it is stored.
pub(in crate::controllers) async fn apply_secret(
    api: &Api<Secret>,
    secret: &Secret,
    manager: &str,
) -> kube::Result<Secret> {
    let params = PostParams {
        field_manager: Some(manager.to_owned()),
        ..PostParams::default()
    };
    if secret.metadata.resource_version.is_none() {
        return api.create(&params, secret).await;
    }
    api.replace(&secret.name_any(), &params, secret).await
}

/// Applies the one field of an object that says whom to trust. Returns the object as it is stored.
pub(super) async fn apply_bundle(
    api: &Api<DynamicObject>,
    name: &str,
    patch: &Value,
) -> kube::Result<DynamicObject> {
    // Forced: a bundle that another field manager has written does not verify the gate's certificate.
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(name, &params, &Patch::Apply(patch)).await
}
