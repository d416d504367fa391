//! `ManagedClusterSetBinding`: from which sets the upgrades of a namespace may select.
//!
//! Decides nothing: every upgrade is planned anew.

use serde_json::Value;

use super::plain::Plain;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::record::Meta;
use crate::store::Store;
use api::cluster::ManagedClusterSetBinding;
use model::Name;

/// The row of the kind.
pub(crate) struct SetBinding;

/// What is kept of a binding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SetBindingRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// The set.
    pub(crate) set: Name,
}

keeps!(SetBinding, SetBindingRecord);

impl Plain for SetBinding {
    const KIND: Kind = Kind::SetBinding;

    fn read(store: &mut Store, object: &Value) -> Result<SetBindingRecord, String> {
        let object: ManagedClusterSetBinding = parse(object)?;
        Ok(SetBindingRecord {
            meta: meta(&object.metadata)?,
            set: store.names.share(&object.spec.cluster_set),
        })
    }

    fn changed(
        store: &mut Store,
        _key: &ObjectKey,
        _before: Option<&SetBindingRecord>,
        touched: &mut Touched,
    ) {
        store.touch_upgrades(touched);
    }
}
