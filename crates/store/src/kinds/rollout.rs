//! `AddOnRollout`: the roll-up of an add-on in a kind of our own.
//!
//! Decides that it concerns the add-on of its name, and none of its clusters.

use serde_json::Value;

use super::stored::Plain;
use crate::decode::read::{meta, owners, parse};
use crate::decode::status::conditions;
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::parts::kept::keeps;
use crate::record::RollUp;
use crate::store::Store;
use api::AddOnRollout;

/// The row of the kind.
pub(crate) struct Rollout;

keeps!(Rollout, RollUp);

impl Plain for Rollout {
    const KIND: Kind = Kind::Rollout;

    fn read(store: &mut Store, object: &Value) -> Result<RollUp, String> {
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

    fn changed(store: &mut Store, key: &ObjectKey, _before: Option<&RollUp>, touched: &mut Touched) {
        let owner = Owner::addon(&key.name);
        store.changes.of_none(&owner);
        touched.insert(owner);
    }
}
