//! The only code that changes the hub: creates, merge patches, status patches and deletions, each with its precondition.
//!
//! Decides nothing. A write that meets another revision than it was planned from fails, and the add-on is planned again.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Value, json};
use tracing::{debug, info};

use super::raw::{Raw, resource};
use crate::plan::{Action, Note, Plan, Revision};
use crate::snapshot::{Expected, Name, ObjectKey};

/// Name under which the API server records our writes.
const FIELD_MANAGER: &str = "tidegate";

/// Why a write did not happen.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    /// Somebody else wrote first.
    #[error("another revision of {object} is on the hub")]
    Conflict {
        /// The object.
        object: ObjectKey,
    },
    /// The hub refused the write or could not be reached.
    #[error("cannot {verb} {object}")]
    Write {
        /// What was tried.
        verb: &'static str,
        /// The object.
        object: ObjectKey,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
}

impl ApplyError {
    /// Returns the object that was not written.
    pub(super) fn object(&self) -> &ObjectKey {
        match self {
            Self::Conflict { object } | Self::Write { object, .. } => object,
        }
    }
}

/// What became of a plan.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// What the watches must show before the next plan.
    pub(super) expected: Vec<(ObjectKey, Expected)>,
    /// What to tell spectators.
    pub(super) notes: Vec<Note>,
    /// Writes that did not happen.
    pub(super) errors: Vec<ApplyError>,
}

/// Applies a plan: the writes of one namespace in their order, namespaces beside each other up to `at_once`, the
/// cluster-scoped ones last.
pub(super) async fn apply_plan(client: Client, plan: Plan, at_once: usize) -> Applied {
    let mut groups: BTreeMap<Name, Vec<Action>> = BTreeMap::new();
    for action in plan.actions {
        groups
            .entry(action.object().namespace.clone())
            .or_default()
            .push(action);
    }
    let hub = groups.remove("").unwrap_or_default();
    let each = groups.into_values().map(|actions| apply_group(&client, actions));
    let mut all: Vec<Applied> = stream::iter(each)
        .buffer_unordered(at_once.max(1))
        .collect()
        .await;
    all.push(apply_group(&client, hub).await);
    all.into_iter().fold(Applied::default(), |mut sum, part| {
        sum.expected.extend(part.expected);
        sum.notes.extend(part.notes);
        sum.errors.extend(part.errors);
        sum
    })
}

/// The first write that fails ends its group: what follows may rely on it.
async fn apply_group(client: &Client, actions: Vec<Action>) -> Applied {
    let mut applied = Applied::default();
    for action in actions {
        let note = match &action {
            Action::Status { note, .. } => note.clone(),
            Action::Create { .. } | Action::Replace { .. } | Action::Delete { .. } => None,
        };
        let object = action.object().clone();
        match apply_one(client, action).await {
            Ok(expected) => {
                applied
                    .expected
                    .extend(expected.map(|expected| (object, expected)));
                applied.notes.extend(note);
            }
            Err(error) => {
                applied.errors.push(error);
                break;
            }
        }
    }
    applied
}

async fn apply_one(client: &Client, action: Action) -> Result<Option<Expected>, ApplyError> {
    let object = action.object().clone();
    let api = api(client, &object);
    let manager = Some(FIELD_MANAGER.to_owned());
    let patch_params = PatchParams {
        field_manager: manager.clone(),
        ..PatchParams::default()
    };
    match action {
        Action::Create { body, why, .. } => {
            let params = PostParams {
                field_manager: manager,
                ..PostParams::default()
            };
            let created = api.create(&params, &Raw::new(body)).await;
            let created = created.map_err(|error| failed("create", &object, error))?;
            info!(%object, why, "created");
            Ok(seen(&created))
        }
        Action::Replace {
            before, patch, why, ..
        } => {
            let patch = Patch::Merge(guarded(patch, &before));
            let patched = api.patch(&object.name, &patch_params, &patch).await;
            let patched = patched.map_err(|error| failed("patch", &object, error))?;
            info!(%object, why, "patched");
            Ok(seen(&patched))
        }
        Action::Status { before, patch, .. } => {
            let patch = Patch::Merge(guarded(patch, &before));
            let patched = api.patch_status(&object.name, &patch_params, &patch).await;
            let patched = patched.map_err(|error| failed("patch the status of", &object, error))?;
            debug!(%object, "status written");
            Ok(seen(&patched))
        }
        Action::Delete { before, why, .. } => {
            let conditions = Preconditions {
                uid: Some(before.uid.to_string()),
                resource_version: Some(before.version.to_string()),
            };
            match api
                .delete(
                    &object.name,
                    &DeleteParams::background().preconditions(conditions),
                )
                .await
            {
                Ok(_) => info!(%object, why, "deleted"),
                Err(kube::Error::Api(status)) if status.code == 404 => debug!(%object, "already gone"),
                Err(error) => return Err(failed("delete", &object, error)),
            }
            Ok(Some(Expected::Gone(before.uid)))
        }
    }
}

fn api(client: &Client, object: &ObjectKey) -> Api<Raw> {
    let resource = resource(object.kind);
    if object.kind.address().namespaced {
        Api::namespaced_with(client.clone(), &object.namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

fn seen(raw: &Raw) -> Option<Expected> {
    let version = raw
        .object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str)?;
    Some(Expected::Version(Name::from(version)))
}

/// Adds the revision to a merge patch, so that the API server refuses it on any other one.
fn guarded(mut patch: Value, before: &Revision) -> Value {
    let guard = json!({"metadata": {"uid": &*before.uid, "resourceVersion": &*before.version}});
    json_patch::merge(&mut patch, &guard);
    patch
}

fn failed(verb: &'static str, object: &ObjectKey, error: kube::Error) -> ApplyError {
    match &error {
        kube::Error::Api(status) if status.code == 409 => ApplyError::Conflict {
            object: object.clone(),
        },
        kube::Error::Api(status) if status.code == 404 && verb != "create" => ApplyError::Conflict {
            object: object.clone(),
        },
        _ => ApplyError::Write {
            verb,
            object: object.clone(),
            source: Box::new(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_carries_the_revision_it_was_planned_from() {
        let before = Revision {
            uid: "u".into(),
            version: "7".into(),
        };
        let patch = guarded(
            json!({"metadata": {"annotations": {"a": null}}, "spec": {}}),
            &before,
        );
        assert_eq!(
            patch,
            json!({"metadata": {"annotations": {"a": null}, "uid": "u", "resourceVersion": "7"}, "spec": {}})
        );
    }
}
