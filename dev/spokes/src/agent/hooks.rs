//! Pre-delete hooks: the jobs and pods that run before an add-on goes, and how long they take here.

use std::time::Duration;

use serde_json::Value;

use super::workload::Course;
use crate::{fault::Effects, wire::ManifestWork};

/// How long a hook runs.
pub(crate) const HOOK_RUN: Duration = Duration::from_secs(1);
const PRE_DELETE: &str = "addon.open-cluster-management.io/addon-pre-delete";

/// Returns whether the work has hooks among its manifests.
pub(crate) fn has_hooks(work: &ManifestWork) -> bool {
    work.spec.workload.manifests.iter().any(is_hook)
}

pub(super) fn is_hook(manifest: &Value) -> bool {
    let marked = |keys: &str| {
        manifest
            .pointer(keys)
            .is_some_and(|keys| keys.get(PRE_DELETE).is_some())
    };
    matches!(manifest.get("kind").and_then(Value::as_str), Some("Job" | "Pod"))
        && (marked("/metadata/annotations") || marked("/metadata/labels"))
}

/// Returns how far a hook has come.
pub(super) fn course(name: &str, effects: &Effects) -> Course {
    if !effects.hooks_over || effects.hook_hangs(name) {
        return Course::Running;
    }
    match effects.hook_failure(name) {
        Some(message) => Course::Failed(message.to_owned()),
        None => Course::Ended,
    }
}
