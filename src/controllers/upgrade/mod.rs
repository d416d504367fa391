//! The controller of upgrades: a `ManagedClustersUpgrade`, and the works that upgrade its clusters.
//!
//! Nothing is planned while it is not known what time it is, because deadlines would end what has only begun.

mod actions;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actions::actions;
use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};

use crate::controllers::runtime::{Controller, Moment, Planned};
use api::hash::Keys;
use plan::Plan;
use store::{Owner, Store};

/// When an upgrade without a valid record is looked at again: keys are no objects that plans are made from.
const KEYS_AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// Makes plans of upgrades.
#[derive(Debug)]
pub(in crate::controllers) struct Upgrading {
    /// The keys of records; without them every placement may be used.
    pub(in crate::controllers) keys: Option<Arc<ArcSwap<Keys>>>,
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
            let view = match &self.keys {
                Some(keys) => view.proven_by(&keys.load()),
                None => view,
            };
            let made = plan::upgrade::plan(&view, at.time);
            let mut plan = actions(store, owner, &view, made);
            if !view.unproven.is_empty() {
                // The keys that verify its record may still come.
                let again = at.time.saturating_add(KEYS_AGAIN).unwrap_or(Timestamp::MAX);
                plan.recheck_at = Some(plan.recheck_at.map_or(again, |at| at.min(again)));
            }
            plan
        }));
        let Ok(plan) = made else {
            tracing::error!(%owner, "planning panicked");
            return Planned::Panicked;
        };
        Planned::Whole(plan)
    }

    fn owners(&self, store: &Store) -> Vec<Owner> {
        store.upgrades().collect()
    }
}
