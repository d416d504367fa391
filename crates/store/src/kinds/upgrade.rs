//! `ManagedClustersUpgrade`: what is asked, and what was told.
//!
//! Decides that clusters are kept for upgrades while there is one. Its own status is what its next plan remembers, so that a change of
//! it is a reason to plan.

use crate::upgrade::marks;
use serde_json::Value;

use super::stored::Plain;
use crate::decode::read::{annotation, meta, parse};
use crate::kind::{Kind, ObjectKey, Place, Touched};
use crate::parts::kept::keeps;
use crate::record::Meta;
use crate::store::Store;
use api::cluster::{ManagedClustersUpgrade, ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus};
use api::names::annotations::PLACEMENT_ACCESS;
use model::Name;

/// The row of the kind.
pub(crate) struct Upgrade;

/// What is kept of an upgrade.
#[derive(Debug, PartialEq)]
pub(crate) struct UpgradeRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// The annotation that asks for another try; empty when absent.
    pub(crate) retry: String,
    /// The record that its author may use placements of other namespaces; empty when absent.
    pub(crate) record: String,
    /// `metadata.finalizers`
    pub(crate) finalizers: Vec<String>,
    /// What is asked.
    pub(crate) spec: ManagedClustersUpgradeSpec,
    /// What was told.
    pub(crate) status: ManagedClustersUpgradeStatus,
}

keeps!(Upgrade, UpgradeRecord);

impl Plain for Upgrade {
    const KIND: Kind = Kind::Upgrade;

    fn read(_store: &mut Store, object: &Value) -> Result<UpgradeRecord, String> {
        let object: ManagedClustersUpgrade = parse(object)?;
        let retry = annotation(&object.metadata, marks::RETRY);
        let record = annotation(&object.metadata, PLACEMENT_ACCESS);
        Ok(UpgradeRecord {
            meta: meta(&object.metadata)?,
            retry: retry.cloned().unwrap_or_default(),
            record: record.cloned().unwrap_or_default(),
            finalizers: object.metadata.finalizers.unwrap_or_default(),
            spec: object.spec,
            status: object.status.unwrap_or_default(),
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&UpgradeRecord>, touched: &mut Touched) {
        for placement in before.into_iter().flat_map(placements) {
            store.indexes.by_placement.remove(&placement, key);
        }
        let now = store.kept.get::<Self>(&key.place());
        for placement in now.into_iter().flat_map(placements) {
            store.indexes.by_placement.add(&placement, key);
        }
        store.keep_clusters_for_upgrades();
        touched.insert(key.clone());
        store.published.changed.upgrades = true;
    }
}

impl UpgradeRecord {
    /// Returns the name of the profile that the upgrade names.
    pub(crate) fn profile(&self) -> Option<&str> {
        let strategy = self.spec.upgrade_strategy.as_ref();
        let name = strategy.map(|strategy| strategy.profile.as_str());
        name.filter(|name| !name.is_empty())
    }

    /// Returns the names of the checks of its stages.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &str> {
        let strategy = self.spec.upgrade_strategy.iter();
        let stages = strategy.flat_map(|strategy| &strategy.stages);
        let names = stages.flat_map(|stage| stage.checks.iter().flatten());
        names.map(String::as_str)
    }
}

/// The placements that an upgrade selects by.
fn placements(record: &UpgradeRecord) -> impl Iterator<Item = Place> {
    let each = record.spec.placement.iter();
    each.map(|place| {
        (
            Name::from(place.namespace.as_str()),
            Name::from(place.name.as_str()),
        )
    })
}
