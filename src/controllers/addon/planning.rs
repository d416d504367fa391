//! Planning: from the store to the part of a plan that may be written.
//!
//! Decides that a plan which breaks an invariant is written without the part that breaks it, and that the hub says so. Never
//! holds an add-on for what is wrong with a part of its plan.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jiff::Timestamp;

use super::plan_sample::PlanSample;
use crate::controllers::runtime::{Controller, Moment, Planned};
use plan::{self, Memo, Plan};
use snapshot::{Name, ObjectKey, Owner, Store, View};

/// What makes plans.
pub(in crate::controllers) type Planner = fn(&View<'_>, Timestamp, &mut Memo) -> Plan;

/// Makes plans and has them inspected.
#[derive(Debug)]
pub(in crate::controllers) struct Planning {
    sample: PlanSample,
    /// What the last plan of each add-on found out.
    memos: BTreeMap<Owner, Memo>,
    /// Always the planner; tests put bugs in here.
    pub(in crate::controllers) planner: Planner,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            sample: PlanSample::default(),
            memos: BTreeMap::new(),
            planner: plan::addon_with,
        }
    }
}

/// A plan as far as it is sound, and what was wrong with the whole.
type Inspected = (Plan, Vec<String>);

impl Planning {
    /// Returns the number of plans of which a part broke an invariant.
    pub(in crate::controllers) fn refused(&self) -> Arc<AtomicU64> {
        self.sample.refused()
    }

    /// A bug in the planning of one add-on must not end that of the others, and what it would write must not be written. What
    /// a bad plan has found out is not believed either: the memo goes with it.
    fn inspected(
        &mut self,
        store: &mut Store,
        owner: &Owner,
        time: Timestamp,
        planner: Planner,
    ) -> Option<Inspected> {
        let mut memo = self.memos.remove(owner).unwrap_or_default();
        let view = store.view(&owner.name)?;
        let sample = &mut self.sample;
        let made = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let plan = planner(&view, time, &mut memo);
            let (plan, broken) = sample.inspect(&view, plan, &memo, time);
            (plan, broken, memo)
        }));
        let Ok((plan, broken, memo)) = made else {
            tracing::error!(%owner, "planning panicked");
            return None;
        };
        if broken.is_empty() {
            if let Some(change) = memo.change() {
                store.forget_changes(owner, change);
            }
            self.memos.insert(owner.clone(), memo);
        }
        Some((plan, broken))
    }
}

impl Controller for Planning {
    /// Plans an add-on; while it is not known what time it is, or an object cannot be read on which all of it depends, nothing but
    /// that. When a part of its plan begins or ceases to be
    /// refused the plan is made once more: it says so.
    fn plan(&mut self, store: &mut Store, owner: &Owner, at: Moment) -> Planned {
        let planner: Planner = if !at.is_known {
            timeless
        } else if store.is_held_whole(owner) {
            unread
        } else {
            self.planner
        };
        if store.view(&owner.name).is_none() {
            store.refuse(owner, None);
            self.memos.remove(owner);
            return Planned::Nothing;
        }
        let Some(mut made) = self.inspected(store, owner, at.time, planner) else {
            return Planned::Panicked;
        };
        if store.refuse(owner, made.1.first().map(String::as_str)) {
            let Some(again) = self.inspected(store, owner, at.time, planner) else {
                return Planned::Panicked;
            };
            made = again;
        }
        let (plan, broken) = made;
        if broken.is_empty() {
            Planned::Whole(plan)
        } else {
            Planned::Part(plan)
        }
    }

    fn owners(&self, store: &Store) -> Vec<Owner> {
        store.addons().map(Owner::addon).collect()
    }

    fn reasons(&self, store: &Store, owner: &Owner) -> BTreeSet<ObjectKey> {
        store.reasons(&owner.name)
    }

    fn removed(&mut self, store: &mut Store, owner: &Owner, clusters: &[Name], at: Timestamp) {
        for cluster in clusters {
            store.took_away(&owner.name, cluster, at);
        }
    }
}

/// What there is to say while the time is not known; what the last plan has found out stays true.
fn timeless(view: &View<'_>, time: Timestamp, _: &mut Memo) -> Plan {
    plan::timeless(view, time)
}

/// What there is to say while an object cannot be read on which the whole add-on depends.
fn unread(view: &View<'_>, time: Timestamp, _: &mut Memo) -> Plan {
    plan::unread(view, time)
}
