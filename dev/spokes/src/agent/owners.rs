//! Who owns which field of an object that was on the cluster before any work: what an update and a server-side apply of
//! the agent make of it. Objects that only works write need none of this.

use std::collections::BTreeMap;

use managed_fields::{Alike, Conflict, FieldWrite, Owners, Refusal, Type, Types};
use serde_json::{Map, Value};

/// The manager under which the agent updates.
const UPDATER: &str = "work";

/// How the agent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write<'a> {
    /// The whole object is replaced, but for labels and annotations of others.
    Update,
    /// What the manifest says is applied.
    Apply { manager: &'a str, force: bool },
}

/// Returns the owners of an object that this manager has created.
pub(super) fn created(object: &Value, manager: &str) -> Owners {
    let nothing = Value::Object(Map::new());
    let owned = ask(object, manager, false, |asked| {
        managed_fields::update(&nothing, object, &Owners::new(), asked)
    });
    owned.unwrap_or_default()
}

/// Returns the object and its owners after a write, or what an API server says against it.
pub(super) fn written(
    live: &Value,
    manifest: &Value,
    owners: &Owners,
    write: Write<'_>,
) -> Result<(Value, Owners), String> {
    let written = match write {
        Write::Update => {
            let new = updated(live, manifest);
            let owners = ask(live, UPDATER, false, |asked| {
                managed_fields::update(live, &new, owners, asked)
            });
            owners.map(|owners| (new, owners))
        }
        Write::Apply { manager, force } => {
            let applied = ask(live, manager, force, |asked| {
                managed_fields::apply(live, manifest, owners, asked)
            });
            applied.map(|applied| (applied.object.unwrap_or_else(|| live.clone()), applied.owners))
        }
    };
    written.map_err(|refusal| said(&refusal, version_of(live)))
}

fn ask<T>(object: &Value, owner: &str, force: bool, write: impl FnOnce(&FieldWrite<'_>) -> T) -> T {
    let version = version_of(object);
    write(&FieldWrite {
        owner,
        version,
        types: &Types::from([(version.to_owned(), Type::Deduced)]),
        force,
        ignored: &BTreeMap::new(),
        views: &Alike,
    })
}

fn version_of(object: &Value) -> &str {
    object
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The agent updates the object to the manifest: missing fields are removed, except labels and annotations.
fn updated(live: &Value, manifest: &Value) -> Value {
    let mut new = manifest.clone();
    for marks in ["labels", "annotations"] {
        let known = live
            .pointer(&format!("/metadata/{marks}"))
            .and_then(Value::as_object);
        let wanted = manifest
            .pointer(&format!("/metadata/{marks}"))
            .and_then(Value::as_object);
        let all: Map<String, Value> = [known, wanted]
            .into_iter()
            .flatten()
            .flat_map(|marks| marks.iter().map(|(key, value)| (key.clone(), value.clone())))
            .collect();
        let metadata = new.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Some(metadata), false) = (metadata, all.is_empty()) {
            metadata.insert(marks.to_owned(), Value::Object(all));
        }
    }
    new
}

fn said(refusal: &Refusal, version: &str) -> String {
    match refusal {
        Refusal::Conflicts(conflicts) => conflicts_said(conflicts, version),
        Refusal::Unknown(_)
        | Refusal::Intent(_)
        | Refusal::Live(_)
        | Refusal::Unseen(_)
        | Refusal::Misfit { .. } => "the manifest does not fit the object".to_owned(),
    }
}

fn conflicts_said(conflicts: &[Conflict], version: &str) -> String {
    let paths = |conflict: &Conflict| {
        let paths = conflict.set.paths();
        paths.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let count: usize = conflicts.iter().map(|conflict| paths(conflict).len()).sum();
    let lines = conflicts.iter().map(|conflict| match paths(conflict).as_slice() {
        [path] => format!("conflict with \"{}\" using {version}: {path}", conflict.owner),
        paths => format!(
            "conflicts with \"{}\" using {version}:\n- {}",
            conflict.owner,
            paths.join("\n- ")
        ),
    });
    let noun = if count == 1 { "conflict" } else { "conflicts" };
    format!(
        "Apply failed with {count} {noun}: {}",
        lines.collect::<Vec<_>>().join("\n")
    )
}
