//! What the loop does about what is in doubt: reasons that cannot be read, and a time that is not known.
//!
//! Decides when owners are planned again because of it, and that it is told where people look: in conditions and metrics, and
//! once in the log. Never decides what is in doubt (`absence`, `clock`), and never what is held (`plan::install`).

use tokio::time::Instant;
use tracing::warn;

use super::absence::Read;
use super::clock::Trust;
use super::error_root::root;
use super::looks::Look;
use super::read_again::{Found, Unread};
use super::reconciler::Reconciler;
use plan::Plan;
use snapshot::Owner;

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

    /// What was read counts like what a watch shows, unless a watch has said something else since. A hub that does not answer is
    /// asked again later.
    pub(super) fn see(&mut self, owner: &Owner, look: Look, seen: Found) {
        let now = Instant::now();
        self.queue.finish(owner, now);
        let (seen, _) = self.absences.looks.end(look, seen, &self.store);
        match seen {
            Ok(events) => {
                for event in events {
                    self.believe(event, now);
                }
                self.store.forget_awaited(owner);
                self.waiting.remove(owner);
                self.written.remove(owner);
                self.queue.touch(owner, now);
            }
            Err(error) => {
                warn!(%owner, error = %root(&error), "cannot read what was written");
                self.waiting.insert(owner.clone(), now);
                self.queue.retry(owner, now + self.patience);
            }
        }
    }

    /// What was read in doubt counts in the same way. A reason that a watch contradicts is read once more.
    pub(super) fn hear(&mut self, read: Read) {
        let now = Instant::now();
        let (events, owner) = match read {
            Read::Absent(look, found) => {
                let (found, _) = self.absences.looks.end(look, found, &self.store);
                (self.absences.found(found, now), None)
            }
            Read::Reasons(owner, look, found) => {
                let (found, reasons) = self.absences.looks.end(look, found, &self.store);
                match self.absences.confirmed(&owner, reasons, found, now) {
                    Ok(events) => {
                        self.store.reasons_read(&owner);
                        (events, Some((owner, now)))
                    }
                    Err(unread) => (
                        Vec::new(),
                        Some((owner.clone(), self.hold_back(&owner, unread, now))),
                    ),
                }
            }
        };
        for event in events {
            self.believe(event, now);
        }
        if let Some((owner, at)) = owner {
            self.queue.touch(&owner, at);
        }
    }

    /// Removals wait while a reason for them cannot be read; the conditions tell it at once. Returns when it is tried again.
    fn hold_back(&mut self, owner: &Owner, unread: Unread, now: Instant) -> Instant {
        let why = root(&unread).to_string();
        let object = unread.object;
        if !self.store.reason_unread(owner, object.clone(), &why) {
            return now + self.patience;
        }
        warn!(%owner, %object, error = why, "cannot read the reasons for removals; they wait");
        now
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
