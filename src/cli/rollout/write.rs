//! Writes what a verb means.
//!
//! Decides how a conflict of field managers ends, and tells apart a conflict of revisions, which is its caller's to decide again.
//! Writes one object, by server-side apply, by a merge patch, or as a new one, and before it those that an undo gives their content back;
//! the gate judges all of it as it judges every other write.

use std::collections::BTreeSet;

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::response::StatusCause;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::hub::api;
use crate::cli::CliError;
use crate::cli::error::missing_crd;
use crate::controllers::resource;
use insight::cockpit::{
    CHANGE_CAUSE, Form, OwnedField, SteerClient, Target, Verb, Writing, conflicting, managers, of_programs,
    owners_of_spec,
};
use kubernetes::json_pointer::escape;
use store::{Kind, ObjectKey};

/// How a verb is written.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct Request {
    /// Ask the hub, and store nothing.
    pub(in crate::cli) dry_run: bool,
    /// Write over what programs own.
    pub(in crate::cli) force: bool,
    /// Where the user runs the verb.
    pub(in crate::cli) client: SteerClient,
}

/// What became of a write.
#[derive(Debug)]
pub(in crate::cli) enum Outcome {
    /// It is written.
    Written,
    /// Nothing is written: the object is not the one that the write was decided from; in the hub's words.
    Changed(String),
}

/// Another program owns a field.
#[derive(Debug, thiserror::Error)]
#[error(
    "{manager} owns {fields} of {object} and would revert the change; change it in the source of {manager}, or overwrite it with --force"
)]
struct Owned {
    manager: String,
    fields: String,
    object: String,
}

/// The user may not make the change.
#[derive(Debug, thiserror::Error)]
#[error("the hub does not allow {user} to {act}; an administrator can grant this with RBAC")]
pub(in crate::cli) struct NotAllowed {
    user: String,
    /// What RBAC does not allow: a verb, a resource and a scope.
    act: String,
}

impl NotAllowed {
    /// Reads the message of an API server about a missing permission. A webhook that rejects a change has another one.
    fn of(message: &str) -> Option<Self> {
        let (_, rest) = message.split_once(" is forbidden: User \"")?;
        let (user, act) = rest.split_once("\" cannot ")?;
        Some(Self {
            user: user.to_owned(),
            act: act.replace('"', ""),
        })
    }
}

/// The hub takes no such change.
#[derive(Debug, thiserror::Error)]
#[error("the hub rejected the change: {0}")]
struct Refused(String);

/// Writes what a verb means to an object that stands on the hub as `object`, if it still does; `settings` is the AddOnRollout.
///
/// The revision goes with an apply and with a patch: a list that was made from another one would drop what has joined it since, and an
/// apply would create a deleted add-on again. `taken_from` collects the field managers whose values are overwritten.
pub(in crate::cli) async fn put(
    client: &Client,
    target: &Target,
    (object, settings): (&Value, &Value),
    verb: &Verb,
    writing: &Writing,
    request: Request,
    taken_from: &mut BTreeSet<String>,
) -> Result<Outcome, CliError> {
    restore(client, verb, writing, request, taken_from).await?;
    let (object, kind, api) = match Kind::of_object(&writing.body) {
        Some(Kind::Rollout) => {
            let api = Api::all_with(client.clone(), &resource(Kind::Rollout));
            (settings, Kind::Rollout, api)
        }
        Some(Kind::Approval) => return decide(client, verb, writing, request).await,
        _ => (object, target.object_kind(), api(client, target)),
    };
    let hub = Hub {
        kind,
        api,
        name: &target.name,
        params: PatchParams {
            dry_run: request.dry_run,
            field_manager: Some(verb.manager(request.client).to_owned()),
            ..PatchParams::default()
        },
    };
    let mut body = writing.body.clone();
    if let Some(version) = object.pointer("/metadata/resourceVersion") {
        body["metadata"]["resourceVersion"] = version.clone();
    }
    match writing.form {
        Form::Merge => {
            let owners: Vec<OwnedField> = writing
                .owners
                .iter()
                .filter(|owned| owned.manager != verb.manager(request.client))
                .cloned()
                .collect();
            allowed(&owners, &body, request)?;
            match hub.patch(&Patch::Merge(&body), false).await? {
                Answer::Stored => {
                    taken_from.extend(managers(&owners));
                    Ok(Outcome::Written)
                }
                Answer::Owned(_, why) | Answer::Changed(why) => Ok(Outcome::Changed(why)),
            }
        }
        Form::Create => {
            let params = PostParams {
                dry_run: request.dry_run,
                field_manager: Some(verb.manager(request.client).to_owned()),
            };
            let body = serde_json::from_value(body).map_err(CliError::acting("read the hub"))?;
            match hub.api.create(&params, &body).await {
                Ok(_) => Ok(Outcome::Written),
                // The controllers create it as well.
                Err(kube::Error::Api(status)) if status.is_already_exists() => {
                    Ok(Outcome::Changed(status.message.clone()))
                }
                Err(error) => Err(refused(hub.kind)(error)),
            }
        }
        Form::Apply => {
            let patch = Patch::Apply(&body);
            match hub.patch(&patch, false).await? {
                Answer::Stored => {}
                Answer::Changed(why) => return Ok(Outcome::Changed(why)),
                Answer::Owned(owners, _) => {
                    allowed(&owners, &body, request)?;
                    match hub.patch(&patch, true).await? {
                        Answer::Stored => taken_from.extend(managers(&owners)),
                        Answer::Owned(_, why) | Answer::Changed(why) => return Ok(Outcome::Changed(why)),
                    }
                }
            }
            Ok(Outcome::Written)
        }
    }
}

