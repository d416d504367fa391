//! What the loop does about what is in doubt: reasons that cannot be read, and a time that is not known.
//!
//! Decides when owners are planned again because of it, and that users see it: in conditions and metrics, and
//! once in the log. Never decides what is in doubt (`absence`, `clock`), and never what is held (`plan::install`).

use std::collections::BTreeSet;

use tokio::time::Instant;
use tracing::warn;

use super::absence::Read;
use super::apply_error::root;
use super::clock::Trust;
use super::looks::Look;
use super::read_again::{Found, Unread};
use super::reconciler::Reconciler;
use plan::Plan;
use store::{Name, ObjectKey, Owner};

impl Reconciler {
    /// Time that was lost, and is known again, concerns every owner;
    /// what went before it is known how long ago counts as gone just now.
    pub(super) fn look_at_the_clock(&mut self) {
        let trust = self.clock.trust();
        let before = std::mem::replace(&mut self.trust, trust);
        if before == trust {
            return;
        }
        if trust == Trust::Known && self.led {
            self.store.begin_to_write(self.clock.now());
        }
        if before == Trust::Lost || trust == Trust::Lost {
            let now = Instant::now();
            let all = self.controllers.values();
            for owner in all.flat_map(|controller| controller.owners(&self.store)) {
                self.queue.touch(&owner, now);
            }
        }
    }

    /// What was read counts like what a watch shows, unless a watch has said something else since. What could not be read is
    /// read again later; until then the owner waits.
    pub(super) fn see(&mut self, owner: &Owner, look: Look, seen: Found) {
        let now = Instant::now();
        self.queue.finish(owner, now);
        let (seen, _) = self.absences.looks.end(look, seen, &self.store);
        for event in seen.events {
            self.believe(event, now);
        }
        if let Some(error) = seen.unread.first() {
            warn!(%owner, error = %root(error), "cannot read the written objects");
            self.waiting.insert(owner.clone(), now);
            self.queue.retry(owner, now + self.patience);
            return;
        }
        self.store.forget_awaited(owner);
        self.waiting.remove(owner);
        self.written.remove(owner);
        self.queue.touch(owner, now);
    }

    /// What was read in doubt counts in the same way. A reason that a watch contradicts is read again.
    pub(super) fn hear(&mut self, read: Read) {
        let now = Instant::now();
        match read {
            Read::Absent(look, found) => {
                let found = self.absences.looks.end_of_absent(look, found, &self.store);
                for event in self.absences.found(found, now) {
                    self.believe(event, now);
                }
            }
            Read::Again(look, found) => {
                let found = self.absences.looks.end_of_absent(look, found, &self.store);
                for event in self.absences.found_again(found, now) {
                    self.believe(event, now);
                }
            }
            Read::Reasons(owner, look, found) => {
                let (found, reasons) = self.absences.looks.end(look, found, &self.store);
                self.absences.confirmed(&owner, &reasons, now);
                for event in found.events {
                    self.believe(event, now);
                }
                let at = self.hold_back(&owner, &reasons, &found.unread, now);
                self.queue.touch(&owner, at);
            }
        }
    }

    /// Removals wait while a reason for them cannot be read, and the conditions say so at once; those whose reasons were read go
    /// on. Returns when the owner is planned again.
    fn hold_back(
        &mut self,
        owner: &Owner,
        read: &BTreeSet<ObjectKey>,
        unread: &[Unread],
        now: Instant,
    ) -> Instant {
        let told = unread
            .iter()
            .map(|one| (one.object.clone(), Name::from(root(one).to_string())));
        let is_news = self.store.reasons_answered(owner, told.collect());
        let Some(first) = unread.first() else {
            return now;
        };
        if is_news {
            let (object, error) = (&first.object, root(first));
            warn!(%owner, %object, %error, "cannot read the objects that confirm removals; removals are delayed");
        }
        if is_news || !read.is_empty() {
            return now;
        }
        now + self.patience
    }

    /// Has the store hold what depends on objects that cannot be read.
    pub(super) fn note_unreadable(&mut self) {
        self.absences.may_fit(&self.store.fitting(), Instant::now());
        self.absences.skipped(&self.store);
        if let Some(unreadable) = self.absences.take_unreadable() {
            let now = Instant::now();
            for owner in self.store.set_unreadable(unreadable) {
                self.queue.touch(&owner, now);
            }
        }
        let any = self.store.unreadable().next().is_some();
        if any || std::mem::replace(&mut self.counts_unreadable, any) {
            let resources = self.store.unreadable().map(|key| key.kind.address().resource);
            self.writer.metrics.unreadable(resources);
            self.counts_unreadable = any;
        }
    }

    /// Counts what is held, for the metrics.
    pub(super) fn note_held(&mut self, owner: &Owner, plan: &Plan) {
        let held = plan.waits.iter().filter(|wait| wait.on.is_held_removal()).count();
        self.held_removals.insert(owner.clone(), held);
        self.held_removals.retain(|_, held| *held > 0);
        let all = self.held_removals.values().sum();
        let absent = if all > 0 { self.store.absences().absent } else { 0 };
        self.writer.metrics.holds(absent, all);
    }
}
