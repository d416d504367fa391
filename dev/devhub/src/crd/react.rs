//! What the hub does when a definition changed.
//!
//! Decides conditions and accepted names, serves the versions before the request is answered, and removes the instances of a
//! definition that goes away.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use managed_fields::Types;
use serde_json::{Value, json};

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

fn definitions(hub: &Hub) -> Option<Arc<Served>> {
    hub.directory
        .load()
        .find("apiextensions.k8s.io", "v1", PLURAL)
        .map(Arc::clone)
}

/// Writes the status of a definition, under the hub's own field manager. It is not tried again after a conflict: the write that
/// came first is reacted to as well.
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
    hub.directory.replace(
        name,
        served::versions(&hub.store, &hub.services, definition, &before),
    );
}

fn withdraw(hub: &Hub, name: &str) {
    hub.directory.replace(name, Vec::new());
    // A definition is called as its table is: plural and group.
    hub.store.forget(name);
}

/// Accepts each name of a CRD that no other resource of the group has. The last conflict is reported.
fn judge_names(hub: &Hub, name: &str, definition: &mut Value) {
    let object = |pointer: &str| definition.pointer(pointer).and_then(Value::as_object);
    let wanted = object("/spec/names").cloned().unwrap_or_default();
    let before = object("/status/acceptedNames").cloned().unwrap_or_default();
    let group = definition.pointer("/spec/group").and_then(Value::as_str);
    let taken = TakenNames::by_others(hub, name, group.unwrap_or_default());
    let mut accepted = before.clone();
    let mut conflict = None;
    for (key, value) in &wanted {
        if !NAMES.iter().any(|(named, _)| named == key) {
            accepted.insert(key.clone(), value.clone());
        }
    }
    for (key, reason) in NAMES {
        let refused = taken.refused(key, wanted.get(key), before.get(key));
        if refused.is_empty() {
            accepted.extend(wanted.get(key).map(|value| (key.to_owned(), value.clone())));
        } else {
            conflict = Some((reason, in_use(&refused)));
        }
    }
    if let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) {
        status.insert("acceptedNames".to_owned(), Value::Object(accepted));
    }
    if let Some((reason, message)) = conflict {
        set_condition(definition, "NamesAccepted", "False", reason, &message);
        if !is_true(definition, "Established") {
            let text = "not all names are accepted";
            set_condition(definition, "Established", "False", "NotAccepted", text);
        }
        return;
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

/// The names that are looked at, in the server's order, and what their conflicts are called.
const NAMES: [(&str, &str); 5] = [
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
];

/// What the other resources of a group are called.
#[derive(Default)]
struct TakenNames {
    names: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl TakenNames {
    fn by_others(hub: &Hub, name: &str, group: &str) -> Self {
        let mut taken = Self::default();
        for served in hub.directory.load().all() {
            let is_own = served
                .custom
                .as_ref()
                .is_some_and(|custom| custom.definition == name);
            let other = &served.resource;
            if other.group == group && !is_own {
                taken.names.extend([other.plural.clone(), other.singular.clone()]);
                taken.names.extend(other.short_names.iter().cloned());
                taken.kinds.extend([other.kind.clone(), other.list_kind.clone()]);
            }
        }
        taken
    }

    /// Which of the wanted names another resource has; what was accepted before stays accepted.
    fn refused(&self, key: &str, wanted: Option<&Value>, before: Option<&Value>) -> Vec<String> {
        let others = if key == "kind" || key == "listKind" {
            &self.kinds
        } else {
            &self.names
        };
        let had = texts(before);
        let is_taken = |name: &&str| !name.is_empty() && !had.contains(name) && others.contains(*name);
        texts(wanted)
            .into_iter()
            .filter(is_taken)
            .map(str::to_owned)
            .collect()
    }
}

/// The texts of a text or of a list.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(value) => value.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

fn in_use(names: &[String]) -> String {
    let texts: Vec<String> = names
        .iter()
        .map(|name| format!("{name:?} is already in use"))
        .collect();
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn is_cleaning(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&json!("Terminating"))
            && condition.get("reason") == Some(&json!("InstanceDeletionInProgress"))
    })
}

/// Removes the instances; the definition goes after the last one, however long finalizers hold it.
fn begin_cleaning(hub: &Arc<Hub>, name: &str) {
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
        let mut object = served.stored(record, record.version);
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

/// Takes the hub's finalizer off, and the definition with it if no other finalizer holds it.
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
