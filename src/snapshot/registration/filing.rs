//! Filing what registration needs: grants and certificate signing requests, by add-on.
//!
//! Decides which add-on an event touches. Never decides what should change.

use std::collections::BTreeMap;

use crate::snapshot::file::replace;
use crate::snapshot::kind::ObjectKey;
use crate::snapshot::names::Name;
use crate::snapshot::registration::grants::Grant;
use crate::snapshot::registration::requests::Request;
use crate::snapshot::store::{Store, Touched};
use crate::snapshot::view::View;

impl Store {
    pub(in crate::snapshot) fn insert_grant(
        &mut self,
        key: &ObjectKey,
        addon: Name,
        record: Grant,
        touched: &mut Touched,
    ) {
        if self.grant_places.get(key).is_some_and(|filed| *filed != addon) {
            self.remove_grant(key, touched);
        }
        let filed = self.grants.entry(addon.clone()).or_default();
        let mut slot = filed.remove(key);
        let before = slot.as_ref().map(|old| old.cluster.clone());
        let cluster = record.cluster.clone();
        if replace(&mut slot, record, |record| &mut record.meta) {
            touched.insert(addon.clone());
            for cluster in before.iter().chain([&cluster]) {
                self.changes.of_cluster(&addon, cluster);
            }
        }
        filed.extend(slot.map(|record| (key.clone(), record)));
        self.grant_places.insert(key.clone(), addon);
    }

    pub(in crate::snapshot) fn remove_grant(&mut self, key: &ObjectKey, touched: &mut Touched) {
        let Some(addon) = self.grant_places.remove(key) else {
            return;
        };
        if let Some(filed) = self.grants.get_mut(&addon) {
            if let Some(old) = filed.remove(key) {
                self.changes.of_cluster(&addon, &old.cluster);
            }
            if filed.is_empty() {
                self.grants.remove(&addon);
            }
        }
        touched.insert(addon);
    }

    pub(in crate::snapshot) fn insert_request(
        &mut self,
        addon: Name,
        record: Request,
        touched: &mut Touched,
    ) {
        let name = record.name.clone();
        if self
            .request_places
            .get(&name)
            .is_some_and(|filed| *filed != addon)
        {
            self.remove_request(&name, touched);
        }
        let filed = self.requests.entry(addon.clone()).or_default();
        let mut slot = filed.remove(&name);
        let before = slot.as_ref().map(|old| old.cluster.clone());
        let cluster = record.cluster.clone();
        if replace(&mut slot, record, |record| &mut record.meta) {
            touched.insert(addon.clone());
            for cluster in before.iter().chain([&cluster]) {
                self.changes.of_cluster(&addon, cluster);
            }
        }
        filed.extend(slot.map(|record| (name.clone(), record)));
        self.request_places.insert(name, addon);
    }

    pub(in crate::snapshot) fn remove_request(&mut self, name: &Name, touched: &mut Touched) {
        let Some(addon) = self.request_places.remove(name) else {
            return;
        };
        if let Some(filed) = self.requests.get_mut(&addon) {
            if let Some(old) = filed.remove(name) {
                self.changes.of_cluster(&addon, &old.cluster);
            }
            if filed.is_empty() {
                self.requests.remove(&addon);
            }
        }
        touched.insert(addon);
    }

    pub(in crate::snapshot) fn grant(&self, key: &ObjectKey) -> Option<&Grant> {
        self.grants.get(self.grant_places.get(key)?)?.get(key)
    }

    pub(in crate::snapshot) fn request(&self, name: &Name) -> Option<&Request> {
        self.requests.get(self.request_places.get(name)?)?.get(name)
    }
}

impl<'s> View<'s> {
    /// Returns the add-on's grants in order of their keys.
    pub fn grants(&self) -> impl Iterator<Item = (&'s ObjectKey, &'s Grant)> + use<'s> {
        let filed = self.store.grants.get(&self.addon.name);
        filed.into_iter().flat_map(BTreeMap::iter)
    }

    /// Returns one of the add-on's grants.
    pub fn grant(&self, key: &ObjectKey) -> Option<&'s Grant> {
        self.store.grants.get(&self.addon.name)?.get(key)
    }

    /// Returns the add-on's certificate signing requests in order of their names.
    pub fn requests(&self) -> impl Iterator<Item = &'s Request> + use<'s> {
        let filed = self.store.requests.get(&self.addon.name);
        filed.into_iter().flat_map(BTreeMap::values)
    }
}