/// Writes decisions about changes. Each names the content that it is about, and the webhook refuses one about another content.
async fn decide(
    client: &Client,
    verb: &Verb,
    writing: &Writing,
    request: Request,
) -> Result<Outcome, CliError> {
    for body in std::iter::once(&writing.body).chain(&writing.more) {
        let name = body.pointer("/metadata/name").and_then(Value::as_str);
        let hub = Hub {
            kind: Kind::Approval,
            api: Api::all_with(client.clone(), &resource(Kind::Approval)),
            name: name.unwrap_or_default(),
            params: PatchParams {
                dry_run: request.dry_run,
                field_manager: Some(verb.manager(request.client).to_owned()),
                ..PatchParams::default()
            },
        };
        match hub.patch(&Patch::Merge(body), false).await? {
            Answer::Stored => {}
            Answer::Owned(_, why) | Answer::Changed(why) => return Ok(Outcome::Changed(why)),
        }
    }
    Ok(Outcome::Written)
}

/// Gives objects the content back that was kept of them: first, so that nothing refers to what is not there.
async fn restore(
    client: &Client,
    verb: &Verb,
    writing: &Writing,
    request: Request,
    taken_from: &mut BTreeSet<String>,
) -> Result<(), CliError> {
    let manager = Some(verb.manager(request.client).to_owned());
    for wanted in &writing.restores {
        let Some(kind) = Kind::of_object(wanted) else {
            continue;
        };
        let key = ObjectKey::of(kind, wanted);
        let resource = resource(kind);
        let api: Api<DynamicObject> = if key.namespace.is_empty() {
            Api::all_with(client.clone(), &resource)
        } else {
            Api::namespaced_with(client.clone(), &key.namespace, &resource)
        };
        let Some(found) = api.get_opt(&key.name).await.map_err(refused(kind))? else {
            let params = PostParams {
                dry_run: request.dry_run,
                field_manager: manager.clone(),
            };
            let object = serde_json::from_value(wanted.clone()).map_err(CliError::acting("read the hub"))?;
            api.create(&params, &object).await.map_err(refused(kind))?;
            continue;
        };
        let found = serde_json::to_value(found).map_err(CliError::acting("read the hub"))?;
        let spec = &wanted["spec"];
        if found.get("spec") == Some(spec) {
            continue;
        }
        let owners = owners_of_spec(&found, wanted, verb.manager(request.client));
        allowed(&owners, wanted, request)?;
        let version = &found["metadata"]["resourceVersion"];
        let mut steps = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/spec", "value": spec},
        ]);
        if let Some(steps) = steps.as_array_mut() {
            steps.extend(with_cause(&found, wanted));
        }
        let patch: json_patch::Patch =
            serde_json::from_value(steps).map_err(CliError::acting("read the hub"))?;
        let params = PatchParams {
            dry_run: request.dry_run,
            field_manager: manager.clone(),
            ..PatchParams::default()
        };
        let patched = api.patch(&key.name, &params, &Patch::Json::<()>(patch)).await;
        patched.map_err(refused(kind))?;
        taken_from.extend(managers(&owners));
    }
    Ok(())
}

/// The reason of the content that is replaced is not that of the restored one.
fn with_cause(found: &Value, wanted: &Value) -> Option<Value> {
    let cause = |object: &Value| {
        object
            .pointer("/metadata/annotations")?
            .get(CHANGE_CAUSE)
            .cloned()
    };
    let path = format!("/metadata/annotations/{}", escape(CHANGE_CAUSE));
    match (cause(found), cause(wanted)) {
        (before, after) if before == after => None,
        (_, None) => Some(json!({"op": "remove", "path": path})),
        (_, Some(after)) if found.pointer("/metadata/annotations").is_some() => {
            Some(json!({"op": "add", "path": path, "value": after}))
        }
        (_, Some(after)) => {
            Some(json!({"op": "add", "path": "/metadata/annotations", "value": {(CHANGE_CAUSE): after}}))
        }
    }
}

