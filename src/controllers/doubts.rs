//! What the loop does about what is in doubt: reasons that cannot be read, and a time that nobody knows.
//!
//! Decides when add-ons are planned again because of it, and that it is told where people look: in conditions and metrics, and once in
//! the log. Never decides what is in doubt (`absence`, `clock`), and never what is held (`plan::install`).

use jiff::Timestamp;
use tokio::time::Instant;
use tracing::warn;

use super::absence::Read;
use super::cause::root;
use super::clock::Trust;
use super::drive::Driver;
use super::second_look::Unread;
use crate::plan::{self, Memo, Plan};
use crate::snapshot::{Name, View};

/// What there is to say while nobody knows what time it is; what the last plan has found out stays true.
pub(super) fn timeless(view: &View<'_>, time: Timestamp, _: &mut Memo) -> Plan {
    plan::timeless(view, time)
}

impl Driver {
    /// Time that was lost, and is known again, concerns every add-on; what went before it is known how long ago counts as gone just now.
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
            let all: Vec<Name> = self.store.addons().cloned().collect();
            for addon in all {
                self.queue.touch(&addon, now);
            }
        }
    }

    /// What was read in doubt counts like what a watch shows.
    pub(super) fn hear(&mut self, read: Read) {
        let now = Instant::now();
        let (events, addon) = match read {
            Read::Absent(found) => (self.absences.found(found, now), None),
            Read::Reasons(addon, reasons, found) => {
                match self.absences.confirmed(&addon, reasons, found, now) {
                    Ok(events) => {
                        self.store.reasons_read(&addon);
                        (events, Some((addon, now)))
                    }
                    Err(unread) => (
                        Vec::new(),
                        Some((addon.clone(), self.hold_back(&addon, unread, now))),
                    ),
                }
            }
        };
        for event in events {
            self.take_one(event, now);
        }
        if let Some((addon, at)) = addon {
            self.queue.touch(&addon, at);
        }
    }

    /// Removals wait while a reason for them cannot be read; the conditions tell it at once. Returns when it is tried again.
    fn hold_back(&mut self, addon: &Name, unread: Unread, now: Instant) -> Instant {
        let why = root(&unread).to_string();
        let object = unread.object;
        if !self.store.reason_unread(addon, object.clone(), &why) {
            return now + self.patience;
        }
        warn!(%addon, %object, error = why, "cannot read the reasons for removals; they wait");
        now
    }

    /// Counts what is held, for the metrics.
    pub(super) fn note_held(&mut self, addon: &Name, plan: &Plan) {
        let held = plan.waits.iter().filter(|wait| wait.on.is_held_removal()).count();
        self.held_removals.insert(addon.clone(), held);
        self.held_removals.retain(|_, held| *held > 0);
        let all = self.held_removals.values().sum();
        let absent = if all > 0 { self.store.absences().absent } else { 0 };
        self.pen.metrics.holds(absent, all);
    }
}
