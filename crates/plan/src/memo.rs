//! What the last plan of an add-on has found out, so that the next one looks only at what may have changed.
//!
//! Decides at which clusters a plan has to look: those that were not quiet, and those of which the store says that something
//! has changed. Whatever concerns all clusters, a clock that goes back, and an add-on that goes or manages itself make the next
//! plan look at everything. A plan with a memo equals the plan without one, always.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::config::Common;
use super::settled::{Heard, Others, Quiet};
use store::{Name, Scope, View};

/// What the last plan of one add-on has found out. Belongs to one add-on of one store.
#[derive(Debug, Default)]
pub struct Memo {
    known: Option<Remembered>,
    unseen: usize,
}

#[derive(Debug)]
struct Remembered {
    addon: Name,
    /// The last change that the plan has seen.
    change: u64,
    now: Timestamp,
    common: Common,
    quiet: BTreeMap<Name, Quiet>,
    others: Others,
    loud: BTreeSet<Name>,
}

impl Memo {
    /// Returns the last change that the plan has seen.
    pub fn change(&self) -> Option<u64> {
        self.known.as_ref().map(|known| known.change)
    }

    /// Returns at how many instances the plan did not look.
    pub fn unseen(&self) -> usize {
        self.unseen
    }

    /// Takes out of the memo what has to be looked at, and returns it with the rest; `None` for everything.
    pub(super) fn open(&mut self, view: &View<'_>, now: Timestamp) -> Option<(Scope, Others)> {
        self.unseen = 0;
        let known = self.known.as_mut()?;
        let changed = view.changed_since(known.change).filter(|_| {
            let is_same = known.addon == view.addon.name && view.addon.managed && !view.addon.meta.deleting;
            is_same && known.now <= now && known.common == Common::of(view)
        });
        let Some(mut scope) = changed else {
            self.known = None;
            return None;
        };
        for cluster in &scope {
            if let Some(quiet) = known.quiet.remove(cluster) {
                known.others.remove(quiet);
            }
        }
        scope.append(&mut known.loud);
        self.unseen = known.quiet.len();
        Some((scope, known.others.clone()))
    }

    /// Puts into the memo what a plan has found out about the clusters that it looked at.
    pub(super) fn close(&mut self, view: &View<'_>, heard: Option<Heard>, now: Timestamp) {
        let Some(heard) = heard else {
            self.known = None;
            return;
        };
        let known = self.known.get_or_insert_with(|| Remembered {
            addon: view.addon.name.clone(),
            change: 0,
            now,
            common: Common::of(view),
            quiet: BTreeMap::new(),
            others: Others::default(),
            loud: BTreeSet::new(),
        });
        (known.change, known.now) = (view.last_change(), now);
        let Heard { mut quiet, loud } = heard;
        quiet.retain(|(cluster, _)| !loud.contains(cluster));
        for (_, one) in &quiet {
            known.others.add(*one);
        }
        if known.quiet.is_empty() {
            known.quiet = quiet.into_iter().collect();
        } else {
            known.quiet.extend(quiet);
        }
        known.loud = loud;
    }
}
