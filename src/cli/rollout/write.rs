//! Writes what a verb means.
//!
//! Decides how a conflict of field managers ends. Writes one object, by server-side apply or, to take a field away, by a merge patch; the
//! gate judges it as it judges whatever anybody writes.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use super::conflict::{is_by_hand, managers, owners};
use super::hub::api;
use crate::cli::CliError;
use cockpit::{Form, Target, Verb, Writing};
use snapshot::terms;

/// How a verb is written.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct Request {
    /// Ask the hub, and store nothing.
    pub(in crate::cli) dry_run: bool,
    /// Write over what programs own.
    pub(in crate::cli) force: bool,
}

/// What was written.
#[derive(Debug)]
pub(in crate::cli) struct Written {
    /// Whose values were written over.
    pub(in crate::cli) taken_from: Vec<String>,
}

/// Another program owns a field.
#[derive(Debug, thiserror::Error)]
#[error("{} owns what would be written and would put it back; change it there, or write it all the same with --force", .0.join(" and "))]
struct Owned(Vec<String>);

/// The hub takes no such change.
#[derive(Debug, thiserror::Error)]
#[error("the hub refuses it: {0}")]
struct Refused(String);

/// Writes what a verb means to an object that stands on the hub as `object`.
pub(in crate::cli) async fn put(
    client: &Client,
    (target, object): (&Target, &Value),
    (verb, writing): (&Verb, &Writing),
    request: Request,
) -> Result<Written, CliError> {
    let api = api(client, target);
    let manager = verb.manager();
    let name = &target.name;
    match writing.form {
        Form::Merge => {
            let owners: Vec<String> = owners(object, terms::PAUSED)
                .into_iter()
                .filter(|owner| owner != manager)
                .collect();
            allowed(&owners, request)?;
            let params = PatchParams {
                dry_run: request.dry_run,
                field_manager: Some(manager.to_owned()),
                ..PatchParams::default()
            };
            let mut body = writing.body.clone();
            // A patch that was made from another revision must not be written.
            body["metadata"]["resourceVersion"] = object
                .pointer("/metadata/resourceVersion")
                .cloned()
                .unwrap_or_default();
            api.patch(name, &params, &Patch::Merge(&body))
                .await
                .map_err(refused)?;
            Ok(Written { taken_from: owners })
        }
        Form::Apply => {
            let params = PatchParams {
                dry_run: request.dry_run,
                ..PatchParams::apply(manager)
            };
            let patch = Patch::Apply(&writing.body);
            let in_conflict = match api.patch(name, &params, &patch).await {
                Ok(_) => {
                    return Ok(Written {
                        taken_from: Vec::new(),
                    });
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let causes = status.details.as_ref().map(|details| details.causes.as_slice());
                    managers(causes.unwrap_or_default())
                }
                Err(error) => return Err(refused(error)),
            };
            allowed(&in_conflict, request)?;
            api.patch(name, &params.force(), &patch).await.map_err(refused)?;
            Ok(Written {
                taken_from: in_conflict,
            })
        }
    }
}

/// What people wrote by hand is written over; what programs own only on demand.
fn allowed(owners: &[String], request: Request) -> Result<(), CliError> {
    let programs: Vec<String> = owners
        .iter()
        .filter(|owner| !is_by_hand(owner))
        .cloned()
        .collect();
    if programs.is_empty() || request.force {
        return Ok(());
    }
    Err(CliError::Refused(Box::new(Owned(programs))))
}

fn refused(error: kube::Error) -> CliError {
    match error {
        kube::Error::Api(status) => CliError::Serve {
            part: "the change",
            source: Box::new(Refused(status.message.clone())),
        },
        other => CliError::Act {
            act: "write to the hub",
            source: Box::new(other),
        },
    }
}
