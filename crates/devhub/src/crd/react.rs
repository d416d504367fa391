//! What the hub does when a definition changed.
//!
//! Decides conditions and accepted names, serves the versions before the request is answered, and removes the instances of a
//! definition that goes away.

use std::sync::Arc;
use std::time::Duration;

use fields::Types;
use serde_json::{Map, Value, json};

use super::status::{is_true, set_condition};
use super::{FINALIZER, served};
use crate::hub::{Hub, timestamp};
use crate::managed::{self, Scope, Writer};
use crate::registry::Served;
use crate::store::{Page, Record, Write};

const PLURAL: &str = "customresourcedefinitions";
/// The name under which the hub owns fields.
const SELF: &str = "kube-apiserver";

/// Brings the hub in line with a definition that was just written or removed.
pub(crate) fn react(hub: &Arc<Hub>, name: &str) {
    let Some(definitions) = definitions(hub) else {
        return;
    };
    let _turn = hub.react_alone();
    let Some(record) = definitions.table.read(name) else {
        withdraw(hub, name);
        return;
    };
    let mut definition = definitions.decode(&record, record.version);
    if definition.pointer("/metadata/deletionTimestamp").is_some() {
        serve(hub, name, &definition);
        if !is_cleaning(&definition) {
            begin_cleaning(hub, name);
        }
        return;
    }
    let before = definition.clone();
    judge_names(hub, name, &mut definition);
    if is_true(&definition, "Established") {
        serve(hub, name, &definition);
    }
    if definition != before {
        update(&definitions, name, &record, &mut definition);
    }
}

pub(super) fn definitions(hub: &Hub) -> Option<Arc<Served>> {
    hub.directory
        .load()
        .find("apiextensions.k8s.io", "v1", PLURAL)
        .map(Arc::clone)
}

/// Writes the status of a definition. Somebody who was faster reacts again, so a lost race needs no repetition.
/// Writes the status, as somebody who owns it.
fn update(definitions: &Served, name: &str, record: &Record, definition: &mut Value) {
    let writer = Writer {
        manager: SELF.to_owned(),
        applies: false,
        version: definitions.resource.api_version(),
        subresource: "status".to_owned(),
    };
    let scope = Scope::new(
        &definitions.resource,
        definitions.ownable(),
        Types::new(),
        "status",
    );
    let before = definitions.decode(record, record.version);
    managed::track(&scope, Some(&before), definition, &writer, &timestamp());
    if let Err(unwritten) = definitions
        .table
        .write(name, 0, &Write::Replace(record.version, definition))
    {
        tracing::debug!(%name, ?unwritten, "a definition changed while its status was written");
    }
}

fn serve(hub: &Hub, name: &str, definition: &Value) {
    let before = hub.directory.definition(name);
    hub.directory
        .replace(name, served::versions(&hub.store, definition, &before));
}

fn withdraw(hub: &Hub, name: &str) {
    let served = hub.directory.definition(name);
    hub.directory.replace(name, Vec::new());
    if let Some(first) = served.first() {
        hub.store.forget(&first.resource.group_resource());
    }
}

/// Accepts the names of a definition unless another resource of the group has them.
fn judge_names(hub: &Hub, name: &str, definition: &mut Value) {
    let group = definition
        .pointer("/spec/group")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let names = definition.pointer("/spec/names").cloned().unwrap_or_default();
    let conflict = conflict(hub, name, &group, &names);
    let mut accepted = Map::new();
    for (key, value) in names.as_object().into_iter().flatten() {
        accepted.insert(key.clone(), value.clone());
    }
    if let Some((reason, message)) = conflict {
        set_condition(definition, "NamesAccepted", "False", reason, &message);
        if !is_true(definition, "Established") {
            let text = "not all names are accepted";
            set_condition(definition, "Established", "False", "NotAccepted", text);
        }
        return;
    }
    if let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) {
        status.insert("acceptedNames".to_owned(), Value::Object(accepted));
    }
    set_condition(
        definition,
        "NamesAccepted",
        "True",
        "NoConflicts",
        "no conflicts found",
    );
    let text = "the initial names have been accepted";
    set_condition(definition, "Established", "True", "InitialNamesAccepted", text);
}

