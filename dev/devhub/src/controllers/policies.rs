//! The status of admission policies.
//!
//! Decides that a policy was looked at in its newest generation. Types of expressions are not compared with the schemas of
//! what they look at, so there is nothing to warn of.

use futures::StreamExt as _;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

/// Writes the status of every policy, in a loop.
pub(super) async fn run(client: Client) {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client);
    let mut changes = watcher(policies.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .boxed();
    while let Some(change) = changes.next().await {
        match change {
            Ok(policy) => {
                if let Err(error) = observe(&policies, &policy).await {
                    tracing::debug!(%error, "cannot note that a policy was looked at");
                }
            }
            Err(error) => tracing::debug!(%error, "watching policies failed"),
        }
    }
}

async fn observe(
    policies: &Api<ValidatingAdmissionPolicy>,
    policy: &ValidatingAdmissionPolicy,
) -> Result<(), kube::Error> {
    let generation = policy.metadata.generation;
    let observed = policy
        .status
        .as_ref()
        .and_then(|status| status.observed_generation);
    if observed == generation {
        return Ok(());
    }
    let status = json!({ "status": { "observedGeneration": generation, "typeChecking": {} } });
    let params = PatchParams::apply("validatingadmissionpolicy-status");
    let outcome = policies
        .patch_status(&policy.name_any(), &params, &Patch::Merge(status))
        .await;
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}