/// Where something is written, and how.
struct Hub<'a> {
    kind: Kind,
    api: Api<DynamicObject>,
    name: &'a str,
    params: PatchParams,
}

/// What the hub says to a patch.
enum Answer {
    Stored,
    /// Others own what it would set.
    Owned(Vec<OwnedField>, String),
    /// It was made from another revision, or for a deleted object.
    Changed(String),
}

impl Hub<'_> {
    async fn patch(&self, patch: &Patch<&Value>, force: bool) -> Result<Answer, CliError> {
        let params = PatchParams {
            force,
            ..self.params.clone()
        };
        match self.api.patch(self.name, &params, patch).await {
            Ok(_) => Ok(Answer::Stored),
            Err(kube::Error::Api(status)) if status.is_conflict() => {
                let causes = status.details.iter().flat_map(|details| &details.causes);
                let owners = conflicting(causes.map(|cause| {
                    let StatusCause {
                        reason,
                        message,
                        field,
                    } = cause;
                    (reason.as_str(), message.as_str(), field.as_str())
                }));
                Ok(if owners.is_empty() {
                    Answer::Changed(status.message)
                } else {
                    Answer::Owned(owners, status.message)
                })
            }
            Err(error) => Err(refused(self.kind)(error)),
        }
    }
}

/// What people wrote by hand is written over; what programs own only on demand.
fn allowed(owned: &[OwnedField], object: &Value, request: Request) -> Result<(), CliError> {
    let owned = of_programs(owned);
    if owned.is_empty() || request.force {
        return Ok(());
    }
    let fields: BTreeSet<&str> = owned.iter().map(|one| one.field.as_str()).collect();
    let fields: Vec<&str> = fields.into_iter().filter(|field| !field.is_empty()).collect();
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let name = [text("/metadata/namespace"), text("/metadata/name")];
    let name: Vec<&str> = name.into_iter().flatten().collect();
    Err(CliError::Refused(Box::new(Owned {
        manager: managers(owned).join(" and "),
        fields: if fields.is_empty() {
            "fields".to_owned()
        } else {
            fields.join(", ")
        },
        object: format!("{} {}", text("/kind").unwrap_or_default(), name.join("/")),
    })))
}

pub(super) fn refused(kind: Kind) -> impl Fn(kube::Error) -> CliError {
    move |error| match missing_crd(kind, &error) {
        Some(text) => CliError::Refused(text.into()),
        None => not_written(error),
    }
}

fn not_written(error: kube::Error) -> CliError {
    match error {
        kube::Error::Api(status) => CliError::Serve {
            part: "the change",
            source: match NotAllowed::of(&status.message) {
                Some(error) => Box::new(error),
                None => Box::new(Refused(status.message.clone())),
            },
        },
        other => CliError::Act {
            act: "write to the hub",
            source: Box::new(other),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_about_an_owned_field_names_field_and_object() {
        let owned = |manager: &str, field: &str| OwnedField {
            manager: manager.to_owned(),
            field: field.to_owned(),
        };
        let object = json!({"kind": "AddOnRollout", "metadata": {"name": "hello"}});
        let owned = [
            owned("kubectl-edit", "spec.checks"),
            owned("argocd", "spec.pause"),
        ];
        let error = allowed(&owned, &object, Request::default()).expect_err("argocd owns a field");
        assert_eq!(
            error.to_string(),
            "argocd owns spec.pause of AddOnRollout hello and would revert the change; change it in the source of argocd, or overwrite \
             it with --force"
        );
        let forced = Request {
            force: true,
            ..Request::default()
        };
        assert!(allowed(&owned, &object, forced).is_ok());
        assert!(allowed(&owned[..1], &object, Request::default()).is_ok());
    }

    #[test]
    fn a_missing_permission_is_no_rejected_change() {
        let message = "addonrollouts.tidegate.io \"hello\" is forbidden: User \"system:serviceaccount:default:reader\" cannot patch \
                       resource \"addonrollouts\" in API group \"tidegate.io\" at the cluster scope";
        let error = NotAllowed::of(message).expect("a missing permission");
        assert_eq!(
            error.to_string(),
            "the hub does not allow system:serviceaccount:default:reader to patch resource addonrollouts in API group tidegate.io at the \
             cluster scope; an administrator can grant this with RBAC"
        );
        let rejected = "admission webhook \"x\" denied the request: addonrollouts \"hello\" is forbidden: spec.pause: Invalid value";
        assert!(NotAllowed::of(rejected).is_none());
    }
}
