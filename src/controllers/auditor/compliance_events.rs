//! The crier: tells in an event that an object has begun, or ceased, to be at fault.
//!
//! Decides what a change of standing is: one that outlasts a turn, so that objects that are applied together are reported together, and one
//! that this audit has observed. What was invalid before it started is only in the reports; a new leader repeats no events.

use std::collections::{BTreeMap, BTreeSet};

use crate::controllers::EventRecorder;
use crate::controllers::runtime::event_budget::InvolvedObject;
use api::reason::Reason;
use audit::{Bearing, Ledger, ObjectKey};
use plan::Grade;
use store::Name;

/// Who tells of changes of standing.
#[derive(Debug)]
pub(super) struct ComplianceEvents {
    recorder: Option<EventRecorder>,
    /// How objects stood before they were judged again in this turn.
    fresh: BTreeMap<ObjectKey, Bearing>,
    /// The same, of the turns before.
    ripe: BTreeMap<ObjectKey, Bearing>,
}

impl ComplianceEvents {
    pub(super) fn new(recorder: Option<EventRecorder>) -> Self {
        Self {
            recorder,
            fresh: BTreeMap::new(),
            ripe: BTreeMap::new(),
        }
    }

    /// Notes how an object stood before it was judged again.
    pub(super) fn note(&mut self, key: &ObjectKey, was: Bearing) {
        if self.recorder.is_some() && was != Bearing::Unknown && !self.ripe.contains_key(key) {
            self.fresh.entry(key.clone()).or_insert(was);
        }
    }

    /// Notes that an object was deleted.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.fresh.remove(key);
        self.ripe.remove(key);
    }

    /// Forgets what there was to tell: this replica no longer leads.
    pub(super) fn forget(&mut self) {
        self.fresh.clear();
        self.ripe.clear();
    }

    /// Reports objects whose result has changed; an object that still has to be validated waits.
    pub(super) fn tell(&mut self, ledger: &Ledger, stale: &BTreeSet<ObjectKey>) {
        let Some(recorder) = self.recorder.clone() else {
            return;
        };
        let due = std::mem::replace(&mut self.ripe, std::mem::take(&mut self.fresh));
        for (key, was) in due {
            if stale.contains(&key) {
                self.ripe.insert(key, was);
                continue;
            }
            match (was, ledger.bearing(&key)) {
                (Bearing::Compliant, Bearing::AtFault) => {
                    let note = worst(ledger, &key);
                    cry(
                        &recorder,
                        ledger,
                        &key,
                        Grade::Warning,
                        Reason::NonCompliant,
                        &note,
                    );
                }
                (Bearing::AtFault, Bearing::Compliant) => {
                    let note = "the object no longer has findings";
                    cry(&recorder, ledger, &key, Grade::Normal, Reason::Compliant, note);
                }
                (Bearing::Compliant, Bearing::Compliant)
                | (Bearing::AtFault, Bearing::AtFault)
                | (Bearing::Unknown, _)
                | (_, Bearing::Unknown) => {}
            }
        }
    }
}

/// Returns the worst finding in one line, and how many more there are.
fn worst(ledger: &Ledger, key: &ObjectKey) -> String {
    match ledger.worst(key) {
        Some((finding, 0)) => finding.message.to_string(),
        Some((finding, more)) => format!("{} (and {more} more)", finding.message),
        None => String::new(),
    }
}

fn cry(recorder: &EventRecorder, ledger: &Ledger, key: &ObjectKey, grade: Grade, reason: Reason, note: &str) {
    let Some(uid) = ledger.uid(key) else { return };
    let addon = ledger.addon_of(key).cloned().unwrap_or_else(|| Name::from(""));
    let owner = ObjectKey::addon(&addon);
    let subject = InvolvedObject {
        uid: ledger.uid(&owner).cloned(),
        owner,
    };
    recorder.judged(&subject, key, uid, grade, reason, note);
}
