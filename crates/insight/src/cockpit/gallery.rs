//! The pictures of all rollouts of a hub that is followed.
//!
//! Decides which are made again: those that something has happened to, and those that time alone has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::addon::addon;
use super::find::Rollouts;
use super::picture::{Picture, Target, TargetKind};
use super::stopwatch::Stopwatch;
use super::upgrade_picture::upgrade;
use store::{Kind, Owner, Store, Touched};

/// Pictures in the order of their targets.
pub type Pictures = Vec<Arc<Picture>>;

/// The pictures that were made, and how long clusters took.
#[derive(Debug, Default)]
pub struct Gallery {
    known: BTreeMap<Target, Entry>,
    /// Those that have to be made again.
    due: BTreeSet<Target>,
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
    pub fn look(
        &mut self,
        store: &Store,
        touched: &Touched,
        now: Timestamp,
    ) -> (Pictures, Option<Timestamp>) {
        self.note(store, touched, now);
        while self.step(store, now) {}
        (self.pictures(), self.changes_at())
    }

    /// Finds out which pictures have to be made again.
    pub fn note(&mut self, store: &Store, touched: &Touched, now: Timestamp) {
        let all = Rollouts::of(store).0;
        self.known.retain(|target, _| all.binary_search(target).is_ok());
        self.due.retain(|target| all.binary_search(target).is_ok());
        for target in all {
            let is_same = self.known.get(&target).is_some_and(|entry| {
                let is_due = entry.wake.is_some_and(|wake| wake <= now);
                !is_due && !touched.contains(&target.owner())
            });
            if !is_same {
                self.due.insert(target);
            }
        }
    }

    /// Makes one picture again; returns whether any is left that has to be.
    pub fn step(&mut self, store: &Store, now: Timestamp) -> bool {
        let Some(target) = self.due.pop_first() else {
            return false;
        };
        let known = self.known.remove(&target);
        let mut watch = known.map(|entry| entry.watch).unwrap_or_default();
        if let Some(picture) = Picture::of(store, &target, &watch, now) {
            watch.look(&picture);
            let entry = Entry {
                wake: picture.changes_at(),
                picture: Arc::new(picture),
                watch,
            };
            self.known.insert(target, entry);
        }
        !self.due.is_empty()
    }

    /// Returns all pictures as they were made last.
    pub fn pictures(&self) -> Pictures {
        let pictures = self.known.values().map(|entry| Arc::clone(&entry.picture));
        pictures.collect()
    }

    /// Returns when time alone changes a picture.
    pub fn changes_at(&self) -> Option<Timestamp> {
        self.known.values().filter_map(|entry| entry.wake).min()
    }
}

impl Picture {
    /// Returns the picture of a rollout.
    pub fn of(store: &Store, target: &Target, watch: &Stopwatch, now: Timestamp) -> Option<Self> {
        match target.kind {
            TargetKind::ClusterManagementAddOn => addon(store, &target.name, watch, now),
            TargetKind::ManagedClustersUpgrade => upgrade(store, target, now),
        }
    }

    /// Returns when time alone changes it: the end of the first soak or deadline.
    pub fn changes_at(&self) -> Option<Timestamp> {
        let ends = self.clusters.iter().filter_map(|cluster| cluster.until);
        let next = self.next.iter().map(|next| next.at);
        ends.chain(next).filter(|at| *at > self.at).min()
    }
}

impl Target {
    /// Returns the kind of its object.
    pub const fn object_kind(&self) -> Kind {
        match self.kind {
            TargetKind::ClusterManagementAddOn => Kind::AddOn,
            TargetKind::ManagedClustersUpgrade => Kind::Upgrade,
        }
    }

    fn owner(&self) -> Owner {
        Owner {
            kind: self.object_kind(),
            namespace: self.namespace.as_str().into(),
            name: self.name.as_str().into(),
        }
    }
}
