//! The one place between a plan and its writes that may withhold some of them.
//!
//! A plan contains what should be written by what the store has seen. Withheld are, in this order: writes that depend on an object that
//! cannot be read; removals whose reasons were not read lately; parts of a status that the hub does not keep; and writes that have failed
//! and are paused, with everything behind them in their lane. Nothing is added or changed. What was withheld is planned again.
//!
//! A write that has passed is sent only while this replica leads, OCM's manager does not hold its Lease, and the program is not
//! stopping: `Writer::may_send` checks that again before each write.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::reconciler::Reconciler;
use plan::Plan;
use store::{Owner, WriteQueue};

impl Reconciler {
    pub(super) fn withhold(&mut self, owner: &Owner, plan: &mut Plan, now: Instant) {
        let store = &self.store;
        plan.actions
            .retain(|action| !store.is_held_write(owner, action.object()));
        self.note_held(owner, plan);
        if !self.confirm(owner, plan, now) {
            self.store.reasons_read(owner);
        }
        self.writer.pruned.strip_plan(plan);
        // Troubles of writes that are only paused are still reported.
        self.store.keep_troubles(owner, &plan.objects());
        self.leave_paused(owner, plan, now);
    }

    /// Takes out removals whose reasons have not been read lately; returns whether there were any removals.
    fn confirm(&mut self, owner: &Owner, plan: &mut Plan, now: Instant) -> bool {
        let (store, controller) = (&self.store, self.controllers.get(&owner.kind));
        let reasons = || {
            controller
                .map(|controller| controller.reasons(store, owner))
                .unwrap_or_default()
        };
        self.absences.confirm(reasons, owner, plan, now)
    }

    fn leave_paused(&mut self, owner: &Owner, plan: &mut Plan, now: Instant) {
        let mut held: BTreeMap<WriteQueue, Instant> = BTreeMap::new();
        plan.actions.retain(|action| {
            let (object, lane) = (action.object(), action.object().lane());
            if held.contains_key(&lane) {
                return false;
            }
            let until = self.backoff.held_until(object, now);
            held.extend(until.map(|until| (lane, until)));
            until.is_none()
        });
        if let Some(until) = held.into_values().min() {
            self.queue.touch(owner, until);
        }
    }
}
