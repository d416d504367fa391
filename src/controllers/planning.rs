//! Planning: from the store to the part of a plan that may be written.
//!
//! Decides that a plan which breaks an invariant is written without the part that breaks it, and that the hub says so. Never
//! holds an add-on for what is wrong with a part of its plan.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jiff::Timestamp;

use super::audit::Audit;
use crate::plan::{self, Memo, Plan};
use crate::snapshot::{Name, Store, View};

/// What makes plans.
pub(super) type Planner = fn(&View<'_>, Timestamp, &mut Memo) -> Plan;

/// What became of planning an add-on.
#[derive(Debug)]
pub(super) enum Planned {
    /// A plan that breaks nothing.
    Whole(Plan),
    /// What is left of a plan without what breaks an invariant.
    Part(Plan),
    /// Nobody knows the add-on.
    Nothing,
    /// The planner panicked.
    Panicked,
}

impl Planned {
    /// Returns what may be written.
    pub(super) fn plan(self) -> Option<Plan> {
        match self {
            Self::Whole(plan) | Self::Part(plan) => Some(plan),
            Self::Nothing | Self::Panicked => None,
        }
    }
}

/// Makes plans and has them inspected.
#[derive(Debug)]
pub(super) struct Planning {
    audit: Audit,
    /// What the last plan of each add-on found out.
    memos: BTreeMap<Name, Memo>,
    /// Always the planner; tests put bugs in here.
    pub(super) planner: Planner,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            audit: Audit::default(),
            memos: BTreeMap::new(),
            planner: plan::addon_with,
        }
    }
}

/// A plan as far as it is sound, and what was wrong with the whole.
type Inspected = (Plan, Vec<String>);

impl Planning {
    /// Returns the number of plans of which a part broke an invariant.
    pub(super) fn refused(&self) -> Arc<AtomicU64> {
        self.audit.refused()
    }

    /// Plans an add-on, with another planner while there is little to plan. When a part of its plan begins or ceases to be refused the
    /// plan is made once more: it says so.
    pub(super) fn plan(
        &mut self,
        store: &mut Store,
        addon: &Name,
        time: Timestamp,
        instead: Option<Planner>,
    ) -> Planned {
        let planner = instead.unwrap_or(self.planner);
        if store.view(addon).is_none() {
            store.refuse(addon, None);
            self.memos.remove(addon);
            return Planned::Nothing;
        }
        let Some(mut made) = self.inspected(store, addon, time, planner) else {
            return Planned::Panicked;
        };
        if store.refuse(addon, made.1.first().map(String::as_str)) {
            let Some(again) = self.inspected(store, addon, time, planner) else {
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

    /// A bug in the planning of one add-on must not end that of the others, and what it would write must not be written. What
    /// a bad plan has found out is not believed either: the memo goes with it.
    fn inspected(
        &mut self,
        store: &mut Store,
        addon: &Name,
        time: Timestamp,
        planner: Planner,
    ) -> Option<Inspected> {
        let mut memo = self.memos.remove(addon).unwrap_or_default();
        let view = store.view(addon)?;
        let audit = &mut self.audit;
        let made = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let plan = planner(&view, time, &mut memo);
            let (plan, broken) = audit.inspect(&view, plan, &memo, time);
            (plan, broken, memo)
        }));
        let Ok((plan, broken, memo)) = made else {
            tracing::error!(%addon, "planning panicked");
            return None;
        };
        if broken.is_empty() {
            if let Some(change) = memo.change() {
                store.forget_changes(addon, change);
            }
            self.memos.insert(addon.clone(), memo);
        }
        Some((plan, broken))
    }
}
