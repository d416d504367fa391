//! Deliberate bugs, to show that the simulator finds them.

use std::collections::BTreeSet;

use plan::{Action, Plan, Revision};
use serde_json::Value;
use store::{Event, Kind, Name, ObjectKey};

/// A bug that is put in on purpose, to show that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mutant {
    /// No bug.
    #[default]
    None,
    /// Writes whatever revision is stored.
    IgnorePreconditions,
    /// Plans although the store has not seen the last writes.
    ForgetExpectations,
    /// Never wakes up by itself.
    ForgetRecheck,
    /// Does not try again what failed.
    ForgetFailures,
    /// Does not notice what is absent from a new list.
    ForgetAbsent,
    /// Takes add-ons away that people made.
    PruneHandMade,
    /// Does not see who applies an add-on.
    ForgetOwners,
    /// Takes every rollout for one of all clusters at once.
    Hurry,
    /// Does not see that a rollout was undone.
    ForgetUndone,
}

/// A watch that drops the notes of what was undone.
fn forgetful(mut addon: Value) -> Value {
    let told = addon
        .pointer_mut("/status/installProgressions")
        .and_then(Value::as_array_mut);
    for one in told.into_iter().flatten() {
        if let Some(conditions) = one["conditions"].as_array_mut() {
            conditions.retain(|condition| condition["type"] != "Undone");
        }
    }
    addon
}

/// A store that takes every rollout for one of all clusters at once.
fn hurried(mut addon: Value) -> Value {
    let placements = addon
        .pointer_mut("/spec/installStrategy/placements")
        .and_then(Value::as_array_mut);
    for placement in placements.into_iter().flatten() {
        placement["rolloutStrategy"] = Value::Null;
    }
    addon
}

/// A watch that drops who applies an add-on.
fn ownerless(mut instance: Value) -> Value {
    instance["metadata"]["managedFields"] = Value::Null;
    instance
}

/// Returns the event as a watch with a decoding bug delivers it.
pub(crate) fn misread(event: Event, mutant: Mutant) -> Event {
    let (misread, change): (Kind, fn(Value) -> Value) = match mutant {
        Mutant::Hurry => (Kind::AddOn, hurried),
        Mutant::ForgetOwners => (Kind::Instance, ownerless),
        Mutant::ForgetUndone => (Kind::AddOn, forgetful),
        _ => return event,
    };
    match event {
        Event::Applied { kind, object } if kind == misread => Event::Applied {
            kind,
            object: change(object),
        },
        Event::Listed { kind, objects } if kind == misread => Event::Listed {
            kind,
            objects: objects.into_iter().map(change).collect(),
        },
        other => other,
    }
}

/// A planner that takes add-ons away that people made.
pub(crate) fn prune_hand_made(view: &store::View<'_>, plan: &mut Plan) {
    let written: BTreeSet<Name> = plan
        .actions
        .iter()
        .map(|action| action.object().namespace.clone())
        .collect();
    let made = view
        .instances()
        .find(|one| one.installed_by.is_empty() && !one.meta.deleting && !written.contains(&one.cluster));
    plan.actions.extend(made.map(|one| Action::Delete {
        object: ObjectKey::new(Kind::Instance, one.cluster.clone(), one.addon.clone()),
        before: Revision::from(&one.meta),
        why: "a bug that was put in on purpose",
    }));
}
