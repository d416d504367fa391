//! `AddOnRollout`: the roll-up of an add-on in a kind of our own.
//!
//! Decides that it concerns the add-on of its name, and none of its clusters.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::read::{meta, owners, parse};
use crate::decode::status::conditions;
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::parts::slot::replace;
use crate::record::{Meta, RollUp};
use crate::store::Store;
use api::AddOnRollout;

/// The row of the kind.
pub(crate) struct Rollout;

impl Stored for Rollout {
    type Record = RollUp;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let parsed: AddOnRollout = parse(object)?;
        let stated = parsed.status.unwrap_or_default();
        let mut status = object
            .get("status")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        status.remove("conditions");
        Ok(RollUp {
            meta: meta(&parsed.metadata)?,
            addon: store.names.share(&parsed.spec.addon),
            owners: owners(parsed.metadata.owner_references.as_ref(), &mut store.names),
            conditions: conditions(&stated.conditions, &mut store.names),
            status,
        })
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let mut slot = store.objects.roll_ups.remove(&key.name);
        if replace(&mut slot, record, |record| &mut record.meta) {
            touch(store, key, touched);
        }
        let filed = slot.map(|record| (key.name.clone(), record));
        store.objects.roll_ups.extend(filed);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.objects.roll_ups.get(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.objects.roll_ups.keys();
        names
            .map(|name| ObjectKey::new(Kind::Rollout, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        if store.objects.roll_ups.remove(&key.name).is_some() {
            touch(store, key, touched);
        }
    }
}

fn touch(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
    let owner = Owner::addon(&key.name);
    store.changes.of_none(&owner);
    touched.insert(owner);
}
