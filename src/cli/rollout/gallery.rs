//! The pictures of all rollouts of a hub that is followed.
//!
//! Decides which are made anew: those that something has happened to, and those that time alone has changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::hub::{picture, wake};
use insight::cockpit::{Picture, Rollouts, Stopwatch, Target, TargetKind};
use store::{Kind, Owner, Store, Touched};

/// Pictures in the order of their targets.
pub(in crate::cli) type Pictures = Vec<Arc<Picture>>;

/// The pictures that were made, and how long clusters took.
#[derive(Debug, Default)]
pub(in crate::cli) struct Gallery {
    known: BTreeMap<Target, Entry>,
}

#[derive(Debug)]
struct Entry {
    picture: Arc<Picture>,
    watch: Stopwatch,
    /// When time alone changes it.
    wake: Option<Timestamp>,
}

impl Gallery {
    /// Looks at a store; returns all pictures, and when time alone changes one.
    pub(in crate::cli) fn look(
        &mut self,
        store: &Store,
        touched: &Touched,
        now: Timestamp,
    ) -> (Pictures, Option<Timestamp>) {
        let all = Rollouts::of(store).0;
        self.known.retain(|target, _| all.binary_search(target).is_ok());
        for target in all {
            let is_same = self.known.get(&target).is_some_and(|entry| {
                let is_due = entry.wake.is_some_and(|wake| wake <= now);
                !is_due && !touched.contains(&owner(&target))
            });
            if is_same {
                continue;
            }
            let mut watch = self
                .known
                .remove(&target)
                .map(|entry| entry.watch)
                .unwrap_or_default();
            let Some(picture) = picture(store, &target, &watch, now) else {
                continue;
            };
            watch.look(&picture);
            let entry = Entry {
                wake: wake(&picture),
                picture: Arc::new(picture),
                watch,
            };
            self.known.insert(target, entry);
        }
        let pictures = self.known.values().map(|entry| Arc::clone(&entry.picture));
        let next = self.known.values().filter_map(|entry| entry.wake).min();
        (pictures.collect(), next)
    }
}

fn owner(target: &Target) -> Owner {
    match target.kind {
        TargetKind::ClusterManagementAddOn => Owner::addon(&target.name.as_str().into()),
        TargetKind::ManagedClustersUpgrade => Owner {
            kind: Kind::Upgrade,
            namespace: target.namespace.as_str().into(),
            name: target.name.as_str().into(),
        },
    }
}
