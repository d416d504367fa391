//! Planning: from the store to what is written for an upgrade.
//!
//! Decides that of a plan which breaks an invariant nothing is written but that it does: a cluster that is upgraded cannot be put back.
//! Nothing is planned while it is not known what time it is, because deadlines would end what has only begun.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::actions::actions;
use crate::controllers::runtime::{Controller, Moment, Planned};
use plan::Plan;
use snapshot::{Owner, Store};

/// Makes plans of upgrades and has every one of them checked.
#[derive(Debug)]
pub(in crate::controllers) struct Upgrading {
    refused: Arc<AtomicU64>,
}

impl Upgrading {
    /// Counts plans that break an invariant in a counter of others.
    pub(in crate::controllers) fn new(refused: Arc<AtomicU64>) -> Self {
        Self { refused }
    }
}

impl Controller for Upgrading {
    fn plan(&mut self, store: &mut Store, owner: &Owner, at: Moment) -> Planned {
        let store = &*store;
        let Some(view) = store.upgrade_view(owner) else {
            return Planned::Nothing;
        };
        if !at.is_known || store.is_held_whole(owner) {
            return Planned::Whole(Plan::default());
        }
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let made = upgrade::plan(&view, at.time);
            let broken = upgrade::check(&view, &made, at.time);
            (actions(store, owner, &view, made), broken)
        }));
        let Ok((plan, broken)) = made else {
            tracing::error!(%owner, "planning panicked");
            return Planned::Panicked;
        };
        if broken.is_empty() {
            return Planned::Whole(plan);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%owner, broken = ?broken, "a plan breaks an invariant and is not written");
        let told = upgrade::refused(&view, &broken, at.time);
        Planned::Part(actions(store, owner, &view, told))
    }

    fn owners(&self, store: &Store) -> Vec<Owner> {
        store.upgrades().collect()
    }
}
