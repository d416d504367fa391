//! From the plan of an upgrade to writes.
//!
//! Decides how a status is patched: what is no longer told is taken away. Never decides what is written.

use serde_json::{Map, Value, json};

use plan::upgrade::{Event, Finalizer, Grade, Write};
use plan::{Action, Note, Plan, Revision};
use store::upgrade::{Mode, View, marks};
use store::{Kind, Name, ObjectKey, Owner, Store};

/// Returns the writes of a plan: those of works, and behind them those of the upgrade itself.
pub(super) fn actions(store: &Store, owner: &Owner, view: &View<'_>, made: plan::upgrade::Plan) -> Plan {
    let mut actions: Vec<Action> = made.writes.into_iter().map(of_work).collect();
    actions.extend(made.approvals);
    if let Some(before) = store.meta(owner).map(Revision::from) {
        let finalizers = made.finalizer.map(|change| finalizers(store, owner, change));
        actions.extend(finalizers.map(|(all, why)| Action::Replace {
            object: owner.clone(),
            before: before.clone(),
            patch: json!({"metadata": {"finalizers": all}}).into(),
            why,
        }));
        let events = made.events.into_iter().map(|event| note(owner, event)).collect();
        let status = made.status.map(|status| wire(&status));
        actions.extend(status.map(|status| Action::Status {
            object: owner.clone(),
            before,
            patch: json!({"status": difference(&wire(view.upgrade.status), &status)}).into(),
            notes: events,
            notifications: made.notification.into_iter().collect(),
        }));
    }
    let postponed = made.postponed.into_iter();
    Plan {
        actions,
        waits: Vec::new(),
        postponed: postponed
            .map(|(cluster, name)| ObjectKey::new(Kind::UpgradeWork, cluster, name.as_str()))
            .collect(),
        recheck_at: made.recheck_at,
    }
}

fn wire(status: &impl serde::Serialize) -> Value {
    serde_json::to_value(status).unwrap_or_default()
}

fn of_work(write: Write) -> Action {
    let revision = |before: plan::upgrade::Revision| Revision {
        uid: before.uid,
        version: before.version,
    };
    match write {
        Write::Create {
            cluster,
            name,
            stage,
            body,
        } => Action::Create {
            object: work(&cluster, &name),
            body: body.into(),
            why: stage.word(),
        },
        Write::Update {
            cluster,
            name,
            before,
            mode,
            patch,
        } => Action::Replace {
            object: work(&cluster, &name),
            before: revision(before),
            patch: patch.into(),
            why: match mode {
                Mode::Apply => "the cluster is upgraded to this version now",
                Mode::ReadOnly => "the timeout of the cluster has passed; its works are only observed",
            },
        },
        Write::Delete {
            cluster,
            name,
            before,
        } => Action::Delete {
            object: work(&cluster, &name),
            before: revision(before),
            why: "the upgrade no longer needs it",
        },
    }
}

fn work(cluster: &Name, name: &str) -> ObjectKey {
    ObjectKey::new(Kind::UpgradeWork, cluster.clone(), name)
}

/// The finalizers of others stay.
fn finalizers(store: &Store, owner: &Owner, change: Finalizer) -> (Vec<String>, &'static str) {
    let others = store.upgrade_finalizers(owner).iter();
    let mut all: Vec<String> = others.filter(|one| *one != marks::FINALIZER).cloned().collect();
    match change {
        Finalizer::Add => {
            all.push(marks::FINALIZER.to_owned());
            (all, "its works are deleted first")
        }
        Finalizer::Remove => (all, "all its works are deleted"),
    }
}

fn note(owner: &Owner, event: Event) -> Note {
    Note::Upgrade {
        upgrade: format!("{}/{}", owner.namespace, owner.name).as_str().into(),
        cluster: event.cluster,
        grade: match event.grade {
            Grade::Normal => plan::Grade::Normal,
            Grade::Warning => plan::Grade::Warning,
        },
        reason: event.reason,
        message: event.message,
    }
}

/// Returns the merge patch that makes one value of another: lists as a whole, and null for what was removed.
fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(known) if known == value => {}
            Some(known) => {
                patch.insert(key.clone(), difference(known, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_makes_the_one_of_the_other() {
        let rows = [
            (json!({}), json!({"a": 1}), json!({"a": 1})),
            (
                json!({"a": 1, "b": {"c": 1, "d": 2}}),
                json!({"b": {"c": 3}}),
                json!({"a": null, "b": {"c": 3, "d": null}}),
            ),
            (json!({"l": [1, 2]}), json!({"l": [2]}), json!({"l": [2]})),
            (json!({"a": 1}), json!({"a": 1}), json!({})),
        ];
        for (mut before, after, expected) in rows {
            let patch = difference(&before, &after);
            assert_eq!(patch, expected);
            json_patch::merge(&mut before, &patch);
            assert_eq!(before, after);
        }
    }
}