fn conflict(hub: &Hub, name: &str, group: &str, names: &Value) -> Option<(&'static str, String)> {
    let registry = hub.directory.load();
    let part = |key: &str| names.get(key).and_then(Value::as_str).unwrap_or_default();
    let others: Vec<_> = registry
        .all()
        .filter(|served| served.resource.group == group)
        .filter(|served| {
            served
                .custom
                .as_ref()
                .is_none_or(|custom| custom.definition != name)
        })
        .map(|served| &served.resource)
        .collect();
    let in_use = |text: &str| format!("{text:?} is already in use");
    let is_name = |wanted: &str| {
        others.iter().any(|other| {
            other.plural == wanted
                || other.singular == wanted
                || other.short_names.iter().any(|short| short == wanted)
        })
    };
    if is_name(part("plural")) {
        return Some(("PluralConflict", in_use(part("plural"))));
    }
    if is_name(part("singular")) {
        return Some(("SingularConflict", in_use(part("singular"))));
    }
    let shorts = names
        .get("shortNames")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    if let Some(short) = shorts.into_iter().find(|short| is_name(short)) {
        return Some(("ShortNamesConflict", in_use(short)));
    }
    let is_kind = |wanted: &str| {
        others
            .iter()
            .any(|other| other.kind == wanted || other.list_kind == wanted)
    };
    if is_kind(part("kind")) {
        return Some(("KindConflict", in_use(part("kind"))));
    }
    is_kind(part("listKind")).then(|| ("ListKindConflict", in_use(part("listKind"))))
}

pub(super) fn is_cleaning(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&json!("Terminating"))
            && condition.get("reason") == Some(&json!("InstanceDeletionInProgress"))
    })
}

/// Removes the instances; the definition goes after the last one, however long finalizers hold it.
pub(super) fn begin_cleaning(hub: &Arc<Hub>, name: &str) {
    let Some(definitions) = definitions(hub) else {
        return;
    };
    let has_finalizer = |definition: &Value| {
        let list = definition
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array);
        list.is_some_and(|list| list.contains(&json!(FINALIZER)))
    };
    let Some(record) = definitions.table.read(name) else {
        return;
    };
    let mut definition = definitions.decode(&record, record.version);
    if !has_finalizer(&definition) {
        return;
    }
    let text = "CustomResource deletion is in progress";
    set_condition(
        &mut definition,
        "Terminating",
        "True",
        "InstanceDeletionInProgress",
        text,
    );
    update(&definitions, name, &record, &mut definition);
    let Some(served) = hub.directory.definition(name).into_iter().next() else {
        return release(hub, &definitions, name);
    };
    if mark_instances(&served) {
        return release(hub, &definitions, name);
    }
    let (hub, name) = (Arc::clone(hub), name.to_owned());
    hub.clone().tasks.spawn(async move {
        while !mark_instances(&served) {
            let mut changes = served.table.changes();
            tokio::select! {
                () = hub.stop.cancelled() => return,
                _ = changes.changed() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        let _turn = hub.react_alone();
        release(&hub, &definitions, &name);
    });
}

/// Removes or marks every instance; true when none is left.
fn mark_instances(served: &Served) -> bool {
    let Ok(snapshot) = served.table.list(&Page::default()) else {
        return false;
    };
    for record in &snapshot.records {
        let mut object = served.decode(record, record.version);
        let held = object
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|finalizers| !finalizers.is_empty());
        let write = if !held {
            Write::Remove(record.version)
        } else if object.pointer("/metadata/deletionTimestamp").is_none() {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("deletionTimestamp".to_owned(), json!(timestamp()));
                metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
                let generation = metadata
                    .get("generation")
                    .and_then(Value::as_i64)
                    .unwrap_or_default();
                metadata.insert("generation".to_owned(), json!(generation + 1));
            }
            Write::Replace(record.version, &object)
        } else {
            continue;
        };
        // An instance that changed in between is looked at again in the next round.
        drop(served.table.write(&record.key, served.shape(), &write));
    }
    served.table.is_empty()
}

/// Takes the hub's finalizer off, and the definition with it if nobody else holds it.
fn release(hub: &Arc<Hub>, definitions: &Served, name: &str) {
    for _ in 0..16 {
        let Some(record) = definitions.table.read(name) else {
            return withdraw(hub, name);
        };
        let mut definition = definitions.decode(&record, record.version);
        let finalizers = definition
            .pointer_mut("/metadata/finalizers")
            .and_then(Value::as_array_mut);
        let left = finalizers.is_some_and(|finalizers| {
            finalizers.retain(|finalizer| finalizer != FINALIZER);
            !finalizers.is_empty()
        });
        let write = if left {
            Write::Replace(record.version, &definition)
        } else {
            Write::Remove(record.version)
        };
        if definitions.table.write(name, 0, &write).is_ok() {
            if !left {
                withdraw(hub, name);
            }
            return;
        }
    }
    tracing::warn!(%name, "a definition kept changing while it was removed");
}
