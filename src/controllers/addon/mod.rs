//! The controller of add-ons: a `ClusterManagementAddOn`, its instances, and everything that is deployed for them.
//!
//! Keeps what the last plan of each add-on found out. A bug in the planning of one add-on does not end that of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;

use jiff::Timestamp;

use crate::controllers::runtime::{Controller, Moment, Planned};
use plan::{self, Memo, Plan};
use store::{Name, ObjectKey, Owner, Store, View};

/// What makes plans.
type Planner = fn(&View<'_>, Timestamp, &mut Memo) -> Plan;

/// Makes plans.
#[derive(Debug, Default)]
pub(in crate::controllers) struct Planning {
    /// What the last plan of each add-on found out.
    memos: BTreeMap<Owner, Memo>,
}

impl Controller for Planning {
    /// Plans an add-on; while it is not known what time it is, or an object cannot be read on which all of it depends, nothing but
    /// that. The memo of a plan that panicked goes with it.
    fn plan(&mut self, store: &mut Store, owner: &Owner, at: Moment) -> Planned {
        let planner: Planner = if !at.is_known {
            timeless
        } else if store.is_held_whole(owner) {
            unread
        } else {
            plan::addon_with
        };
        let mut memo = self.memos.remove(owner).unwrap_or_default();
        let Some(view) = store.view(&owner.name) else {
            return Planned::Nothing;
        };
        let made = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let plan = planner(&view, at.time, &mut memo);
            (plan, memo)
        }));
        let Ok((plan, memo)) = made else {
            tracing::error!(%owner, "planning panicked");
            return Planned::Panicked;
        };
        if let Some(change) = memo.change() {
            store.forget_changes(owner, change);
        }
        self.memos.insert(owner.clone(), memo);
        Planned::Whole(plan)
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
