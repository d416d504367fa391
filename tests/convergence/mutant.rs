//! Bugs that are put in on purpose, to show that they are found.
//!
//! Decides nothing; the manager asks here what its bug is.

use std::collections::BTreeSet;

use serde_json::Value;
use tidegate::plan::{Action, Plan, Revision};
use tidegate::snapshot::{Kind, Name, ObjectKey};

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
    /// Takes every rollout for one of all clusters at once.
    Hurry,
}

/// A store that takes every rollout for one of all clusters at once.
pub(crate) fn hurried(mut addon: Value) -> Value {
    let placements = addon
        .pointer_mut("/spec/installStrategy/placements")
        .and_then(Value::as_array_mut);
    for placement in placements.into_iter().flatten() {
        placement["rolloutStrategy"] = Value::Null;
    }
    addon
}

/// A planner that takes add-ons away that people made.
pub(crate) fn prune_hand_made(view: &tidegate::snapshot::View<'_>, plan: &mut Plan) {
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
