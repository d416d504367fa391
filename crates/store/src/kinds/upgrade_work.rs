//! `ManifestWork` of an upgrade: what a cluster was told, and what its agent says of it.
//!
//! Decides whose plan it concerns: that of the upgrade that it names, and all of them when a cluster gets another owner.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::record::Meta;
use crate::store::Store;
use api::work::ManifestWork;

/// The row of the kind.
pub(crate) struct UpgradeWork;

impl Stored for UpgradeWork {
    type Record = (Meta, crate::upgrade::Work);

    fn decode(_store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let object: ManifestWork = parse(object)?;
        Ok((meta(&object.metadata)?, crate::upgrade::Work::of(&object)))
    }

    fn file(store: &mut Store, key: &ObjectKey, (meta, mut work): Self::Record, touched: &mut Touched) {
        let works = store.upgrades.works.entry(key.namespace.clone()).or_default();
        let before = works.remove(&*key.name);
        match before {
            Some(mut old) if old.owner == work.owner => {
                std::mem::swap(&mut old.version, &mut work.version);
                let differs = old != work;
                // The revision of what is there now.
                std::mem::swap(&mut old.version, &mut work.version);
                if differs {
                    touched.extend(named(&work));
                }
            }
            Some(_) | None => {
                store.touch_upgrades(touched);
            }
        }
        let works = store.upgrades.works.entry(key.namespace.clone()).or_default();
        works.insert(key.name.to_string(), work);
        store.upgrades.work_metas.insert(key.place(), meta);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.upgrades.work_metas.get(&key.place())
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let places = store.upgrades.work_metas.keys();
        places
            .map(|place| ObjectKey::at(Kind::UpgradeWork, place))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        if store.upgrades.work_metas.remove(&key.place()).is_none() {
            return;
        }
        if let Some(works) = store.upgrades.works.get_mut(&key.namespace) {
            works.remove(&*key.name);
            if works.is_empty() {
                store.upgrades.works.remove(&key.namespace);
            }
        }
        store.touch_upgrades(touched);
    }
}

/// The upgrade that a work says it belongs to.
fn named(work: &crate::upgrade::Work) -> Option<Owner> {
    let (namespace, name) = work.owned_by.split_once('/')?;
    Some(Owner::new(Kind::Upgrade, namespace, name))
}
